"""The visitor's session, the opening of programs and plans, and caches for all visitors."""

"""The explorer: pages over the engine."""

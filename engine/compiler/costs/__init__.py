"""Costs of accesses, fitted to the cycles that compiles report."""

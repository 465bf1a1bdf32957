"""The agent's search as data: trees, curves, what to look at first."""

"""The mallocGame: its rules in plain Python and in JAX, and what a player sees of it."""

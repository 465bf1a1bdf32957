"""Captures: a model or JAX function compiled, read, and its costs calibrated by more compiles."""

"""The start page: what this is, a toy that plays itself, and where to go."""

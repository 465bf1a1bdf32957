"""The compiler's placements as data: what was asked for, what became of it."""

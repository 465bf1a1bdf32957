"""The page Play: one plan on the memory map, move by move."""

"""The memory map: packed data for it, and the canvas that draws it."""

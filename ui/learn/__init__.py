"""Learn: lessons on a live board, a map of them, and a visitor's progress."""

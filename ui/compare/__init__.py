"""The page Compare: two to four plans side by side."""

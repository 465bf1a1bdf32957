"""Comparisons as data: rankings, differences, timings, and their charts."""

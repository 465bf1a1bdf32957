"""Lessons as data: the attempt at one, its panel, a visitor's progress."""

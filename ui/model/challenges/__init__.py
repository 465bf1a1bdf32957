"""Challenges as data: questions, matches, and when a question comes back."""

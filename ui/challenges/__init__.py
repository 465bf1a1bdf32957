"""Challenges: real programs played against opponents, and positions to find the move in."""

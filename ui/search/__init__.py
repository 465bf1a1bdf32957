"""The page Search: what the agent considered at each move of a game."""

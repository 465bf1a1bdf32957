"""A game being played as data: its line, positions, variations, cards, quiz."""

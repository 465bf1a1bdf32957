"""When a position is asked again: boxes, as Leitner's; what is known comes ever more rarely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ui.model.learn.progress import Card

WAITS = (0, 1, 3, 7, 16, 35)
"""Days until a position of each box is asked again."""


def answered(card: Card, is_right: bool, today: int) -> Card:
    """The card after an answer: up one box, or back to the first; days from 1970-01-01."""
    box = min(card.box + 1, len(WAITS) - 1) if is_right else 0
    right, wrong = card.right + is_right, card.wrong + (not is_right)
    return replace(card, box=box, due=today + WAITS[box], right=right, wrong=wrong)


def due(keys: Sequence[str], cards: Mapping[str, Card], today: int) -> list[str]:
    """The positions that were answered before and are to be asked again, the oldest first."""
    known = [key for key in keys if key in cards and cards[key].due <= today]
    return sorted(known, key=lambda key: cards[key].due)


def following(
    keys: Sequence[str], cards: Mapping[str, Card], today: int, last: str = ""
) -> str | None:
    """The position to ask next: one that is due, else a new one; None if all wait for their day.

    Not the `last` one again as long as there is another.
    """
    waiting = [*due(keys, cards, today), *(key for key in keys if key not in cards)]
    others = [key for key in waiting if key != last]
    return next(iter(others or waiting), None)

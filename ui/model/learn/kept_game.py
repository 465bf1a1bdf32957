"""An unfinished game as a short text, so that a reload of the page loses nothing of it."""

from __future__ import annotations

from engine.game.moves import NUM_ACTIONS
from ui.model.learn.attempt import Attempt
from ui.model.learn.progress import LONGEST_GAME


def text_of(attempt: Attempt, num_hints: int = 0) -> str:
    """The decisions of an attempt as `hints;move.action-move.action…`; empty before the first.

    Of a game that takes more than `LONGEST_GAME` letters only the beginning.
    """
    if not attempt.is_begun and not num_hints:
        return ""
    rows = [
        f"{before.game.move_index}.{after.by}"
        for before, after in zip(attempt.points, attempt.points[1:], strict=False)
    ]
    text = f"{num_hints};{'-'.join(rows)}"
    return text if len(text) <= LONGEST_GAME else text[:LONGEST_GAME].rpartition("-")[0]


def restore(attempt: Attempt, text: str) -> int:
    """Play the decisions of a text, as far as they can be played; returns the hints shown.

    The text may be of another version of the board, or anything at all.
    """
    head, _, rows = text.partition(";")
    for row in rows.split("-") if rows else ():
        move, _, action = row.partition(".")
        if not (_is_number(move) and _is_number(action)):
            break
        game = attempt.tip.game
        is_fitting = not attempt.is_over and game.move_index == int(move)
        if not is_fitting or int(action) >= NUM_ACTIONS or not game.legal()[int(action)]:
            break
        attempt.play(int(move), int(action))
    return int(head) if _is_number(head) else 0


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) < 8

"""Reading a link's parameters, which may say anything."""

from __future__ import annotations

from collections.abc import Mapping

_MOST_DIGITS = 9


def move_of(query: Mapping[str, str], num_moves: int) -> tuple[int | None, str]:
    """The move that a link asks for, from 0, within the game, and a warning if it had to change.

    None if the link asks for no move; an empty text if there is nothing to warn of.
    """
    text = query.get("move", "")
    if not text:
        return None, ""
    if not (text.isdecimal() and text.isascii()) or len(text) > _MOST_DIGITS:
        return None, f"The link's move “{text[:20]}” is not a number."
    move = int(text) - 1
    if 0 <= move < num_moves:
        return move, ""
    last = max(0, num_moves - 1)
    return min(max(0, move), last), (
        f"The link asks for move {move + 1:,}; the moves of this program are 1 to {num_moves:,}."
    )


def index_of(text: str, count: int) -> int:
    """The number from 0 to `count - 1` that a text says; -1 if it says none of them."""
    if not (text.isdecimal() and text.isascii()) or len(text) > _MOST_DIGITS:
        return -1
    return int(text) if int(text) < count else -1

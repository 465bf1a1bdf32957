"""Reading a link's parameters, which may say anything."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engine.files import json_of
from ui.model.compare.comparison import MODES

_MOST_DIGITS = 9
_MOST_TOLD = 4


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


_CONTENT = re.compile(r"[0-9a-f]{12}")


def content_of(query: Mapping[str, str]) -> str:
    """The beginning of the content hash of a program that was brought; empty if there is none."""
    text = query.get("content", "")
    return text if _CONTENT.fullmatch(text) else ""


def content_part(identity: str) -> str:
    """What a link says of a content hash."""
    return identity[:12]


_MOST_BYTES = 2**22
"""Of a game in a link, unpacked: those of the largest programs take less than a tenth."""


def game_text(notes: Mapping[str, Any]) -> str:
    """The notes of a game (`engine.game.notes`) in letters that a link may hold."""
    body = json.dumps(notes, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(zlib.compress(body, 9)).decode().rstrip("=")


def game_of(query: Mapping[str, str]) -> dict[str, Any]:
    """The notes of the game that a link spells out, the inverse of `game_text`; empty without."""
    text = query.get("game", "")
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        body = json_of(zlib.decompressobj().decompress(packed, _MOST_BYTES))
    except (ValueError, zlib.error, binascii.Error, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


CHOICES = {
    "axis": ("slots", "seconds"),
    "colour": ("kind", "saving", "size", "age", "layer"),
    "curve": ("total", "lead"),
    "mode": tuple(MODES),
    "diff": ("0", "1"),
}
"""Parameters that say one of a few words."""
_FREE = (
    *("program", "plan", "plans", "game", "move", "line", "notes", "lesson", "peak", "free"),
    *("slot", "tab"),
)
"""Parameters whose meaning whoever uses them checks."""

_FOUR_NUMBERS = ("window", "area")
"""Parameters that say a rectangle."""
_LOOK = ("window", "axis", "colour", "curve", "area")
"""Parameters that only the map reads."""


def look_of(query: Mapping[str, str]) -> dict[str, str]:
    """What a link says of the map's look, without what means nothing."""
    return {name: query[name] for name in _LOOK if name in query and _is_meant(query, name)}


def ignored(query: Mapping[str, str], num_groups: int) -> str:
    """What of a link means nothing here, as a sentence; empty where all of it means something."""
    odd = [name for name in CHOICES if name in query and not _is_meant(query, name)]
    odd += [n for n in ("select", "group") if n in query and index_of(query[n], num_groups) < 0]
    odd += ["content"] * ("content" in query and not content_of(query))
    odd += [name for name in _FOUR_NUMBERS if name in query and not _is_meant(query, name)]
    known = {*CHOICES, *_FREE, *_FOUR_NUMBERS, "select", "group", "content"}
    return _said(query, [*odd, *_unknown(query, known)])


def unknown(query: Mapping[str, str], known: Collection[str]) -> str:
    """As `ignored`, on a page that knows these parameters alone."""
    return _said(query, _unknown(query, known))


def _unknown(query: Mapping[str, str], known: Collection[str]) -> list[str]:
    return [name for name in query if name not in known and not name.startswith("embed")]


def _said(query: Mapping[str, str], odd: Sequence[str]) -> str:
    if not odd:
        return ""
    parts = ", ".join(f"{name[:20]}={query[name][:20]}" for name in odd[:_MOST_TOLD])
    more = f" and {len(odd) - _MOST_TOLD} more" if len(odd) > _MOST_TOLD else ""
    return f"Parts of the link mean nothing here and were left aside: {parts}{more}."


def _is_meant(query: Mapping[str, str], name: str) -> bool:
    """Whether it is one of the words, or four numbers as the map and Compare write them."""
    if name in CHOICES:
        return query[name] in CHOICES[name]
    parts = re.split("[_,]", query[name])
    try:
        return len(parts) in (4, 5) and all(math.isfinite(float(p)) for p in parts[-4:])
    except ValueError:
        return False

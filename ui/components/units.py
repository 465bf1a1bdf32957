"""Quantities as pages show them: as `engine.game.units` says them, each tied to its unit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.game import units
from engine.game.units import NOTHING_S, count_text, decimal_text, is_same, noise_s

__all__ = [
    "NOTHING_S",
    "address_text",
    "column_texts",
    "count_text",
    "decimal_text",
    "gain_text",
    "is_same",
    "noise_s",
    "range_text",
    "share_text",
    "size_text",
    "tied_text",
    "time_text",
    "times_text",
    "unobserved_text",
]
_GAP = "\N{NO-BREAK SPACE}"
_QUANTITY = re.compile(r"(\d) (ns|µs|ms|s|B|KiB|MiB|GiB|%)(?!\w)")


def size_text(num_bytes: float) -> str:
    """Bytes with a binary prefix and three significant digits: `12.3 MiB`."""
    return _tied(units.size_text(num_bytes))


def range_text(low: int, high: int) -> str:
    """Bytes `[low, high)`, with as many digits as keep the two ends apart."""
    return _tied(units.range_text(low, high)).replace(f",{_GAP}", ", ")


def time_text(seconds: float) -> str:
    """Seconds with the prefix that leaves one to three digits before the point: `14.2 µs`."""
    return _tied(units.time_text(seconds))


def times_text(*seconds: float) -> tuple[str, ...]:
    """Seconds of one sentence, all in one unit."""
    return tuple(map(_tied, units.times_text(*seconds)))


def column_texts(seconds: Sequence[float]) -> list[str]:
    """Seconds to stand below each other in one unit, and their sum as the last."""
    return [_tied(text) for text in units.column_texts(seconds)]


def gain_text(seconds: float) -> str:
    """Signed seconds: `+14.2 µs`; `± 0` for what is only rounding."""
    return _tied(units.gain_text(seconds))


def unobserved_text(saving_s: float, more_s: float) -> str:
    """The mark of a saving that no compile has shown: how much it may be; empty for none.

    `more_s`: how much more it may be than what counts (`engine.program.provenance`).
    """
    return f"not observed: up to {time_text(saving_s + more_s)}" if more_s > 0 else ""


def share_text(share: float, decimals: int = 1) -> str:
    """A fraction as a percentage: `83.1 %`."""
    return _tied(units.share_text(share, decimals))


def address_text(offset: int) -> str:
    """A byte address of the fast memory, hexadecimal."""
    return f"0x{offset:x}"


def tied_text(text: str) -> str:
    """A sentence whose quantities are tied to their units."""
    return _QUANTITY.sub(rf"\1{_GAP}\2", text)


def _tied(text: str) -> str:
    return text.replace(" ", _GAP)

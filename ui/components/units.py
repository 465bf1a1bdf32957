"""Quantities in the words a reader expects: bytes, seconds, shares."""

from __future__ import annotations

NOTHING_S = 5e-13
"""Seconds below which a time is the rounding of the game's ticks, or of a sum."""
_GAP = "\N{NO-BREAK SPACE}"
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_SECONDS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def size_text(num_bytes: float) -> str:
    """Bytes with a binary prefix and three significant digits: `12.3 MiB`."""
    amount, unit = float(num_bytes), 0
    while abs(amount) >= 1024 and unit < len(_BINARY) - 1:
        amount /= 1024
        unit += 1
    return f"{_digits(amount)}{_GAP}{_BINARY[unit]}" if unit else f"{amount:,.0f}{_GAP}B"


def time_text(seconds: float) -> str:
    """Seconds with the prefix that leaves one to three digits before the point: `14.2 µs`."""
    if abs(seconds) < NOTHING_S:
        return f"0{_GAP}ns"
    for unit, scale in _SECONDS:
        # 999.95 would be printed as 1,000 of the smaller unit.
        if abs(seconds) >= 0.9995 * scale:
            return f"{_digits(seconds / scale)}{_GAP}{unit}"
    return f"{seconds / 1e-9:.2g}{_GAP}ns"


def unobserved_text(saving_s: float, more_s: float) -> str:
    """The mark of a saving that no compile has shown: how much it may be; empty for none.

    `more_s`: how much more it may be than what counts (`engine.program.provenance`).
    """
    return f"not observed: up to {time_text(saving_s + more_s)}" if more_s > 0 else ""


def share_text(share: float) -> str:
    """A fraction as a percentage with one decimal: `83.1 %`."""
    # Adding zero takes the sign off a negative share that rounds to none.
    return f"{round(100 * share, 1) + 0.0:.1f}{_GAP}%"


def count_text(count: int, noun: str) -> str:
    """`1 stay`, `2,048 stays`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def address_text(offset: int) -> str:
    """A byte address of the fast memory, hexadecimal."""
    return f"0x{offset:x}"


def _digits(amount: float) -> str:
    if abs(amount) >= 999.5:
        return f"{amount:,.0f}"
    if abs(amount) >= 99.95:
        return f"{amount:.0f}"
    return f"{amount:.1f}" if abs(amount) >= 9.995 else f"{amount:.2f}"

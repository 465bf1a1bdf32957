"""Bytes, addresses and seconds in words, for sentences about the game."""

from __future__ import annotations

_UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_NOTHING_S = 5e-13
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def size_text(num_bytes: int, digits: int = 4) -> str:
    """Bytes in the largest unit that leaves at least one."""
    for factor, unit in _UNITS:
        if num_bytes >= factor:
            return f"{num_bytes / factor:.{digits}g} {unit}"
    return f"{num_bytes} B"


def range_text(low: int, high: int) -> str:
    """Bytes `[low, high)`, with as many digits as keep the two ends apart."""
    ends = ("", "")
    for digits in range(4, 18):
        ends = (size_text(low, digits), size_text(high, digits))
        if ends[0] != ends[1] or low == high:
            break
    return f"[{ends[0]}, {ends[1]})"


def time_text(seconds: float) -> str:
    """Seconds in a unit that leaves at least one, nanoseconds below; less than 0.001 ns is none."""
    if abs(seconds) < _NOTHING_S:
        return "0 ns"
    if seconds < 0:
        return f"−{time_text(-seconds)}"
    for factor, unit in _SECONDS:
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"

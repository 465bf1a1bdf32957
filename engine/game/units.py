"""Quantities in words, for every sentence and every table of the project: bytes, seconds, shares.

Three significant digits, thousands with a comma, a minus that is a minus; what is only rounding is
nothing. `ui.components.units` ties the unit to its number, `ui/components/words.js` does the same
in the browser.
"""

from __future__ import annotations

from collections.abc import Sequence

NOTHING_S = 5e-10
"""Seconds that are no time: the ticks of the game are rounded, and that adds up to less."""
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_SECONDS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_MOST = 9999.5
"""Of a common unit nothing has more than four digits."""


def size_text(num_bytes: float, digits: int = 3) -> str:
    """Bytes with a binary prefix: `12.3 MiB`."""
    amount, unit = float(num_bytes), 0
    while abs(amount) >= 1023.5 and unit < len(_BINARY) - 1:
        amount /= 1024
        unit += 1
    return f"{_number(amount, digits)} {_BINARY[unit]}" if unit else f"{amount:,.0f} B"


def range_text(low: int, high: int) -> str:
    """Bytes `[low, high)`, with as many digits as keep the two ends apart."""
    ends = ("", "")
    for digits in range(4, 18):
        ends = (_trimmed(size_text(low, digits)), _trimmed(size_text(high, digits)))
        if ends[0] != ends[1] or low == high:
            break
    return f"[{ends[0]}, {ends[1]})"


def _trimmed(text: str) -> str:
    """Without the zeros at the end of a fraction: `79 MiB`, as addresses are often whole."""
    amount, _, unit = text.partition(" ")
    return f"{amount.rstrip('0').rstrip('.') if '.' in amount else amount} {unit}"


def time_text(seconds: float) -> str:
    """Seconds with the prefix that leaves one to three digits before the point: `14.2 µs`."""
    return times_text(seconds)[0]


def times_text(*seconds: float) -> tuple[str, ...]:
    """Seconds of one sentence, all in one unit: `16.58 ms`, `0.38 ms`.

    The unit leaves the least of them a digit before the point, as long as the largest has no more
    than four; so has each, decimals included.
    """
    sizes = [abs(s) for s in seconds if abs(s) >= NOTHING_S]
    if not sizes:
        return ("0 ns",) * len(seconds)
    # 999.95 would be printed as 1,000 of the smaller unit.
    fitting = [n for n, (_, scale) in enumerate(_SECONDS) if min(sizes) >= 0.9995 * scale]
    number = fitting[0] if fitting else len(_SECONDS) - 1
    while max(sizes) >= _MOST * _SECONDS[number][1] and number:
        number -= 1
    unit, scale = _SECONDS[number]
    wanted = max(_decimals(size / scale) for size in sizes)
    decimals = min(wanted, _decimals(max(sizes) / scale, 4))
    return tuple(f"{_signed(s, scale, decimals)} {unit}" for s in seconds)


def is_same(seconds: float) -> bool:
    """Whether a difference is only rounding."""
    return abs(seconds) < NOTHING_S


def gain_text(seconds: float) -> str:
    """Signed seconds: `+14.2 µs`; `± 0` for what is only rounding."""
    text = time_text(abs(seconds))
    if abs(seconds) < NOTHING_S:
        return "± 0"
    return f"{'+' if seconds > 0 else '−'}{text}"


def column_texts(seconds: Sequence[float]) -> list[str]:
    """Seconds that are added up below each other: one unit, the same decimals, and the last is
    their printed sum.

    Their unit is that of the sum, which has four digits.
    """
    total = sum(seconds)
    number = next((n for n, (_, s) in enumerate(_SECONDS) if abs(total) >= 0.9995 * s), 3)
    unit, scale = _SECONDS[number]
    limits = ((3, 9.9995), (2, 99.995), (1, 999.95))
    decimals = next((d for d, most in limits if 0 < abs(total) / scale < most), 0)
    steps = [round(s / scale * 10**decimals) for s in seconds]
    # The largest takes what rounding lost, so that the column adds up as it is printed.
    if steps:
        largest = max(range(len(steps)), key=lambda n: abs(steps[n]))
        steps[largest] += round(total / scale * 10**decimals) - sum(steps)
    printed = [*steps, sum(steps)]
    return [f"{decimal_text(step / 10**decimals, decimals)} {unit}" for step in printed]


def share_text(share: float, decimals: int = 1) -> str:
    """A fraction as a percentage: `83.1 %`."""
    return f"{decimal_text(100 * share, decimals)} %"


def count_text(count: int, noun: str) -> str:
    """`1 stay`, `2,048 stays`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def noise_s(gap_s: float) -> float:
    """Seconds below which a difference is noise beside a gap: 1 µs, at least 0.01 % of the gap.

    The costs are estimates: on a chip a difference so small may have either sign.
    """
    return max(1e-6, 1e-4 * gap_s)


def _signed(seconds: float, scale: float, decimals: int) -> str:
    if abs(seconds) < NOTHING_S:
        return "0"
    amount = seconds / scale
    is_less = abs(amount) < 0.5 * 10.0**-decimals
    text = f"{abs(amount):.2g}" if is_less else f"{abs(amount):,.{decimals}f}"
    return f"−{text}" if seconds < 0 else text


def decimal_text(amount: float, decimals: int) -> str:
    """A number with these decimals; what rounds to zero has no sign."""
    rounded = round(amount, decimals)
    return f"{'−' if rounded < 0 else ''}{abs(rounded):,.{decimals}f}"


def _number(amount: float, digits: int = 3) -> str:
    """So many significant digits, and all those before the point."""
    return f"{amount:,.{_decimals(amount, digits)}f}"


def _decimals(amount: float, digits: int = 3) -> int:
    """The decimals that leave a number so many digits, if it is 1 or more."""
    for before in range(1, digits):
        if abs(amount) < 10**before - 0.5 * 10.0 ** (before - digits):
            return digits - before
    return 0

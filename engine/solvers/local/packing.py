"""Addresses for stays whose lives are decided: first fit, again and again, hard ones first.

Offline dynamic storage allocation. Where the sizes fit slot by slot, the stays nearly always fit at
one address each as well, mostly in the first few rounds.
The order is mended as in squeaky wheel optimisation (Joslin and Clements 1999): a stay that found
no place counts for more in the next round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.solvers.local.arrays import Ints
from engine.solvers.local.compiled import Code, compiled, interpreted

ROUNDS = 24
"""Orders that are tried at most."""
NOWHERE = -1_000_000_000
"""In place of an address that there is not; hints may say anything."""
RAISE = 2.0
"""How much more a stay counts in the next round after it found no place."""


@dataclass(frozen=True)
class Life:
    """What is to be placed: `size` granules, not below `lowest`, in the slots of all `spans`.

    `worth_s`: seconds that are lost without it. `hint`: the place that it had before, if any.
    """

    spans: tuple[tuple[int, int], ...]
    size: int
    lowest: int
    worth_s: float
    hint: int | None = None


Fit = Callable[[Sequence[int], bool], list[int | None]]
"""Places in an order of the lives, and whether those that have hints come first, at them."""


def pack(lives: Sequence[Life], capacity: int, code: Code = interpreted) -> list[int | None]:
    """The first granule of each, None where no place was found: those that are worth least.

    `code`: what is compiled finds the same places, many times faster where there are thousands.
    """
    fit = _plain(lives, capacity) if code is interpreted else _by(code, lives, capacity)
    slots = [sum(end - start for start, end in life.spans) for life in lives]
    weight = [life.size * number**0.5 for life, number in zip(lives, slots, strict=True)]
    best: list[int | None] = []
    least_s = float("inf")
    for number in range(ROUNDS + 1):
        order = sorted(range(len(lives)), key=lambda i: -weight[i])
        # First with the hints: then mostly little is left to place.
        places = fit(order, number == 0)
        lost = [i for i, place in enumerate(places) if place is None]
        lost_s = sum(lives[i].worth_s for i in lost)
        if lost_s < least_s or not lost:
            best, least_s = places, lost_s
        if not lost:
            break
        if number > 0:
            for i in lost:
                weight[i] *= RAISE
    return best


def _hinted_first(lives: Sequence[Life], order: Sequence[int]) -> list[int]:
    return sorted(order, key=lambda i: lives[i].hint is None)


def _plain(lives: Sequence[Life], capacity: int) -> Fit:
    first, others = _neighbours(lives)
    near = [some.tolist() for some in np.split(others, first[1:-1])]
    return lambda order, has_hints: _first_fit(lives, near, order, capacity, has_hints)


def _by(code: Code, lives: Sequence[Life], capacity: int) -> Fit:
    """As `_plain`, by compiled code."""
    first, others = _neighbours(lives)
    size = np.array([life.size for life in lives], dtype=np.int64)
    lowest = np.array([life.lowest for life in lives], dtype=np.int64)
    hints = [NOWHERE if life.hint is None else life.hint for life in lives]

    def fit(order: Sequence[int], has_hints: bool) -> list[int | None]:
        in_turn = _hinted_first(lives, order) if has_hints else order
        hint = np.array(hints if has_hints else [NOWHERE] * len(lives), dtype=np.int64)
        places = np.full(len(lives), NOWHERE, dtype=np.int64)
        turns = np.array(in_turn, dtype=np.int64)
        code(fit_in_turn)(first, others, size, lowest, hint, turns, capacity, places)
        return [None if place == NOWHERE else place for place in places.tolist()]

    return fit


@compiled
def fit_in_turn(
    first: Ints,
    others: Ints,
    size: Ints,
    lowest: Ints,
    hint: Ints,
    turns: Ints,
    capacity: int,
    places: Ints,
) -> None:
    """As `_first_fit`, on arrays; `others[first[i]:first[i + 1]]` share a slot with `i`."""
    for i in turns:
        num = 0
        begin = np.empty(first[i + 1] - first[i], dtype=np.int64)
        end = np.empty(first[i + 1] - first[i], dtype=np.int64)
        for at in range(first[i], first[i + 1]):
            place = places[others[at]]
            if place != NOWHERE:
                begin[num] = place
                end[num] = place + size[others[at]]
                num += 1
        low, high = hint[i], hint[i] + size[i]
        is_free = low != NOWHERE and lowest[i] <= low and high <= capacity
        for at in range(num):
            is_free = is_free and not (begin[at] < high and low < end[at])
        if not is_free:
            low = lowest[i]
            for at in np.argsort(begin[:num]):
                if begin[at] - low >= size[i]:
                    break
                low = max(low, end[at])
        if low + size[i] <= capacity:
            places[i] = low


def _first_fit(
    lives: Sequence[Life],
    near: Sequence[Sequence[int]],
    order: Sequence[int],
    capacity: int,
    has_hints: bool,
) -> list[int | None]:
    """Each in turn at the lowest place that is free all its life, or at its hint if that is."""
    places: list[int | None] = [None] * len(lives)
    if has_hints:
        order = _hinted_first(lives, order)
    for i in order:
        life = lives[i]
        taken = []
        for j in near[i]:
            place = places[j]
            if place is not None:
                taken.append((place, place + lives[j].size))
        taken.sort()
        hint = life.hint if has_hints else None
        is_within = hint is not None and life.lowest <= hint <= capacity - life.size
        if hint is not None and is_within and is_free(taken, hint, life.size):
            places[i] = hint
        else:
            places[i] = lowest_free(taken, life.size, life.lowest, capacity)
    return places


def is_free(taken: Sequence[tuple[int, int]], low: int, size: int) -> bool:
    """Whether `size` granules from `low` on are clear of the ranges `taken`."""
    return not any(start < low + size and low < end for start, end in taken)


def lowest_free(
    taken: Sequence[tuple[int, int]], size: int, lowest: int, capacity: int
) -> int | None:
    """The first of `size` free granules from `lowest` on, below `capacity`; None if there are none.

    `taken`: the ranges that are not free, by their beginnings; they may overlap.
    """
    low = lowest
    for start, end in taken:
        if start - low >= size:
            break
        low = max(low, end)
    return low if capacity - low >= size else None


def _neighbours(lives: Sequence[Life]) -> tuple[Ints, Ints]:
    """`first` `[N + 1]`, `others`: `others[first[i]:first[i + 1]]` share a slot with life `i`.

    One that shares slots of two spans comes twice.
    """
    spans = [(*span, i) for i, life in enumerate(lives) for span in life.spans]
    start, end, life = np.array(sorted(spans), dtype=np.int64).reshape(-1, 3).T
    # Of the spans that begin later, those that begin before this one ends.
    num = np.searchsorted(start, end) - np.arange(len(start)) - 1
    one = np.repeat(np.arange(len(start)), num)
    rank = np.arange(len(one)) - np.repeat(np.cumsum(num) - num, num)
    one, other = life[one], life[one + 1 + rank]
    # Sorting pairs as single numbers is many times faster than sorting them as pairs.
    pairs = np.sort(np.concatenate([one * len(lives) + other, other * len(lives) + one]))
    first = np.searchsorted(pairs, np.arange(len(lives) + 1) * len(lives))
    return first, pairs % max(1, len(lives))

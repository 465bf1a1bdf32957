"""Addresses for given lives: nothing overlaps, and what fits in one order of several is found."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from engine.solvers.local.compiled import interpreted
from engine.solvers.local.packing import Life, pack


def shares_slot(one: Life, other: Life) -> bool:
    """Whether two lives have a slot in common."""
    return any(a < d and c < b for a, b in one.spans for c, d in other.spans)


@st.composite
def lives(draw: st.DrawFn) -> Life:
    """Up to two spans in twenty slots, as a kept input that comes back has them."""
    start, end = sorted(draw(st.lists(st.integers(-1, 20), min_size=2, max_size=2, unique=True)))
    spans = [(start, end)]
    if draw(st.booleans()) and end < 19:
        spans.append((end + 1, 20))
    hint = draw(st.none() | st.integers(-3, 40))
    worth_s = draw(st.floats(0.0, 1.0))
    return Life(tuple(spans), draw(st.integers(1, 24)), draw(st.integers(0, 8)), worth_s, hint)


@given(st.lists(lives(), max_size=20), st.integers(1, 32))
def test_what_has_a_place_overlaps_nothing(some: list[Life], capacity: int) -> None:
    places = pack(some, capacity)
    placed = [(life, place) for life, place in zip(some, places, strict=True) if place is not None]
    for life, place in placed:
        assert life.lowest <= place <= capacity - life.size
    for (one, low), (other, place) in combinations(placed, 2):
        is_apart = low + one.size <= place or place + other.size <= low
        assert is_apart or not shares_slot(one, other)


@given(st.lists(lives(), max_size=20), st.integers(1, 32))
def test_what_finds_no_place_would_fit_nowhere_in_the_memory_that_is_left(
    some: list[Life], capacity: int
) -> None:
    """Where all stand one above the other there is a place for each."""
    places = pack(some, capacity)
    for life, place in zip(some, places, strict=True):
        others = [
            (low, low + other.size)
            for other, low in zip(some, places, strict=True)
            if low is not None and shares_slot(life, other)
        ]
        free = (
            low
            for low in range(life.lowest, capacity - life.size + 1)
            if all(end <= low or low + life.size <= start for start, end in others)
        )
        assert place is not None or next(free, None) is None
    height = sum(life.size for life in some) + max((life.lowest for life in some), default=0)
    assert None not in pack(some, height)


@given(st.lists(lives(), max_size=20), st.integers(1, 32))
def test_places_that_are_hinted_at_stay_if_they_will_do(some: list[Life], capacity: int) -> None:
    before = pack(some, capacity)
    hinted = [
        Life(life.spans, life.size, life.lowest, life.worth_s, place)
        for life, place in zip(some, before, strict=True)
        if place is not None
    ]
    assert pack(hinted, capacity) == [place for place in before if place is not None]


def test_a_stay_that_finds_no_place_is_placed_earlier_in_the_next_round() -> None:
    """The two long ones first, as they weigh more, leave the wide one two halves of the memory."""
    tight = [
        Life(((0, 90),), 2, 0, 1.0),
        Life(((10, 100),), 2, 0, 1.0),
        Life(((95, 100),), 6, 2, 1.0),
        Life(((0, 5),), 6, 0, 1.0),
    ]
    assert None not in pack(tight, 8)


def test_what_is_worth_least_goes_without() -> None:
    some = [Life(((0, 4),), 6, 0, 1.0), Life(((0, 4),), 6, 0, 3.0)]
    assert pack(some, 8) == [None, 0]


@given(st.lists(lives(), max_size=20), st.integers(1, 32))
def test_arrays_find_the_same_places(some: list[Life], capacity: int) -> None:
    """What is compiled, here as it stands."""
    assert pack(some, capacity, lambda function: interpreted(function)) == pack(some, capacity)

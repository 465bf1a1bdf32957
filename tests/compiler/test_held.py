"""Places of our own for what a compile holds: who begins later so that all fit."""

from __future__ import annotations

from engine.compiler.reading.held import Held, repacked
from engine.program.model import Program
from tests.plan.cases import Buffer, program_of

HALF = 640


def program() -> Program:
    """Three inputs, two of which fit together."""
    return program_of([Buffer(HALF, "r7", is_input=True) for _ in range(3)], 8)


def starts(*held: Held) -> dict[int, int]:
    """Group -> start of its stay."""
    return {stay.group: stay.start for stay in repacked(program(), held)}


def test_what_fits_begins_with_its_first_slice() -> None:
    assert starts(Held(0, 0, 0, 1, 4, (2,)), Held(1, 1, 1, 1, 4, (2,))) == {0: 1, 1: 1}


def test_who_finds_no_place_begins_with_a_later_slice() -> None:
    long = [Held(n, n, n, 1, 4, ()) for n in range(2)]
    assert starts(*long, Held(2, 2, 2, 2, 7, (3, 4))) == {0: 1, 1: 1, 2: 4}


def test_who_is_in_the_way_begins_later_where_the_other_cannot() -> None:
    early = [Held(n, n, n, 1, 8, (3,)) for n in range(2)]
    found = starts(*early, Held(2, 2, 2, 1, 3, ()))
    assert found[2] == 1 and set(found.values()) == {1, 3}


def test_what_never_fits_is_left_out() -> None:
    assert len(starts(*(Held(n, n, n, 1, 8, ()) for n in range(3)))) == 2

"""What the savings of a program rest on, and how much more its uses may save."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.hardware.what_if import WhatIf, derive
from engine.program.library import load_sample
from engine.program.model import Program, Touch
from engine.program.provenance import (
    CYCLES,
    FITTED,
    LITTLE,
    Observed,
    import_remarks,
    more_s,
    observed,
    uncounted_by_slot,
)
from tests.program.uncertain import (
    COUNTED_S,
    LARGE,
    LATE,
    MORE_S,
    SHOWN_S,
    SMALL,
    UNSEEN_S,
    uncertain,
)

PROGRAM = uncertain()


def touch(program: Program, access: int) -> Touch:
    return next(t for t in program.touches if access in t.accesses)


def test_where_no_compile_has_shown_a_saving_that_is_said() -> None:
    accesses = (replace(a, saving_s=0.0, uncertainty_s=10.0) for a in PROGRAM.accesses)
    unseen = replace(PROGRAM, accesses=tuple(accesses))
    (remark,) = import_remarks(unseen)
    assert "up to 30000000.0 us" in remark
    assert import_remarks(PROGRAM) == []


def test_the_possible_saving_has_three_parts() -> None:
    found = observed(PROGRAM)
    assert found == Observed(SHOWN_S, COUNTED_S, MORE_S + UNSEEN_S)
    assert found is not None
    assert found.share == SHOWN_S / (SHOWN_S + COUNTED_S + MORE_S + UNSEEN_S)
    assert Observed(0.0, 0.0, 0.0).share == 1.0


def test_nothing_saves_more_than_its_instruction_takes_above_its_floor() -> None:
    floor_s, room_s = 200.0, 100.0 + SHOWN_S + COUNTED_S - 200.0
    program = uncertain(floor_s)
    assert observed(program) == Observed(SHOWN_S, room_s - SHOWN_S, UNSEEN_S)
    assert more_s(program, touch(program, SMALL)) == MORE_S
    program = uncertain(100.0 + SHOWN_S - 10.0)
    assert more_s(program, touch(program, SMALL)) == 10.0


def test_a_use_may_save_more_where_no_compile_has_shown_it() -> None:
    found = {access: more_s(PROGRAM, touch(PROGRAM, access)) for access in (LARGE, SMALL, LATE)}
    assert found == {LARGE: 0.0, SMALL: MORE_S, LATE: UNSEEN_S}
    large, small, late = PROGRAM.accesses
    for share, is_told in ((0.9, False), (1.1, True)):
        little = replace(small, uncertainty_s=share * LITTLE * COUNTED_S)
        program = replace(PROGRAM, accesses=(large, little, late))
        assert (more_s(program, touch(program, SMALL)) > 0) == is_told


def test_what_is_uncertain_of_a_plan_is_where_it_differs_from_what_is_known() -> None:
    small, all_fast = (False, True, False), (True, True, True)
    assert uncounted_by_slot(PROGRAM, small) == [MORE_S, 0.0]
    assert uncounted_by_slot(PROGRAM, all_fast) == [MORE_S, UNSEEN_S]
    assert uncounted_by_slot(PROGRAM, all_fast, small) == [0.0, UNSEEN_S]
    assert uncounted_by_slot(PROGRAM, small, small) == [0.0, 0.0]


def test_no_instruction_takes_less_than_its_floor_by_what_is_uncertain_of_several_uses() -> None:
    accesses = tuple(replace(a, saving_s=0.0, uncertainty_s=90.0) for a in PROGRAM.accesses)
    program = replace(uncertain(floor_s=20.0), accesses=accesses)
    assert uncounted_by_slot(program, (True, True, True)) == [80.0, 90.0]
    assert uncounted_by_slot(program, (True, True, False), (False, False, True)) == [80.0, 90.0]
    assert uncounted_by_slot(program, (True, False, True), (False, True, True)) == [80.0, 0.0]
    large, small, late = accesses
    counted = replace(program, accesses=(replace(large, saving_s=30.0), small, late))
    assert uncounted_by_slot(counted, (True, True, True)) == [80.0, 90.0]
    assert uncounted_by_slot(counted, (False, True, False)) == [90.0, 0.0]


def test_costs_that_are_no_compilers_of_this_chip_are_not_judged() -> None:
    by_hand = load_sample("teach-prefetch")
    assert observed(by_hand) is None
    assert observed(derive(PROGRAM, WhatIf(bandwidth=0.5), "slower")) is None
    saved_s = by_hand.all_slow_s - by_hand.all_fast_s
    one_dump = replace(PROGRAM, provenance={"costs": CYCLES})
    assert observed(one_dump) == Observed(0.0, SHOWN_S + COUNTED_S, MORE_S + UNSEEN_S)
    pair = observed(replace(by_hand, provenance={"costs": FITTED}))
    assert pair is not None and pair.share == 1.0
    assert pair.possible_s == pytest.approx(saved_s)

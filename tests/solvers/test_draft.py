"""Drafts: what the game would refuse of a plan is placed elsewhere, or not kept."""

from __future__ import annotations

import pytest

from engine.game.replay import follow_plan
from engine.plan.check import check
from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers.draft import draft_from
from tests.game.tiny_programs import Buffer, program_of

RETURNED = (Stay(0, 0, -1, 1), Stay(0, 0, 3, 4))
"""An input that is kept for the next run, and gives up its place in between."""


def shared(kept_saves: float, size: int) -> tuple[Program, Plan]:
    """A plan in which a result of `size` bytes stands where the kept input has stood."""
    kept = Buffer(4, reads={0: kept_saves}, is_input=True)
    result = Buffer(size, writes={1: 3}, reads={2: 3}, is_live_out=True)
    program = program_of([20] * 4, [kept, result], max_inputs=1)
    plan = Plan(
        program_hash=content_hash(program),
        solver="by hand",
        is_fast=(True,) * len(program.accesses),
        stays=(RETURNED[0], Stay(1, 0, 1, 3), RETURNED[1]),
        copies=(Copy(1, False, 2, 3), Copy(0, True, 3, 4)),
        notes={},
    )
    assert check(program, plan) is None
    return program, plan


def test_what_may_not_stand_in_a_kept_inputs_place_gets_a_free_one() -> None:
    program, plan = shared(kept_saves=1, size=4)
    draft = draft_from(program, plan)
    assert draft.plan == plan
    assert draft.rules.planned == ((0, -1, 0), (0, 3, 0), (1, 1, 4))
    played = follow_plan(program, draft.rules, draft.plan).plan("x")
    assert all(played.is_fast)
    assert Stay(1, 4, 1, 4) in played.stays


@pytest.mark.parametrize("kept_saves", [5, 7])
def test_where_no_place_is_free_what_saves_more_has_it(kept_saves: float) -> None:
    program, plan = shared(kept_saves, size=14)
    draft = draft_from(program, plan)
    assert check(program, draft.plan) is None
    if kept_saves > 6:
        assert draft.plan == plan
        return
    assert draft.rules.planned == ((1, 1, 0),)
    assert draft.plan.copies == plan.copies[:1]
    assert draft.plan.is_fast == (False, True, True)
    assert follow_plan(program, draft.rules, draft.plan).plan("x").is_fast == draft.plan.is_fast

"""How much of XLA's plan was read, and when it is a measure for others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.program.library import load_sample
from engine.program.model import Program
from engine.program.provenance import (
    has_compiled_plan,
    reading_warning,
    refining_remark,
    share_read,
    target_facts_of,
)

BY_HAND = load_sample("teach-prefetch")


def with_plan(plan: object) -> Program:
    return replace(BY_HAND, provenance={"xla_plan": plan})


@pytest.mark.parametrize(
    ("lost", "share"),
    [
        (0.0, 1.0),
        (0.01, 0.99),
        (0.0101, 0.9899),
        (0.02, 0.98),
        (1, 0.0),
        ("much", 1.0),
        (-3.0, 1.0),
    ],
)
def test_the_share_is_what_was_not_left_out(lost: object, share: float) -> None:
    program = with_plan({"notes": {"left_out_saving_share": lost}})
    assert share_read(program) == share
    warning = reading_warning(program)
    assert (warning is None) == (share >= 0.99)
    assert warning is None or (f"only {share:.1%}" in warning and "no win" in warning)


@pytest.mark.parametrize("plan", [{}, {"notes": None}, {"notes": [1]}, [], "plan"])
def test_a_plan_that_notes_nothing_is_whole(plan: object) -> None:
    assert share_read(with_plan(plan)) == 1.0
    assert reading_warning(with_plan(plan)) is None


def test_without_a_plan_there_is_nothing_to_read() -> None:
    assert not has_compiled_plan(BY_HAND)
    assert share_read(BY_HAND) is None and reading_warning(BY_HAND) is None


def test_a_capture_that_goes_on_is_said() -> None:
    going_on = {"refining": {"compiles": 3, "of": 8}}
    remark = refining_remark(replace(BY_HAND, provenance=going_on))
    assert remark is not None and "3 of up to 8" in remark
    assert refining_remark(BY_HAND) is None
    facts = target_facts_of(
        replace(BY_HAND, provenance={**going_on, "compiler_options": {"a": "1"}})
    )
    assert facts == {"compiler_options": "a=1", "refined_by": "3 of up to 8 compiles"}
    assert target_facts_of(BY_HAND) == {}

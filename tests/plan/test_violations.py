"""What the referee says of a broken plan: the rule, where, and a line that a person can act on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.plan.check import Violation, check
from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program, Region
from tests.plan.cases import HARDWARE, Buffer, plan_of, program_of
from tests.plan.test_check import PROGRAM, VALID, with_copy, with_stay

SPLIT = replace(VALID, is_fast=(*VALID.is_fast[:5], not VALID.is_fast[5], *VALID.is_fast[6:]))
NOWHERE = "names an unknown group or an impossible interval"
SAID = [
    (
        replace(VALID, program_hash="0" * 16),
        Violation(
            "wrong-program",
            f"the plan is for program {'0' * 16}, this is {content_hash(PROGRAM)}",
        ),
    ),
    (
        replace(VALID, is_fast=VALID.is_fast[:-1]),
        Violation("unknown-access", "8 flags for 9 accesses"),
    ),
    (
        with_stay(0, group=4),
        Violation("unknown-access", f"{Stay(4, 256, 2, 6)} {NOWHERE}"),
    ),
    (
        with_copy(0, start=6),
        Violation("unknown-access", f"{Copy(0, True, 6, 5)} {NOWHERE}"),
    ),
    (
        with_stay(2, offset=1024),
        Violation("capacity", "bytes [1024, 1536) are not all in the fast memory", 3, 2),
    ),
    (
        replace(VALID, stays=(*VALID.stays, Stay(3, 0, 8, 9))),
        Violation("capacity", "group 3 may not live in fast memory", 8, 3),
    ),
    (
        with_stay(1, offset=576),
        Violation("alignment", "offset 576 is no multiple of 128", 2, 1),
    ),
    (
        with_stay(0, offset=128),
        Violation("reserved", "offset 128 lies in the 256 bytes of scratch of instruction 4", 4, 0),
    ),
    (
        with_stay(1, offset=384),
        Violation("overlap", "group 0 at 256 overlaps group 1 at 384 in slot 2", 2, 0),
    ),
    (
        SPLIT,
        Violation("alias", "instruction 5 touches group 0 in both memories", 5, 0),
    ),
    (
        with_stay(1, start=1),
        Violation(
            "liveness", "group 1, slot 2: a stay begins before instruction 2 defines it", 2, 1
        ),
    ),
    (
        with_stay(0, end=5),
        Violation("liveness", "group 0, slot 5: a fast access outside the stays", 5, 0),
    ),
    (
        replace(VALID, copies=VALID.copies[1:]),
        Violation("liveness", "group 0, slot 5: a fast read of a stay that has no content", 5, 0),
    ),
    (
        replace(VALID, copies=(*VALID.copies, Copy(3, True, 9, 10))),
        Violation(
            "copy-before-data", "group 3, slot 9: no stay holds its place while it is copied", 9, 3
        ),
    ),
    (
        replace(VALID, copies=(*VALID.copies, Copy(1, True, 3, 4))),
        Violation(
            "copy-before-data", "group 1, slot 3: a prefetch starts before slow memory has it", 3, 1
        ),
    ),
    (
        with_copy(1, start=3),
        Violation("copy-before-data", "group 2, slot 3: a write-back starts without content", 3, 2),
    ),
    (
        with_copy(0, deadline=6),
        Violation(
            "copy-late", "group 0, slot 5: a fast read before the deadline of its prefetch", 5, 0
        ),
    ),
    (
        plan_of(PROGRAM, "1@2 1@4", [(1, 512, 2, 5)], []),
        Violation(
            "copy-late",
            "group 1, slot 6: a slow read, but no write-back has brought slow memory up to date",
            6,
            1,
        ),
    ),
    (
        replace(VALID, copies=VALID.copies[:1]),
        Violation(
            "live-out-lost",
            "group 2, slot 10: slow memory does not hold what later code needs",
            10,
            2,
        ),
    ),
]


@pytest.mark.parametrize(("plan", "said"), SAID, ids=[said.message[:40] for _, said in SAID])
def test_a_broken_plan_hears_what_is_wrong_and_where(plan: Plan, said: Violation) -> None:
    assert check(PROGRAM, plan) == said


LOOP = (Region("body", 3, 7, 5.0),)
TWO = program_of([Buffer(256, "w1 r5"), Buffer(256, "r8", is_input=True)], regions=LOOP)


@pytest.mark.parametrize(
    ("fast", "stay", "copy", "said"),
    [
        (
            "0@1 0@5",
            (0, 0, 1, 6),
            None,
            Violation(
                "region", "group 0, slot 5: a stay from before region 0 ends inside it", 5, 0
            ),
        ),
        (
            "1@8",
            (1, 0, 4, 9),
            (1, "in", 7, 8),
            Violation(
                "region", "group 1, slot 4: a stay outlives the loop in which it begins", 4, 1
            ),
        ),
        (
            "1@8",
            (1, 0, 1, 9),
            (1, "in", 1, 4),
            Violation(
                "region", "group 1, slot 1: a copy starts and ends at different levels", 1, 1
            ),
        ),
        (
            "1@8",
            (1, 0, 0, 9),
            (1, "in", 6, 8),
            Violation(
                "region", "group 1, slot 6: a copy starts and ends at different levels", 6, 1
            ),
        ),
    ],
)
def test_regions_that_are_left_are_named(
    fast: str,
    stay: tuple[int, int, int, int],
    copy: tuple[int, str, int, int] | None,
    said: Violation,
) -> None:
    assert check(TWO, plan_of(TWO, fast, [stay], [copy] if copy else [])) == said


def cross_program(stays: list[tuple[int, int, int, int]]) -> Violation | None:
    buffers = [
        Buffer(256, "r1 r4", is_input=True),
        Buffer(256, "r2", is_input=True),
        Buffer(256, "r2 w5", is_input=True),
    ]
    hardware = replace(HARDWARE, max_cross_program_prefetches=1)
    program = program_of(buffers, hardware=hardware)
    return check(program, plan_of(program, "0@1", stays))


def test_what_is_wrong_with_a_stay_from_before_the_start() -> None:
    many = "2 cross-program prefetches, allowed are 1"
    assert cross_program([(0, 0, -1, 10), (1, 256, -1, 10)]) == Violation("liveness", many, -1)
    written = "group 2 is no unwritten input, but is there from the start"
    found = cross_program([(2, 0, -1, 10)])
    assert found == Violation("liveness", written, -1, 2)
    lost = "nothing brings group 0 back to 0 by the end"
    assert cross_program([(0, 0, -1, 3)]) == Violation("liveness", lost, 3, 0)


def rule_of(program: Program, plan: Plan) -> str | None:
    violation = check(program, plan)
    return violation.rule if violation else None


def test_a_write_back_without_slots_may_end_a_stay_where_another_begins() -> None:
    program = program_of([Buffer(256, "w1 r6", is_live_out=True)])
    stays = [(0, 0, 1, 4), (0, 512, 4, 7)]
    plan = plan_of(program, "0@1 0@6", stays, [(0, "out", 4, 4), (0, "in", 4, 6)])
    assert check(program, plan) is None
    # A prefetch without slots belongs to the stay that begins there.
    plan = plan_of(program, "0@1 0@6", stays, [(0, "out", 2, 4), (0, "in", 4, 4)])
    assert check(program, plan) is None


@pytest.mark.parametrize("other", [(0, "out", 3, 4), (0, "in", 3, 4)])
def test_a_copy_is_under_way_until_its_own_deadline(other: tuple[int, str, int, int]) -> None:
    program = program_of([Buffer(256, "r1 w5 r8", is_input=True, is_live_out=True)])
    begun = (0, "in", 0, 1)
    late = [begun, (0, "out", 2, 6), other, (0, "out", 6, 10)]
    plan = plan_of(program, "0@1 0@5 0@8", [(0, 0, 0, 10)], late)
    assert rule_of(program, plan) == "copy-before-data"
    in_time = [begun, (0, "out", 2, 5), other, (0, "out", 6, 10)]
    plan = plan_of(program, "0@1 0@5 0@8", [(0, 0, 0, 10)], in_time)
    assert check(program, plan) is None


def test_a_copy_past_a_region_may_be_due_where_it_ends() -> None:
    stay = (1, 0, 1, 9)
    assert check(TWO, plan_of(TWO, "1@8", [stay], [(1, "in", 1, 7)])) is None
    assert rule_of(TWO, plan_of(TWO, "1@8", [stay], [(1, "in", 1, 6)])) == "region"


@pytest.mark.parametrize("touches", ["w3 w8", "w3"])
def test_a_stay_that_covers_just_the_loop_does_not_carry_its_content_out(touches: str) -> None:
    buffer = Buffer(256, touches, is_live_out=touches == "w3")
    program = program_of([buffer], regions=LOOP)
    assert rule_of(program, plan_of(program, "0@3", [(0, 0, 3, 7)])) == "live-out-lost"
    written_back = plan_of(program, "0@3", [(0, 0, 3, 7)], [(0, "out", 5, 7)])
    assert check(program, written_back) is None


def test_a_write_back_under_way_brings_no_content() -> None:
    program = program_of([Buffer(256, "r5", is_input=True)])
    plan = plan_of(program, "0@5", [(0, 0, 0, 7)], [(0, "out", 2, 7)])
    assert rule_of(program, plan) == "liveness"

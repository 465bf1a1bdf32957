"""One minimal broken plan per rule beside a valid plan near the edge; straight-line programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.plan.check import RULES, check
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.program.model import Program
from tests.plan.cases import HARDWARE, Buffer, plan_of, program_of, with_slow_writes

PROGRAM = program_of(
    [
        Buffer(256, "r1 r5 r5", is_input=True),
        Buffer(256, "w2 r4 r6"),
        Buffer(512, "w3 r7", is_live_out=True),
        Buffer(128, "w8", may_be_fast=False),
    ],
    reserved={4: 256},
)
FAST = "0@5 1@2 1@4 1@6 2@3 2@7"
STAYS = [(0, 256, 2, 6), (1, 512, 2, 7), (2, 896, 3, 10)]
COPIES = [(0, "in", 2, 5), (2, "out", 4, 10)]
VALID = plan_of(PROGRAM, FAST, STAYS, COPIES)


def rule_of(program: Program, plan: Plan) -> str | None:
    violation = check(program, plan)
    return violation.rule if violation else None


def with_stay(index: int, **changes: int) -> Plan:
    stays = list(VALID.stays)
    stays[index] = replace(stays[index], **changes)
    return replace(VALID, stays=tuple(stays))


def with_copy(index: int, **changes: int) -> Plan:
    copies = list(VALID.copies)
    copies[index] = replace(copies[index], **changes)
    return replace(VALID, copies=tuple(copies))


def test_valid_plan_at_the_edges() -> None:
    # Offset 256 touches the scratch of slot 4, all stays touch, the last one ends at the top.
    assert check(PROGRAM, VALID) is None


def test_rules_are_those_of_the_table() -> None:
    assert RULES[0] == "wrong-program"
    assert RULES[-1] == "live-out-lost"
    assert len(set(RULES)) == 14


def test_wrong_program() -> None:
    violation = check(PROGRAM, replace(VALID, program_hash="0" * 16))
    assert violation is not None
    assert violation.rule == "wrong-program"
    assert "0" * 16 in violation.message


@pytest.mark.parametrize(
    "plan",
    [
        replace(VALID, is_fast=VALID.is_fast[:-1]),
        replace(VALID, is_fast=(*VALID.is_fast, True)),
        with_stay(0, group=4),
        with_stay(0, group=-1),
        with_stay(0, start=-2),
        with_stay(0, start=6),
        with_stay(2, end=11),
        with_copy(0, group=4),
        with_copy(0, start=-1),
        with_copy(0, start=6),
        with_copy(1, deadline=11),
    ],
)
def test_unknown_access(plan: Plan) -> None:
    assert rule_of(PROGRAM, plan) == "unknown-access"


@pytest.mark.parametrize(
    "plan",
    [
        with_stay(2, offset=1024),
        with_stay(0, offset=-128),
        replace(VALID, stays=(*VALID.stays, Stay(3, 0, 8, 9))),
    ],
)
def test_capacity(plan: Plan) -> None:
    assert rule_of(PROGRAM, plan) == "capacity"


def test_alignment() -> None:
    assert rule_of(PROGRAM, with_stay(1, offset=576)) == "alignment"
    assert rule_of(PROGRAM, with_stay(1, offset=640)) is None


def test_reserved() -> None:
    violation = check(PROGRAM, with_stay(0, offset=128))
    assert violation is not None
    assert (violation.rule, violation.time, violation.group) == ("reserved", 4, 0)
    # Out of slot 4, the same bytes are free.
    late = plan_of(PROGRAM, "0@5", [(0, 0, 5, 6)], [(0, "in", 5, 5)])
    assert check(PROGRAM, late) is None


def test_a_single_byte_in_the_scratch_of_the_first_instruction() -> None:
    program = program_of([Buffer(1, "r0 r1", is_input=True)], reserved={0: 128})
    violation = check(program, plan_of(program, "", [(0, 0, 0, 1)]))
    assert violation is not None
    assert (violation.rule, violation.time, violation.group) == ("reserved", 0, 0)


def test_of_two_violations_of_one_rule_the_earlier_is_told() -> None:
    program = program_of([Buffer(256, "r1 r5", is_input=True), Buffer(256, "r0 r3", is_input=True)])
    kept = plan_of(program, "", [(0, 0, BEFORE_START, 1)])
    violation = check(program, kept)
    assert violation is not None
    assert (violation.rule, violation.time) == ("liveness", 1)
    violation = check(program, plan_of(program, "1@0", [(0, 0, BEFORE_START, 1)]))
    assert violation is not None
    assert (violation.rule, violation.time, violation.group) == ("liveness", 0, 1)


def test_overlap() -> None:
    assert rule_of(PROGRAM, with_stay(1, offset=384)) == "overlap"
    assert rule_of(PROGRAM, with_stay(0, offset=768)) == "overlap"
    twice = replace(VALID, stays=(*VALID.stays, Stay(0, 0, 5, 6)))
    assert rule_of(PROGRAM, twice) == "overlap"


def test_stays_that_follow_one_another_share_bytes() -> None:
    program = program_of([Buffer(256, "w1 r2"), Buffer(256, "w3 r4")])
    stays = [(0, 0, 1, 3), (1, 0, 3, 5)]
    assert check(program, plan_of(program, "0@1 0@2 1@3 1@4", stays)) is None
    stays[0] = (0, 0, 1, 4)
    assert rule_of(program, plan_of(program, "0@1 0@2 1@3 1@4", stays)) == "overlap"


def test_groups_without_bytes_never_overlap() -> None:
    program = program_of([Buffer(256, "w1 r2"), Buffer(0, "w1 r2")], reserved={1: 128})
    stays = [(0, 128, 1, 3), (1, 0, 1, 3)]
    assert check(program, plan_of(program, "0@1 0@2 1@1 1@2", stays)) is None


def test_alias() -> None:
    flags = list(VALID.is_fast)
    split = next(i for i, a in enumerate(PROGRAM.accesses) if (a.time, a.value) == (5, 0))
    flags[split] = False
    assert rule_of(PROGRAM, replace(VALID, is_fast=tuple(flags))) == "alias"


def test_must_be_slow() -> None:
    program = with_slow_writes(program_of([Buffer(256, "w2 r4 r6")]), 2)
    assert rule_of(program, plan_of(program, "0@2 0@4 0@6", [(0, 0, 2, 7)])) == "must-be-slow"
    fetched = plan_of(program, "0@4 0@6", [(0, 0, 3, 7)], [(0, "in", 3, 4)])
    assert check(program, fetched) is None


def test_alias_of_an_update_in_place() -> None:
    program = program_of([Buffer(256, "r1 w1 r2", is_input=True)])
    copies = [(0, "in", 0, 1)]
    valid = plan_of(program, "0@1 0@2", [(0, 0, 0, 3)], copies)
    assert check(program, valid) is None
    half = replace(valid, is_fast=(False, True, True))
    assert rule_of(program, half) == "alias"
    no_input = plan_of(program, "0@1 0@2", [(0, 0, 0, 3)])
    assert rule_of(program, no_input) == "liveness"


@pytest.mark.parametrize(
    "plan",
    [
        with_stay(0, end=5),
        with_stay(1, start=1),
        with_stay(1, start=3),
        replace(VALID, copies=VALID.copies[1:]),
        replace(VALID, stays=VALID.stays[1:]),
        replace(VALID, is_fast=tuple(a.time != 8 for a in PROGRAM.accesses)),
    ],
    ids=["ends-early", "before-definition", "begins-late", "no-prefetch", "no-stay", "never-fast"],
)
def test_liveness(plan: Plan) -> None:
    assert rule_of(PROGRAM, plan) == "liveness"


def test_slow_write_ends_the_content() -> None:
    program = program_of([Buffer(256, "r1 w3 r5", is_input=True)])
    stays, copies = [(0, 0, 0, 6)], [(0, "in", 0, 1)]
    assert check(program, plan_of(program, "0@1", stays, copies)) is None
    assert rule_of(program, plan_of(program, "0@1 0@5", stays, copies)) == "liveness"
    again = [*copies, (0, "in", 4, 5)]
    assert check(program, plan_of(program, "0@1 0@5", stays, again)) is None


@pytest.mark.parametrize(
    ("is_input", "start", "rule"),
    [
        (False, 3, "copy-before-data"),  # instruction 3 is only making it
        (True, 2, "copy-before-data"),  # instruction 3 changes it under way
        (True, 4, None),
        (False, 4, None),
    ],
)
def test_prefetch_after_a_slow_write(is_input: bool, start: int, rule: str | None) -> None:
    program = program_of([Buffer(256, "w3 r5", is_input)])
    plan = plan_of(program, "0@5", [(0, 0, start, 6)], [(0, "in", start, 5)])
    assert rule_of(program, plan) == rule


@pytest.mark.parametrize(
    "plan",
    [
        with_copy(1, start=3),
        with_copy(1, start=2),
        with_stay(2, end=9),
        replace(VALID, copies=(*VALID.copies, Copy(3, True, 9, 10))),
        replace(VALID, copies=(*VALID.copies, Copy(1, True, 3, 4))),
        replace(VALID, copies=(*VALID.copies, Copy(0, False, 4, 6))),
    ],
    ids=["while-made", "before-made", "stay-ends", "no-stay", "slow-invalid", "not-yet-there"],
)
def test_copy_before_data(plan: Plan) -> None:
    assert rule_of(PROGRAM, plan) == "copy-before-data"


@pytest.mark.parametrize(("is_input", "rule"), [(False, "copy-before-data"), (True, None)])
def test_nothing_is_fetched_that_the_first_instruction_is_yet_to_make(
    is_input: bool, rule: str | None
) -> None:
    """Into a stay that the write then fills all the same."""
    program = program_of([Buffer(256, "w3 r5", is_input)])
    plan = plan_of(program, "0@3 0@5", [(0, 0, 3, 6)], [(0, "in", 3, 3)])
    assert rule_of(program, plan) == rule


def test_write_back_torn_by_a_write() -> None:
    program = program_of([Buffer(256, "w1 r4 w4", is_live_out=True)])
    stays = [(0, 0, 1, 7)]
    torn = plan_of(program, "0@1 0@4", stays, [(0, "out", 2, 6), (0, "out", 6, 7)])
    whole = plan_of(program, "0@1 0@4", stays, [(0, "out", 2, 4), (0, "out", 5, 7)])
    assert rule_of(program, torn) == "copy-before-data"
    assert check(program, whole) is None
    only_first = replace(whole, copies=whole.copies[:1])
    assert rule_of(program, only_first) == "live-out-lost"


def test_copy_late_prefetch() -> None:
    assert rule_of(PROGRAM, with_copy(0, deadline=6)) == "copy-late"


@pytest.mark.parametrize(
    ("copies", "end", "rule"),
    [
        ([], 5, "copy-late"),
        ([(1, "out", 5, 6)], 6, None),
        ([(1, "out", 5, 7)], 7, "copy-late"),
        ([(1, "out", 6, 6)], 6, None),
        ([(1, "out", 3, 6)], 6, None),
    ],
)
def test_copy_late_slow_read(
    copies: list[tuple[int, str, int, int]], end: int, rule: str | None
) -> None:
    stays = [(1, 512, 2, end)]
    assert rule_of(PROGRAM, plan_of(PROGRAM, "1@2 1@4", stays, copies)) == rule


def test_slow_read_beside_a_clean_stay() -> None:
    program = program_of([Buffer(256, "r1 r3 r5", is_input=True)])
    plan = plan_of(program, "0@1 0@5", [(0, 0, 0, 6)], [(0, "in", 0, 1)])
    assert check(program, plan) is None


def test_live_out_lost() -> None:
    assert rule_of(PROGRAM, replace(VALID, copies=VALID.copies[:1])) == "live-out-lost"
    late = with_copy(1, start=10)
    assert check(PROGRAM, late) is None


def test_moving_between_stays_through_slow_memory() -> None:
    program = program_of([Buffer(256, "w1 r6", is_live_out=True)])
    stays = [(0, 0, 1, 4), (0, 512, 4, 7)]
    copies = [(0, "out", 2, 4), (0, "in", 4, 6)]
    assert check(program, plan_of(program, "0@1 0@6", stays, copies)) is None
    assert rule_of(program, plan_of(program, "0@1 0@6", stays, copies[:1])) == "liveness"
    overtaking = [(0, "out", 2, 4), (0, "in", 3, 6)]
    one_stay = plan_of(program, "0@1 0@6", [(0, 0, 1, 7)], overtaking)
    assert rule_of(program, one_stay) == "copy-before-data"


class TestCrossProgram:
    program = program_of(
        [
            Buffer(256, "r1 r4", is_input=True),
            Buffer(256, "r2", is_input=True),
            Buffer(256, "r2 r5 w5", is_input=True),
            Buffer(256, "w3 r5"),
        ],
        hardware=replace(HARDWARE, max_cross_program_prefetches=1),
    )

    def rule(self, *args: object) -> str | None:
        return rule_of(self.program, plan_of(self.program, *args))  # type: ignore[arg-type]

    def test_to_the_end(self) -> None:
        assert self.rule("0@1 0@4", [(0, 0, -1, 10)]) is None
        assert self.rule("0@1 0@4", [(0, 0, -1, 9)]) == "liveness"

    @pytest.mark.parametrize(
        ("stay", "copy", "rule"),
        [
            ((0, 0, 7, 10), (0, "in", 7, 10), None),
            ((0, 0, 7, 10), (0, "in", 10, 10), None),
            ((0, 128, 7, 10), (0, "in", 7, 10), "liveness"),
            ((0, 0, 7, 10), (0, "in", 7, 9), "liveness"),
            ((0, 0, 7, 9), (0, "in", 7, 9), "liveness"),
            ((0, 0, 7, 10), (0, "in", 6, 10), "liveness"),
        ],
    )
    def test_brought_back(
        self, stay: tuple[int, ...], copy: tuple[int, str, int, int], rule: str | None
    ) -> None:
        others = [(0, 0, -1, 3), (3, 0, 3, 6)]
        assert self.rule("0@1 3@3 3@5", [*others, stay], [copy]) == rule

    def test_only_unwritten_inputs(self) -> None:
        assert self.rule("2@2", [(2, 0, -1, 10)]) == "liveness"
        assert self.rule("3@5", [(3, 0, -1, 10)]) == "liveness"

    def test_only_so_many(self) -> None:
        stays = [(0, 0, -1, 10), (1, 256, -1, 10)]
        assert self.rule("0@1 1@2", stays) == "liveness"
        assert self.rule("0@1", stays[:1]) is None


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(("size", "rule"), [(0, None), (1, "overlap")])
def test_an_empty_group_takes_no_place_and_a_byte_does(
    size: int, rule: str | None, is_turned: bool
) -> None:
    program = program_of([Buffer(256, "r1", is_input=True), Buffer(size, "r1", is_input=True)])
    stays = [(0, 0, 1, 3), (1, 128, 1, 3)]
    found = rule_of(program, plan_of(program, "", stays[::-1] if is_turned else stays))
    assert found == rule


def test_the_stay_that_is_met_is_named() -> None:
    program = program_of([Buffer(256, "r1 r3", is_input=True) for _ in range(3)])
    violation = check(program, plan_of(program, "", [(0, 0, 1, 5), (1, 512, 2, 5), (2, 0, 3, 5)]))
    assert violation is not None
    assert (violation.rule, violation.time, violation.group) == ("overlap", 3, 0)
    assert "group 2 at 0 in slot 3" in violation.message


def test_what_must_be_slow_is_named() -> None:
    program = program_of([Buffer(256, "r1", is_input=True), Buffer(256, "w2 r4")])
    program = with_slow_writes(program, 2)
    violation = check(program, plan_of(program, "1@2", [(1, 0, 2, 5)]))
    assert violation is not None
    assert (violation.rule, violation.time, violation.group) == ("must-be-slow", 2, 1)
    assert violation.message == "instruction 2 cannot serve group 1 from fast memory"

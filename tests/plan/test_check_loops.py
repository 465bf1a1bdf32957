"""The referee on loops: what one iteration leaves behind must suit the next one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.plan.check import check
from engine.program.model import Program, Region
from tests.plan.cases import Buffer, plan_of, program_of

LOOP = Region("body", 3, 7, 5.0)
IN_OUT = tuple[int, str, int, int]
STAY = tuple[int, int, int, int]


def rule(
    program: Program, fast: str, stays: list[STAY], copies: list[IN_OUT] | None = None
) -> str | None:
    violation = check(program, plan_of(program, fast, stays, copies or []))
    return violation.rule if violation else None


class TestCarried:
    """Made before the loop, read and replaced in it, read after it."""

    program = program_of([Buffer(256, "w1 r4 w5 r8")], regions=[LOOP])

    def test_one_stay_covers_the_loop(self) -> None:
        assert rule(self.program, "0@1 0@4 0@5 0@8", [(0, 0, 1, 9)]) is None

    @pytest.mark.parametrize("end", [6, 7])
    def test_a_stay_from_before_must_cover_the_loop(self, end: int) -> None:
        copies = [(0, "out", 6, end)]
        expected = "region" if end < 7 else None
        assert rule(self.program, "0@1 0@4 0@5", [(0, 0, 1, end)], copies) == expected

    def test_write_back_after_the_loop(self) -> None:
        fast, stays = "0@1 0@4 0@5", [(0, 0, 1, 8)]
        assert rule(self.program, fast, stays, [(0, "out", 7, 8)]) is None
        assert rule(self.program, fast, stays) == "copy-late"

    def test_stay_before_the_loop_is_written_back(self) -> None:
        assert rule(self.program, "0@1", [(0, 0, 1, 3)], [(0, "out", 2, 2)]) is None
        assert rule(self.program, "0@1", [(0, 0, 1, 3)]) == "copy-late"

    @pytest.mark.parametrize(
        ("copies", "expected"),
        [
            ([(0, "in", 3, 4), (0, "out", 6, 7)], None),
            ([(0, "in", 3, 4), (0, "out", 7, 7)], None),
            ([(0, "in", 3, 4)], "copy-before-data"),  # of the second iteration
            ([(0, "in", 3, 4), (0, "out", 5, 7)], "copy-before-data"),
        ],
    )
    def test_stay_within_each_iteration(self, copies: list[IN_OUT], expected: str | None) -> None:
        assert rule(self.program, "0@4 0@5", [(0, 0, 3, 7)], copies) == expected

    def test_stay_of_one_iteration_is_lost_at_its_end(self) -> None:
        copies = [(0, "in", 4, 4), (0, "out", 6, 7)]
        assert rule(self.program, "0@4 0@5", [(0, 0, 4, 7)], copies) is None
        assert rule(self.program, "0@4 0@5", [(0, 0, 4, 8)], copies) == "region"


def test_second_iteration_reads_what_the_first_left_dirty() -> None:
    program = program_of([Buffer(256, "r3 r4 w5", is_input=True)], regions=[LOOP])
    fast, stays, before = "0@4 0@5", [(0, 0, 1, 7)], (0, "in", 1, 2)
    # In the first iteration slow memory is up to date at slot 3, in the second it is not.
    assert rule(program, fast, stays, [before]) == "copy-late"
    assert rule(program, fast, stays, [before, (0, "out", 6, 7)]) is None


def test_second_iteration_misses_what_a_slow_write_ended() -> None:
    program = program_of([Buffer(256, "r3 w5", is_input=True)], regions=[LOOP])
    assert rule(program, "0@3", [(0, 0, 1, 7)], [(0, "in", 1, 2)]) == "liveness"
    again = [(0, "in", 1, 2), (0, "in", 6, 7)]
    assert rule(program, "0@3", [(0, 0, 1, 7)], again) is None


def test_second_iteration_prefetches_over_newer_content() -> None:
    program = program_of([Buffer(256, "r4 w5 r8", is_input=True)], regions=[LOOP])
    stays, copies = [(0, 0, 1, 9)], [(0, "in", 3, 4)]
    assert rule(program, "0@4 0@5 0@8", stays, copies) == "copy-before-data"
    copies.append((0, "out", 6, 7))
    assert rule(program, "0@4 0@5 0@8", stays, copies) is None


def test_values_of_one_iteration_need_no_slow_copy() -> None:
    program = program_of([Buffer(256, "w4 r5")], regions=[LOOP])
    assert rule(program, "0@4 0@5", [(0, 0, 4, 6)]) is None


def test_result_of_a_loop_needs_its_slow_copy() -> None:
    program = program_of([Buffer(256, "w4 r8")], regions=[LOOP])
    assert rule(program, "0@4", [(0, 0, 4, 7)]) == "copy-late"
    assert rule(program, "0@4", [(0, 0, 4, 7)], [(0, "out", 5, 7)]) is None
    fast, stays = "0@4 0@8", [(0, 0, 4, 7), (0, 0, 7, 9)]
    copies = [(0, "out", 5, 7), (0, "in", 7, 8)]
    assert rule(program, fast, stays, copies) is None
    assert rule(program, fast, stays, copies[1:]) == "copy-before-data"


def test_result_of_a_loop_stays_where_it_is_made() -> None:
    program = program_of([Buffer(256, "w4 r8")], regions=[LOOP])
    assert rule(program, "0@4 0@8", [(0, 0, 4, 9)]) == "region"
    inside = program_of([Buffer(256, "w3 r8")], regions=[LOOP])
    # Begins with the loop and outlasts it: one place for all iterations and what follows.
    assert rule(inside, "0@3 0@8", [(0, 0, 3, 9)]) is None
    assert rule(inside, "0@3", [(0, 0, 3, 7)]) == "copy-late"


BRANCHES = [Region("if[0]", 2, 5, 0.5, kind="branch"), Region("if[1]", 5, 7, 0.5, kind="branch")]


def test_what_branches_return_stays_where_it_is_made() -> None:
    program = program_of([Buffer(256, "w3 w6 r8")], regions=BRANCHES)
    fast = "0@3 0@6 0@8"
    assert rule(program, fast, [(0, 0, 3, 9)]) is None
    assert rule(program, fast, [(0, 0, 2, 9)]) == "liveness"
    # A place for each branch, and none for what the first one made.
    assert rule(program, fast, [(0, 0, 3, 5), (0, 0, 6, 9)]) == "live-out-lost"


@pytest.mark.parametrize(
    ("touches", "fast", "stays", "copies"),
    [
        # Where the other branch runs, the stay has no content after it.
        ("w1 r3 r8", "0@3 0@8", [(0, 0, 2, 9)], [(0, "in", 2, 3)]),
        ("w3 w6 r8", "0@6 0@8", [(0, 0, 6, 9)], []),
        # It reads what was there before, not what the first branch wrote.
        ("w1 w3 r6 r8", "0@3 0@6 0@8", [(0, 0, 3, 9)], []),
        # It keeps what the first branch would overwrite.
        ("w1 w3 r8", "0@1", [(0, 0, 1, 2)], []),
        ("w1 w3 r8", "0@3 0@8", [(0, 0, 3, 9)], []),
    ],
)
def test_a_plan_must_do_for_each_branch_alone(
    touches: str, fast: str, stays: list[STAY], copies: list[IN_OUT]
) -> None:
    program = program_of([Buffer(256, touches)], regions=BRANCHES)
    assert rule(program, fast, stays, copies) is not None
    assert rule(program, "", [], []) is None


def test_a_branch_does_not_begin_again_with_what_it_left() -> None:
    """A loop does: there the second iteration misses what the slow write of the first ended."""
    buffer = Buffer(256, "w1 r3 w4 r8")
    fast, stays, copies = "0@1 0@3", [(0, 0, 1, 5)], [(0, "out", 2, 2)]
    assert rule(program_of([buffer], regions=BRANCHES[:1]), fast, stays, copies) is None
    around = [Region("w", 1, 7, 5.0), replace(BRANCHES[0], multiplicity=2.5, parent=0)]
    assert rule(program_of([buffer], regions=around), fast, stays, copies) is None
    loop = [replace(BRANCHES[0], kind="while", multiplicity=5.0)]
    assert rule(program_of([buffer], regions=loop), fast, stays, copies) == "liveness"


def test_a_stay_from_before_a_conditional_serves_all_its_branches() -> None:
    program = program_of([Buffer(256, "w1 w3 r6 r8")], regions=BRANCHES)
    assert rule(program, "0@1 0@3 0@6 0@8", [(0, 0, 1, 9)]) is None
    # Given up between the branches: written back at the end of the first, or before the other.
    fast, stays = "0@1 0@3", [(0, 0, 1, 5)]
    assert rule(program, fast, stays, [(0, "out", 5, 5)]) is None
    assert rule(program, fast, stays) == "copy-late"
    # A prefetch that starts in a branch brings nothing where another one runs.
    assert rule(program, "0@6 0@8", [(0, 0, 5, 9)], [(0, "in", 5, 5)]) == "liveness"
    assert rule(program, "0@6", [(0, 0, 5, 7)], [(0, "in", 5, 5)]) is None


def test_branches_of_different_conditionals_may_both_run() -> None:
    apart = [Region("if[0]", 2, 5, 0.5, kind="branch"), Region("or[1]", 5, 7, 0.5, kind="branch")]
    program = program_of([Buffer(256, "w3 w6 r8")], regions=apart)
    assert [len(c.branches) for c in program.conditionals] == [1, 1]
    assert not any(c.is_whole for c in program.conditionals)
    # The second conditional has another branch, which leaves the content alone.
    assert [t.reads for t in program.touches] == [False, True, True]


def test_conditionals_in_a_branch_do_not_part_its_own() -> None:
    regions = [
        Region("if[0]", 1, 4, 0.5, kind="branch"),
        Region("in[0]", 1, 2, 0.25, 0, "branch"),
        Region("in[1]", 2, 3, 0.25, 0, "branch"),
        Region("if[1]", 4, 5, 0.5, kind="branch"),
        # Inlined once more.
        Region("if[0]", 5, 6, 0.5, kind="branch"),
    ]
    program = program_of([Buffer(256, "w0 r8")], regions=regions)
    assert [c.branches for c in program.conditionals] == [(0, 3), (1, 2), (4,)]
    assert [c.is_whole for c in program.conditionals] == [True, True, False]
    assert (program.conditionals[0].start, program.conditionals[0].end) == (1, 5)


ENDS = [Region("if[0]", 3, 6, 0.5, kind="branch"), Region("if[1]", 6, 9, 0.5, kind="branch")]
LAST, BACK = [Region("if[0]", 6, 9, 0.5, kind="branch")], [(0, 0, -1, 2), (0, 0, 6, 9)]


@pytest.mark.parametrize(
    ("regions", "stays", "copies", "expected"),
    [
        (LAST, BACK, [(0, "in", 6, 9)], "liveness"),
        (LAST, [(0, 0, -1, 2), (0, 0, 5, 9)], [(0, "in", 7, 9)], "liveness"),
        # After the branch, or around it.
        (LAST, BACK, [(0, "in", 9, 9)], None),
        (LAST, [(0, 0, -1, 2), (0, 0, 5, 9)], [(0, "in", 5, 9)], None),
        # Each branch brings it back, or only one of them.
        (ENDS, [(0, 0, -1, 2), (0, 0, 4, 9)], [(0, "in", 4, 6), (0, "in", 7, 9)], None),
        (ENDS, [(0, 0, -1, 2), (0, 0, 4, 9)], [(0, "in", 7, 9)], "liveness"),
        ([replace(LOOP, start=6, end=9)], BACK, [(0, "in", 6, 9)], None),
        (
            [replace(LOOP, start=6, end=9, is_trip_count_known=False)],
            BACK,
            [(0, "in", 6, 9)],
            "liveness",
        ),
    ],
)
def test_a_kept_input_is_brought_back_whichever_code_runs(
    regions: list[Region], stays: list[STAY], copies: list[IN_OUT], expected: str | None
) -> None:
    program = program_of([Buffer(256, "r1", is_input=True)], slots=9, regions=regions)
    assert rule(program, "0@1", stays, copies) == expected


def test_a_loop_of_unknown_length_may_not_run() -> None:
    unknown = replace(LOOP, is_trip_count_known=False)
    buffers = [Buffer(256, "w1 w3 r8")]
    known, may_not_run = (program_of(buffers, regions=[region]) for region in (LOOP, unknown))
    # What was made before is written back, or kept in place, though the loop overwrites it.
    fast, stays = "0@1", [(0, 0, 1, 2)]
    assert rule(known, fast, stays) is None
    assert rule(may_not_run, fast, stays) == "copy-late"
    assert rule(may_not_run, fast, stays, [(0, "out", 2, 2)]) is None
    for program in (known, may_not_run):
        assert rule(program, "0@1 0@3 0@8", [(0, 0, 1, 9)]) is None
    # Filled in the loop alone.
    read = program_of([Buffer(256, "r4 w5 r8", is_input=True)], regions=[unknown])
    assert rule(read, "0@5 0@8", [(0, 0, 2, 9)], [(0, "out", 6, 7)]) == "liveness"
    assert rule(read, "0@4 0@5 0@8", [(0, 0, 1, 9)], [(0, "in", 1, 3)]) is None


def test_what_all_branches_overwrite_is_gone() -> None:
    program = program_of([Buffer(256, "w1 w3 w6 r8")], regions=BRANCHES)
    assert not program.touches[1].reads
    assert rule(program, "0@1", [(0, 0, 1, 2)]) is None
    missing = [BRANCHES[0], Region("if[1]", 5, 7, 1 / 3, kind="branch")]
    program = program_of([Buffer(256, "w1 w3 w6 r8")], regions=missing)
    assert program.touches[1].reads
    assert rule(program, "0@1", [(0, 0, 1, 2)]) == "copy-late"


def test_what_a_branch_within_a_branch_overwrites_is_kept_where_it_does_not_run() -> None:
    inner = Region("in[0]", 5, 6, 0.25, parent=1, kind="branch")
    program = program_of([Buffer(256, "w1 w3 w5 r8")], regions=[*BRANCHES, inner])
    assert [t.reads for t in program.touches] == [False, True, True, True]
    assert rule(program, "0@1", [(0, 0, 1, 2)]) == "copy-late"
    always = replace(inner, multiplicity=0.5)
    program = program_of([Buffer(256, "w1 w3 w5 r8")], regions=[*BRANCHES, always])
    assert [t.reads for t in program.touches] == [False, False, False, True]
    assert rule(program, "0@1", [(0, 0, 1, 2)]) is None


def test_what_a_branch_in_a_loop_returns_ends_with_the_loop() -> None:
    outer = Region("body", 1, 8, 5.0)
    inner = [Region(b.name, b.start, b.end, 2.5, parent=0, kind=b.kind) for b in BRANCHES]
    inside = program_of([Buffer(256, "w3 r7")], regions=[outer, *inner])
    assert rule(inside, "0@3 0@7", [(0, 0, 3, 8)]) is None
    after = program_of([Buffer(256, "w3 r8")], regions=[outer, *inner])
    assert rule(after, "0@3 0@8", [(0, 0, 3, 9)]) == "region"


@pytest.mark.parametrize("is_live_out", [False, True])
def test_sink_at_the_end_of_a_loop(is_live_out: bool) -> None:
    touches = "w4" if is_live_out else "w4 w8"
    program = program_of([Buffer(256, touches, is_live_out=is_live_out)], regions=[LOOP])
    violation = check(program, plan_of(program, "0@4", [(0, 0, 4, 7)]))
    assert violation is not None
    assert (violation.rule, violation.time, violation.group) == ("live-out-lost", 7, 0)
    assert rule(program, "0@4", [(0, 0, 4, 7)], [(0, "out", 5, 7)]) is None
    assert rule(program, "0@4", [(0, 0, 4, 7)], [(0, "out", 7, 7)]) is None


class TestCopies:
    """An input that only the loop reads, and one that is read after it."""

    program = program_of(
        [Buffer(256, "r5", is_input=True), Buffer(256, "r8", is_input=True)], regions=[LOOP]
    )

    @pytest.mark.parametrize(
        ("stay", "copy", "expected"),
        [
            ((0, 0, 1, 7), (0, "in", 1, 2), None),  # once, before the loop
            ((0, 0, 3, 6), (0, "in", 3, 5), None),  # in every iteration
            ((0, 0, 1, 7), (0, "in", 1, 4), "region"),
            ((0, 0, 1, 7), (0, "in", 1, 3), None),  # complete before the loop begins
            ((0, 0, 1, 6), (0, "in", 1, 2), "region"),
            ((0, 0, 4, 8), (0, "in", 4, 5), "region"),
            ((0, 0, 3, 8), (0, "in", 3, 5), None),  # begins with the loop and outlasts it
            ((1, 0, 1, 9), (1, "in", 1, 8), None),  # past the loop, through its idle time
            ((1, 0, 3, 9), (1, "in", 3, 8), None),  # begins with the loop and outlasts it
            ((1, 0, 4, 9), (1, "in", 4, 8), "region"),
            ((1, 0, 7, 9), (1, "in", 7, 8), None),
        ],
    )
    def test_levels(self, stay: STAY, copy: IN_OUT, expected: str | None) -> None:
        fast = "0@5" if stay[0] == 0 else "1@8"
        assert rule(self.program, fast, [stay], [copy]) == expected

    def test_a_copy_inside_needs_a_stay_to_the_loops_end(self) -> None:
        program = program_of([Buffer(256, "w1", is_live_out=True)], regions=[LOOP])
        # The second iteration would write back what has come after slot 5 into its place.
        assert rule(program, "0@1", [(0, 0, 1, 5)], [(0, "out", 4, 5)]) == "region"
        assert rule(program, "0@1", [(0, 0, 1, 7)], [(0, "out", 4, 5)]) is None

    def test_write_back_while_the_loop_runs(self) -> None:
        program = program_of([Buffer(256, "w1 r5", is_live_out=False)], regions=[LOOP])
        stays = [(0, 0, 1, 8)]
        assert rule(program, "0@1", stays, [(0, "out", 2, 8)]) == "copy-late"


class TestNests:
    """Two loops that end together, and a value carried by the inner one."""

    regions = (Region("outer", 2, 8, 4.0), Region("inner", 4, 8, 8.0, parent=0))

    def test_carried_by_a_stay_of_the_outer_body(self) -> None:
        program = program_of([Buffer(256, "w3 r5 w6")], regions=self.regions)
        assert rule(program, "0@3 0@5 0@6", [(0, 0, 3, 8)]) is None
        copies = [(0, "in", 4, 5), (0, "out", 7, 8)]
        assert rule(program, "0@5 0@6", [(0, 0, 4, 8)], copies) is None
        assert rule(program, "0@5 0@6", [(0, 0, 4, 8)], copies[:1]) == "copy-before-data"

    def test_needed_after_both(self) -> None:
        buffer = Buffer(256, "w3 r5 w6", is_live_out=True)
        program = program_of([buffer], regions=self.regions)
        fast, stays = "0@3 0@5 0@6", [(0, 0, 3, 8)]
        assert rule(program, fast, stays) == "live-out-lost"
        # Once per iteration of the outer loop, between the two loops' ends.
        assert rule(program, fast, stays, [(0, "out", 8, 8)]) is None
        assert rule(program, fast, stays, [(0, "out", 7, 8)]) is None

    def test_the_same_slots(self) -> None:
        twins = (Region("outer", 2, 8, 4.0), Region("inner", 2, 8, 8.0, parent=0))
        program = program_of([Buffer(256, "w1 r5 w6 r9")], regions=twins)
        assert rule(program, "0@1 0@5 0@6 0@9", [(0, 0, 1, 10)]) is None
        inside = [(0, "in", 4, 5), (0, "out", 7, 8)]
        assert rule(program, "0@5 0@6", [(0, 0, 2, 8)], inside) is None
        assert rule(program, "0@5 0@6", [(0, 0, 2, 8)], inside[:1]) == "copy-before-data"

    def test_deep_nests_are_quick(self) -> None:
        depth = 40
        nest = tuple(
            Region(f"r{i}", i, 2 * depth + 2 - i, 2.0 ** (i + 1), i - 1) for i in range(depth)
        )
        buffer = Buffer(256, f"r{depth} w{depth + 1}", is_input=True)
        program = program_of([buffer], slots=2 * depth + 2, regions=nest)
        # One stay per run of the outermost body serves the innermost one, 2^40 passes deep.
        fast, end = f"0@{depth} 0@{depth + 1}", 2 * depth + 2
        copies = [(0, "in", 0, 0), (0, "out", end, end)]
        assert rule(program, fast, [(0, 0, 0, end)], copies) is None
        assert rule(program, fast, [(0, 0, 0, end)], copies[:1]) == "copy-before-data"

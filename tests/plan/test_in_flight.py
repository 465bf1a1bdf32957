"""The referee on what is started asynchronously: it keeps its place and content to its end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import ProgramFormatError
from engine.plan.check import check
from engine.program.model import Program, Region
from engine.program.validate import validate
from tests.plan.cases import Buffer, plan_of, program_of

IN_OUT = tuple[int, str, int, int]
STAY = tuple[int, int, int, int]


def rule(
    program: Program, fast: str, stays: list[STAY], copies: list[IN_OUT] | None = None
) -> str | None:
    violation = check(program, plan_of(program, fast, stays, copies or []))
    return violation.rule if violation else None


class TestGather:
    """Slot 1 makes what slots 2 to 5 gather; slot 3 makes another of the same size."""

    program = program_of([Buffer(512, "w1 r2+3"), Buffer(512, "w3 r7"), Buffer(512, "w2+3 r7")])

    def test_its_operand_keeps_its_place_until_the_done(self) -> None:
        stays = [(0, 0, 1, 6), (1, 512, 3, 8)]
        assert rule(self.program, "0@1 0@2 1@3 1@7", stays) is None

    @pytest.mark.parametrize("end", [3, 4, 5])
    def test_its_operand_may_not_leave(self, end: int) -> None:
        assert rule(self.program, "0@1 0@2", [(0, 0, 1, end)]) == "in-flight"

    def test_its_place_may_not_be_given_away(self) -> None:
        stays = [(0, 0, 1, 6), (1, 0, 3, 8)]
        assert rule(self.program, "0@1 0@2 1@3 1@7", stays) == "overlap"

    def test_its_place_is_free_after_the_done(self) -> None:
        stays, copies = [(0, 0, 1, 6), (1, 0, 6, 8)], [(1, "in", 6, 7)]
        assert rule(self.program, "0@1 0@2 1@7", stays, copies) is None

    def test_its_result_has_its_place_from_the_start(self) -> None:
        assert rule(self.program, "2@2 2@7", [(2, 0, 2, 8)]) is None
        assert rule(self.program, "2@2", [(2, 0, 2, 5)]) == "in-flight"
        copies = [(2, "in", 6, 7)]
        assert rule(self.program, "2@7", [(2, 0, 6, 8)], copies) is None, "copied in afterwards"

    @pytest.mark.parametrize("start", [3, 4, 5])
    def test_its_result_may_not_be_copied_before_the_done(self, start: int) -> None:
        prefetch = [(2, "in", start, 7)]
        assert rule(self.program, "2@7", [(2, 0, start, 8)], prefetch) == "copy-before-data"
        write_back = [(2, "out", start, 7)]
        assert rule(self.program, "2@2", [(2, 0, 2, 7)], write_back) == "copy-before-data"

    def test_its_result_may_be_written_back_afterwards(self) -> None:
        assert rule(self.program, "2@2", [(2, 0, 2, 7)], [(2, "out", 6, 7)]) is None
        assert rule(self.program, "2@2", [(2, 0, 2, 6)], [(2, "out", 6, 6)]) is None

    def test_where_its_operand_is_slow_it_may_be_anywhere_else(self) -> None:
        assert rule(self.program, "0@1", [(0, 0, 1, 2)], [(0, "out", 2, 2)]) is None
        assert rule(self.program, "0@1", [(0, 0, 1, 3)], [(0, "out", 2, 3)]) == "copy-late"


def test_others_may_read_what_is_read_in_flight() -> None:
    program = program_of([Buffer(256, "r2+5 r4", is_input=True)])
    assert rule(program, "0@2 0@4", [(0, 0, 0, 8)], [(0, "in", 0, 2)]) is None
    assert rule(program, "0@2", [(0, 0, 0, 8)], [(0, "in", 0, 2)]) is None
    assert rule(program, "0@4", [(0, 0, 2, 5)], [(0, "in", 2, 4)]) is None
    assert rule(program, "0@2 0@4", [(0, 0, 0, 5)], [(0, "in", 0, 2)]) == "in-flight"


def test_in_place_in_flight() -> None:
    program = program_of([Buffer(256, "w1 r2+3 w2+3 r7", is_live_out=True)])
    fast = "0@1 0@2 0@7"
    assert rule(program, fast, [(0, 0, 1, 9)], [(0, "out", 6, 9)]) is None
    assert rule(program, fast, [(0, 0, 1, 9)], [(0, "out", 5, 9)]) == "copy-before-data"
    slow = [(0, 0, 1, 3)], [(0, "out", 2, 2)]
    assert rule(program, "0@1", *slow) is None


def test_a_flight_over_a_loop_holds_its_place_through_it() -> None:
    loop = Region("body", 3, 6, 5.0)
    program = program_of([Buffer(256, "w1 r2+4"), Buffer(1408, "r4", is_input=True)], 9, [loop])
    assert rule(program, "0@1 0@2", [(0, 0, 1, 7)]) is None
    assert rule(program, "0@1 0@2", [(0, 0, 1, 3)]) == "in-flight"


def test_each_iteration_has_its_own_flight() -> None:
    loop = Region("body", 1, 6, 5.0)
    program = program_of([Buffer(256, "w1 r2+3")], 9, [loop])
    assert rule(program, "0@1 0@2", [(0, 0, 1, 6)]) is None
    assert rule(program, "0@1 0@2", [(0, 0, 1, 5)]) == "in-flight"


@pytest.mark.parametrize(
    ("touches", "told"),
    [
        ("w1+3 r2", "while it is written"),
        ("w0 r1+3 w3", "while it is written"),
        ("w0 w1+2 w3", "while it is written"),
        ("w0 r1+3", "another level"),
        ("w0 r3+4", "another level"),
        ("w0 r7+9", "another level"),
    ],
)
def test_programs_in_which_something_gets_in_between_are_refused(touches: str, told: str) -> None:
    loop = Region("body", 2, 6, 5.0)
    with pytest.raises(ProgramFormatError, match=told):
        program_of([Buffer(256, touches)], 9, [loop] if told == "another level" else [])


def test_a_negative_flight_is_refused() -> None:
    program = program_of([Buffer(256, "w1 r2")])
    accesses = (program.accesses[0], replace(program.accesses[1], in_flight=-1))
    with pytest.raises(ProgramFormatError, match="slots in flight"):
        validate(replace(program, accesses=accesses), "x")

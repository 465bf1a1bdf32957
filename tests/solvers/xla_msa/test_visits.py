"""Groups as trees of loops, and slots by level."""

from __future__ import annotations

from engine.program.model import TOP_LEVEL, Region
from engine.solvers.xla_msa.slots import Levels, Visit, VisitTree
from tests.solvers.xla_msa.programs import Tensor, program_of

REGIONS = [
    Region("outer", 1, 6, 2.0),
    Region("inner", 2, 4, 4.0, 0),
    Region("branch", 7, 9, 0.5, kind="branch"),
]


def test_a_visit_nests_like_the_regions() -> None:
    touches = [(0, "w", 1.0), (1, "r", 1.0), (2, "r", 1.0), (3, "rw", 1.0), (8, "r", 1.0)]
    program = program_of([Tensor(1, touches)], 10, REGIONS)
    inner = Visit(1, (2, 3), (2, 3), True)
    outer = Visit(0, (1, inner), (1, 2, 3), True)
    branch = Visit(2, (4,), (4,), False)
    expected = Visit(TOP_LEVEL, (0, outer, branch), (0, 1, 2, 3, 4), False)
    assert VisitTree(program, Levels(program)).of(0) == expected


def test_slots_of_a_level() -> None:
    levels = Levels(program_of([Tensor(1, [(0, "w", 1.0)])], 10, REGIONS))
    assert levels.slots[0] == [1, 4, 5]
    assert levels.first_from(0, 2) == 4
    assert levels.first_from(0, 6) is None
    assert levels.last_until(0, 3) == 1
    assert levels.last_until(0, 6) == 6, "the end of its own region"
    assert levels.last_until(1, 1) is None
    assert levels.last_until(TOP_LEVEL, 10) == 10
    assert [levels.start(level) for level in (TOP_LEVEL, 0, 1, 2)] == [0, 1, 2, 7]
    assert [levels.loop_depth(level) for level in (TOP_LEVEL, 0, 1, 2)] == [0, 1, 2, 0]

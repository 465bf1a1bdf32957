"""Version 1 of the rules beside today's: programs that both can tell, and the lead in words."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.rules import WARM_UP_S, summary, without_floors
from engine.program import library
from engine.program.model import Program
from engine.solvers.evolution import COMPILE_S


def with_floor(program: Program) -> Program:
    instructions = list(program.instructions)
    instructions[0] = replace(instructions[0], floor_s=1.0)
    accesses = list(program.accesses)
    accesses[0] = replace(accesses[0], saving_s=-1.0)
    return replace(program, instructions=tuple(instructions), accesses=tuple(accesses))


def test_floors_and_slower_writes_are_left_out() -> None:
    program = library.load_sample("teach-keep-or-drop")
    plain = without_floors(with_floor(program))
    assert plain.least_s == plain.fastest_s == tuple(i.fast_s for i in program.instructions)
    assert plain.accesses[0].saving_s == 0.0
    assert plain.accesses[1:] == program.accesses[1:]


def test_a_program_without_them_stays_as_it_is() -> None:
    program = library.load_sample("teach-keep-or-drop")
    assert without_floors(program) == program


def test_the_lead_is_told_with_its_error() -> None:
    rows = [
        {"program": "a", "gap_closed": {"version 1": 0.2, "today": 0.5}},
        {"program": "b", "gap_closed": {"version 1": 0.4, "today": 0.5}},
    ]
    assert summary(rows) == (
        "mean of 2: version 1 30.0%, today 50.0%; ahead by +20.0 ± 10.0 points"
    )


def test_nothing_of_the_measured_time_goes_into_compiling() -> None:
    """The solver compiles only where it has so long, after it has settled its first games."""
    assert WARM_UP_S >= 2 * COMPILE_S

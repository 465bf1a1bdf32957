"""The linear programs prove no less than they did: a row that is lost leaves a bound, a weaker one.

`python -m tests.plan.bounds.test_strength` writes what they prove today, where random programs or
the rules of the game have changed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import highspy
import pytest

from engine.plan.bounds.bound import formulate
from engine.program.io import content_hash
from engine.program.model import Program
from tests.strategies import random_program

KEPT = Path(__file__).parents[2] / "data" / "proven.json"
COUNT = 120
ROUNDING = 1e-7
"""Share of the all-slow latency by which solvers of linear programs may differ."""


def program_of(seed: int) -> Program:
    """A random program; in every third the memory is crowded, in every third copies are slow."""
    program = random_program(seed, 6 + seed % 8, forks=seed % 2 == 0)
    hardware = program.hardware
    if seed % 3 == 1:
        hardware = replace(hardware, fast_bytes=hardware.fast_bytes // 2)
    elif seed % 3 == 2:
        hardware = replace(hardware, bandwidth=hardware.bandwidth / 8)
    return replace(program, hardware=hardware)


def proven(program: Program) -> list[float]:
    """Shares of the all-slow latency: by shares of copies, and by whole ones."""
    bounds = []
    for is_whole in (False, True):
        formulation = formulate(program, is_whole)
        if formulation is not None:
            solver = highspy.Highs()  # type: ignore[no-untyped-call]
            solver.setOptionValue("output_flag", False)
            solver.passModel(formulation.linear.model())
            solver.run()
            assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
            optimum = solver.getInfo().objective_function_value
            bounds.append(formulation.seconds(optimum) / program.all_slow_s)
    return bounds


def kept() -> dict[str, list[float]]:
    found: dict[str, list[float]] = json.loads(KEPT.read_text())
    return found


def test_the_kept_ones_are_of_these_programs() -> None:
    assert list(kept()) == [content_hash(program_of(seed)) for seed in range(COUNT)]


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_linear_program_proves_no_less_than_it_did(seed: int) -> None:
    program = program_of(seed)
    before = kept()[content_hash(program)]
    now = proven(program)
    assert len(now) == len(before)
    for share, least in zip(now, before, strict=True):
        assert share >= least - ROUNDING


if __name__ == "__main__":
    found = {
        content_hash(program): [round(share, 9) for share in proven(program)]
        for program in map(program_of, range(COUNT))
    }
    KEPT.write_text(json.dumps(found, indent=0) + "\n")

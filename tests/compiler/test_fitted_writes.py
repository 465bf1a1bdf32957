"""Writes into fast memory that take longer: their savings are negative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from engine.compiler.costs.calibrate import Fit, fit_costs, pools, total_error, with_costs
from engine.compiler.costs.correct import corrected
from engine.compiler.reading.observation import Observation, observe
from engine.program.hlo.build import Imported, build_program
from engine.program.validate import validate
from tests.compiler.test_calibrate import FIRST, LARGE, SECOND, instruction, observation
from tests.program.hlo.modules import HARDWARE, decoded, module

WRITE, FIRST_READ, SECOND_READ = 2, 3, 6
SAVINGS = np.array([0.0, 0.0, -30_000.0, 20_000.0, 0.0, 0.0, 40_000.0, 0.0, 0.0])
TOGETHER = [WRITE, FIRST_READ, SECOND_READ]


def written_and_read_twice() -> Imported:
    return build_program(
        decoded(
            module(
                f"  a = {FIRST} parameter(0)\n  b = {SECOND} parameter(1)\n"
                + instruction("y", "a, b", 100_000)
                + instruction("v", "y, b", 110_000)
                + instruction("w", "y, b", 120_000)
                + f"  ROOT r = ({LARGE}, {LARGE}) tuple(v, w)"
            )
        ),
        "x",
        HARDWARE,
        "x",
    )


def observed(imported: Imported, *placements: list[int]) -> list[Observation]:
    return [observation(imported, fast, SAVINGS) for fast in placements]


def fitted(imported: Imported, seen: Sequence[Observation]) -> Fit:
    slow = observe(imported, imported.flow)
    return fit_costs(imported.program, pools(imported, slow), slow, seen)


def test_a_write_that_takes_longer_has_a_negative_saving() -> None:
    imported = written_and_read_twice()
    seen = observed(imported, TOGETHER, [WRITE, FIRST_READ], [WRITE], [0])
    fit = fitted(imported, seen)
    assert fit.savings == pytest.approx(SAVINGS, rel=1e-3, abs=1.0)
    assert total_error(imported.program, fit, seen[0]) == pytest.approx(0.0, abs=1e-4)
    program = with_costs(imported.program, fit)
    validate(program, "costly")
    assert program.accesses[WRITE].saving_s < 0 and program.least_s[0] < program.all_slow_s


def test_a_refit_of_a_programs_own_costs_finds_it_too() -> None:
    imported = written_and_read_twice()
    seen = observed(imported, TOGETHER, [WRITE, FIRST_READ], [WRITE], [0])
    program, slow = imported.program, observe(imported, imported.flow)
    paid = np.maximum(SAVINGS, 0.0)
    present = Fit(slow.cycles, np.zeros(program.num_slots), paid, np.zeros(len(paid)))
    optimistic = replace(imported, program=with_costs(program, present))
    again = corrected(optimistic, seen)
    saved = again.accesses[WRITE].saving_s * program.hardware.clock_hz
    assert saved == pytest.approx(-30_000.0, rel=1e-2)


def test_costs_that_explain_nothing_are_not_taken() -> None:
    """The write was never seen alone, and the reads save what the totals say without it."""
    imported = written_and_read_twice()
    cheap = SAVINGS.clip(min=0.0)
    seen = [observation(imported, fast, cheap) for fast in (TOGETHER, [FIRST_READ], [WRITE])]
    assert (fitted(imported, seen).savings >= 0).all()


def test_costs_that_no_program_file_may_say_are_not_taken() -> None:
    imported = written_and_read_twice()
    huge = np.where(SAVINGS < 0, -1e6, SAVINGS)
    placements = (TOGETHER, [WRITE, FIRST_READ], [WRITE], [0])
    fit = fitted(imported, [observation(imported, fast, huge) for fast in placements])
    assert (fit.savings >= 0).all()
    validate(with_costs(imported.program, fit), "plain")

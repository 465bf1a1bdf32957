"""Writes into fast memory that take longer: the reads of the value save less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.compiler.calibrate import Fit, fit_costs, pools, total_error, with_costs
from engine.compiler.correct import corrected
from engine.compiler.observe import Observation, observe
from engine.compiler.write_costs import charged_to_reads
from engine.program.hlo.build import Imported, build_program
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


def test_the_reads_pay_the_first_one_first() -> None:
    imported = written_and_read_twice()
    seen = observed(imported, TOGETHER, [WRITE, FIRST_READ], [WRITE], [0])
    fit = fitted(imported, seen)
    assert fit.savings[[WRITE, FIRST_READ]] == pytest.approx([0.0, 0.0], abs=1.0)
    assert fit.savings[SECOND_READ] == pytest.approx(30_000.0, rel=1e-3)
    assert total_error(imported.program, fit, seen[0]) == pytest.approx(0.0, abs=1e-4)
    assert (fit.savings >= 0).all()


def test_a_refit_of_a_programs_own_costs_charges_them_too() -> None:
    imported = written_and_read_twice()
    seen = observed(imported, TOGETHER, [WRITE, FIRST_READ], [WRITE], [0])
    program, slow = imported.program, observe(imported, imported.flow)
    paid = np.maximum(SAVINGS, 0.0)
    present = Fit(slow.cycles, np.zeros(program.num_slots), paid, np.zeros(len(paid)))
    optimistic = replace(imported, program=with_costs(program, present))
    again = corrected(optimistic, seen)
    saved = again.accesses[SECOND_READ].saving_s * program.hardware.clock_hz
    assert saved == pytest.approx(30_000.0, rel=1e-2)


def charged(*placements: list[int]) -> NDArray[np.float64]:
    imported = written_and_read_twice()
    return charged_to_reads(imported.program, SAVINGS, observed(imported, *placements))


def test_reads_of_what_is_written_elsewhere_pay_nothing() -> None:
    found = charged([WRITE], [FIRST_READ, SECOND_READ], [FIRST_READ, SECOND_READ], TOGETHER)
    assert found[[WRITE, FIRST_READ, SECOND_READ]].tolist() == [0.0, 20_000.0, 40_000.0]


def test_what_no_read_can_pay_is_left_out() -> None:
    assert charged([WRITE, FIRST_READ])[FIRST_READ] == 0.0

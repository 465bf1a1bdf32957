"""Cycles per instruction, as two compiles of a program say and as its costs predict them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.compiler.observe import Observation
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program


@dataclass(frozen=True)
class InstructionCycles:
    """One instruction in all its executions, loops multiplied out.

    `default`, `compiled`: by the compiler, under its own options and under others. `predicted`: by
    the program's costs, with those of its accesses fast that the second compile served fast.
    """

    name: str
    slot: int
    default: float
    compiled: float
    predicted: float


def instruction_cycles(
    program: Program, default: Observation, compiled: Observation
) -> tuple[InstructionCycles, ...]:
    """The cycles of every instruction that both compiles have, in the order of the schedule."""
    predicted = predicted_cycles(program, compiled)
    rows = []
    for slot, instruction in enumerate(program.instructions):
        times = program.multiplicity(instruction.level)
        cycles = float(default.cycles[slot] * times), float(compiled.cycles[slot] * times)
        if not np.isnan(cycles).any():
            rows.append(InstructionCycles(instruction.name, slot, *cycles, float(predicted[slot])))
    return tuple(rows)


def predicted_cycles(program: Program, seen: Observation) -> NDArray[np.float64]:
    """`[T]` cycles by the program's costs of a placement, loops multiplied out, without stalls."""
    placed = Plan("", "observed", tuple(map(bool, seen.is_fast)), (), ())
    return simulate(program, placed).timeline.duration_s * program.hardware.clock_hz

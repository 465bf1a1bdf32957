"""Cycles per instruction: as compiles report them, and as the costs predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.compiler.costs.calibrate import total_cycles
from engine.compiler.costs.observations import Compile, observations_of
from engine.compiler.reading.observation import Observation
from engine.compiler.steering.export import in_words
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
    """`[T]` cycles by the program's costs of a placement, loops multiplied out.

    Without stalls, and without prices, which the compiler's cycles do not have either.
    """
    placed = Plan("", "observed", tuple(map(bool, seen.is_fast)), (), ())
    taken_s = simulate(program, placed).timeline.duration_s
    return (taken_s - [i.priced_s for i in program.instructions]) * program.hardware.clock_hz


DEFAULT = "default"
_TITLES: Mapping[str, str] = {
    DEFAULT: "the compiler's default",
    "knobs": "pass options",
    "knob": "pass options",
    "plan": "a plan of ours",
    "best": "a plan of ours",
    "stake": "asked for its costs",
    "again": "asked again for its costs",
    "rand": "values in random order",
}
"""What was compiled, by the first word of the compile's name (`engine.compiler.capture.study`)."""


@dataclass(frozen=True)
class KeptCompile:
    """One compile: what it was made for, its options, and cycles of a run, without stalls.

    `predicted`: by the program's costs, which were fitted to this compile among others.
    """

    title: str
    options: Mapping[str, str]
    seen: Observation
    cycles: float
    predicted: float


def kept_compiles(program: Program) -> tuple[KeptCompile, ...]:
    """The compiles that are kept of a sample, the default's first; empty for another program."""
    observations = observations_of(program)
    if observations is None:
        return ()
    ordered = sorted(observations.compiles, key=lambda one: bool(one.options))
    return tuple(_kept(program, number, one) for number, one in enumerate(ordered))


def _kept(program: Program, number: int, one: Compile) -> KeptCompile:
    word = one.name.partition("-")[0]
    has_cycles = np.isfinite(one.seen.cycles)
    return KeptCompile(
        f"{number}: {_TITLES.get(word, word)}{in_words(one.options)}",
        one.options,
        one.seen,
        total_cycles(program, None, one.seen),
        float(predicted_cycles(program, one.seen)[has_cycles].sum()),
    )

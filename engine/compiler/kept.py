"""Cycles of earlier compiles of a sample, read without a compiler.

Studies of the costs have compiled the samples under many options; the cycles of each are kept
(`engine.compiler.observations`). Stalls are not: they depend on where the compiler put each value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.compiler.calibrate import total_cycles
from engine.compiler.export import in_words
from engine.compiler.instruction_cycles import predicted_cycles
from engine.compiler.observations import Compile, observations_of
from engine.compiler.observe import Observation
from engine.program.model import Program

DEFAULT = "default"
_TITLES: Mapping[str, str] = {
    DEFAULT: "the compiler's default",
    "knobs": "knobs",
    "knob": "knobs",
    "plan": "a plan of ours",
    "best": "a plan of ours",
    "stake": "asked for its costs",
    "rand": "values in random order",
}
"""What was compiled, by the first word of the compile's name (`engine.compiler.study`)."""


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

"""The section `steering`: where our re-implementation of XLA's pass and the real one agree.

For every whole compile of a sample that was steered by names (`sample_programs/observations/`):
the share of the saving that both serve, of what either serves, when `xla_like` is steered alike;
and how many cycles the compile takes less than the default one. No compiler is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from benchmarks.settings import Settings
from engine.compiler.costs.calibrate import total_cycles
from engine.compiler.costs.observations import load_observations, observations_path
from engine.compiler.steering.export import CROSS_PROGRAM, INEFFICIENT_RATIO, SORT_ORDER, matchers
from engine.program import library
from engine.program.model import Program
from engine.solvers.xla_msa.steered import Steering, place


def run(section: str, settings: Settings) -> None:
    """Print a line per compile."""
    del section
    names = settings.programs or [
        e.name for e in library.index() if observations_path(e.name).exists()
    ]
    for name in names:
        program = library.load_sample(name)
        observations = load_observations(observations_path(name), program)
        saving_s = np.array([a.saving_s for a in program.accesses])
        compiles = observations.compiles
        totals = {c.name: total_cycles(program, None, c.seen) for c in compiles}
        for one in compiles:
            gain = 1.0 - totals[one.name] / totals["default"]
            line = f"{name:24} {one.name:18} {gain:+7.2%} compiled"
            steering = steering_of(program, one.options)
            if steering is not None:
                ours = np.array(place(program, steering).is_fast)
                either = saving_s[ours | one.seen.is_fast].sum()
                share = saving_s[ours & one.seen.is_fast].sum() / either if either else 1.0
                line += f"; {share:6.1%} of the saving is served by both passes"
            print(line, flush=True)


def steering_of(program: Program, options: Mapping[str, str]) -> Steering | None:
    """The steering that compiler options stand for; None where they choose values by chance."""
    text = options.get(SORT_ORDER, "")
    if "hlo_random_filter" in text:
        return None
    groups = {value.name: value.group for value in program.values}
    first, last = (
        dict.fromkeys(groups[n] for n in map(_name, part) if n in groups) for part in matchers(text)
    )
    return Steering(
        tuple(first),
        frozenset(last) - frozenset(first),
        0 if options.get(CROSS_PROGRAM) == "0" else None,
        float(options.get(INEFFICIENT_RATIO, "0.5")),
    )


def _name(matcher: str) -> str:
    """The value that a matcher of `engine.compiler.steering.export` names."""
    regex = re.search(r'instruction_name_regex: "([^"]*)"', matcher)
    index = re.search(r"index: \[([\d,]+)\]", matcher)
    name = re.sub(r"\[(.)\]", r"\1", regex[1]) if regex else ""
    return f"{name}{{{index[1]}}}" if index else name

"""Costs of a captured program, fitted again to all that its compiles said, without compiling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.compiler.costs.calibrate import Fit, fit_costs, total_cycles, with_costs
from engine.compiler.costs.observations import Observations
from engine.compiler.costs.trust import fit_record, left_out, worst_error
from engine.hardware.presets import DEVICES
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.provenance import FASTEST_COMPILE


def refitted(program: Program, observations: Observations) -> Program:
    """The program with costs fitted to everything that was seen, and its plan by XLA kept.

    Its provenance gets the options of all compiles, the errors of placements held out, and what the
    default compile takes. Heap and alignment become those of today's presets.
    """
    device = DEVICES.get(program.hardware.name)
    hardware = device.hardware if device else program.hardware
    fit = fit_all(program, observations)
    fresh = replace(with_costs(program, fit), hardware=hardware)
    plan = dict(program.provenance.get("xla_plan", {}))
    if plan:
        plan["program_hash"] = content_hash(fresh)
    compiles = (observations.slow, *observations.compiles)
    provenance = {
        **program.provenance,
        "placements": {c.name: dict(c.options) for c in compiles},
        "fit": fit_record(program, list(left_out(program, observations, in_full=True)))
        | {"worst_error": float(f"{worst_error(program, fit, observations):.6g}")},
        **({"xla_plan": plan} if plan else {}),
        **_default_compile(program, observations),
        **_fastest_compile(program, observations),
    }
    return replace(fresh, provenance=provenance)


def _default_compile(program: Program, observations: Observations) -> dict[str, Any]:
    own = next((c for c in observations.compiles if not c.options), None)
    if own is None:
        return {}
    compute_s = total_cycles(program, None, own.seen) / program.hardware.clock_hz
    return {
        "default_compile": {
            **program.provenance.get("default_compile", {}),
            "compute_s": compute_s,
        }
    }


def _fastest_compile(program: Program, observations: Observations) -> dict[str, Any]:
    """The compile of the fewest cycles, those in which it waits for its copies too."""
    totals = [
        (total_cycles(program, None, one.seen) + one.stall_cycles, one.name)
        for one in (observations.slow, *observations.compiles)
        if one.stall_cycles is not None
    ]
    if not totals:
        return {}
    cycles, name = min(totals, key=lambda pair: pair[0])
    return {FASTEST_COMPILE: {"name": name, "seconds": cycles / program.hardware.clock_hz}}


def fit_all(program: Program, observations: Observations) -> Fit:
    """The costs fitted to all compiles."""
    seen = [c.seen for c in observations.compiles]
    return fit_costs(program, observations.pools, observations.slow.seen, seen)

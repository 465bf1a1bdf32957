"""Plans of one program side by side: what each costs, and how far from the best possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program
from ui.components.charts import DOTTED, SLOW, STALL, Bars, Mark, Part
from ui.components.units import time_text

VALID = "valid"


@dataclass(frozen=True)
class Row:
    """One plan. `slow_s`: the cost of slow accesses, no stalls; `verdict`: `valid` or the rule."""

    solver: str
    latency_s: float
    slow_s: float
    stall_s: float
    verdict: str
    num_stays: int
    num_copies: int
    seconds: float | None


def row(program: Program, name: str, plan: Plan) -> Row:
    """The row of a plan, which is simulated and checked for it."""
    simulation = simulate(program, plan)
    violation = check(program, plan)
    seconds = plan.notes.get("seconds")
    return Row(
        solver=name,
        latency_s=simulation.latency_s,
        slow_s=simulation.compute_s - simulation.all_fast_s,
        stall_s=simulation.stall_s,
        verdict=violation.rule if violation else VALID,
        num_stays=len(plan.stays),
        num_copies=len(plan.copies),
        seconds=float(seconds) if isinstance(seconds, (int, float)) else None,
    )


def ranked(rows: Sequence[Row]) -> list[Row]:
    """The rows, best first; plans that break a rule come last, whatever they promise."""
    return sorted(rows, key=lambda r: (r.verdict != VALID, r.latency_s))


def floor_s(program: Program, bound_s: float | None) -> float:
    """The best latency that cannot be excluded: the bound if it is known, else all fast."""
    return max(program.all_fast_s, bound_s or 0.0)


def share_saved(program: Program, latency_s: float, bound_s: float | None) -> float:
    """Part of the possible saving that a plan takes: 0 for all slow, 1 at the bound."""
    possible = program.all_slow_s - floor_s(program, bound_s)
    return (program.all_slow_s - latency_s) / possible if possible > 0 else 1.0


def table(program: Program, rows: Sequence[Row], bound_s: float | None) -> pd.DataFrame:
    """The comparison, best plan first; the program's times in microseconds, shares in percent."""
    order = ranked(rows)
    floor = floor_s(program, bound_s)
    return pd.DataFrame(
        {
            "solver": [r.solver for r in order],
            "runtime": [r.latency_s * 1e6 for r in order],
            "saved": [100 * share_saved(program, r.latency_s, bound_s) for r in order],
            "over": [100 * (r.latency_s / floor - 1) if floor > 0 else 0.0 for r in order],
            "stalls": [r.stall_s * 1e6 for r in order],
            "checker": [r.verdict for r in order],
            "stays": [r.num_stays for r in order],
            "copies": [r.num_copies for r in order],
            "seconds": ["–" if r.seconds is None else f"{r.seconds:.2f} s" for r in order],
        }
    )


_BAR_PX = 38


def losses(program: Program, rows: Sequence[Row], bound_s: float | None) -> Bars:
    """What each plan loses to slow memory and stalls, in microseconds above all fast."""
    order = ranked(rows)
    names = [r.solver if r.verdict == VALID else f"{r.solver} (breaks {r.verdict})" for r in order]
    floor_us = 1e6 * (floor_s(program, bound_s) - program.all_fast_s)
    slowest = Mark("x", 1e6 * (program.all_slow_s - program.all_fast_s), "all slow")
    bound = (Mark("x", floor_us, "lower bound", dash=DOTTED),) if bound_s is not None else ()
    return Bars(
        labels=tuple(names),
        parts=(
            Part("slow memory", SLOW, tuple(1e6 * r.slow_s for r in order)),
            Part("stalls", STALL, tuple(1e6 * r.stall_s for r in order)),
        ),
        title=f"µs above all fast ({time_text(program.all_fast_s)})",
        unit="µs",
        height=90 + _BAR_PX * max(1, len(order)),
        notes=tuple(time_text(r.latency_s) for r in order),
        marks=(*bound, slowest),
        shaded=floor_us if bound_s is not None else None,
    )

"""The value curve: the seconds that a plan has saved before each move."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.game.moves import DROP, Move
from engine.plan.model import Plan
from engine.plan.simulate import Simulation
from engine.program.floors import above_floor, has_floor, slow_s
from engine.program.model import Program
from ui.components.memory_map.actions import NO_ACTION
from ui.components.memory_map.board import stall_before_s


def saved_before(
    program: Program, moves: Sequence[Move], actions: Sequence[int], simulation: Simulation
) -> NDArray[np.float64]:
    """`[M + 1]` seconds saved before each of `M` moves and at the end, stalls taken off.

    The last entry is the plan's whole saving, `all_slow_s - latency_s`, if no access outside the
    game is served fast.
    """
    savings = _savings_s(program, moves, actions)
    waited = np.cumsum(stall_before_s(simulation))
    times = np.array([m.time for m in moves], dtype=int)
    before = waited[np.clip(times, 0, len(waited) - 1)] if len(moves) else np.zeros(0)
    saved = np.append(0.0, np.cumsum(savings))
    stalled: NDArray[np.float64] = np.append(before, waited[-1] if len(waited) else 0.0)
    return saved - stalled


def _savings_s(
    program: Program, moves: Sequence[Move], actions: Sequence[int]
) -> NDArray[np.float64]:
    """`[M]` what each move saves; at an instruction with a floor, what moves before it left."""
    savings = np.array([m.saving_s for m in moves], dtype=float)
    savings *= ~np.isin(np.array(actions, dtype=int), (DROP, NO_ACTION))
    spare: dict[int, float] = {}
    for number, move in enumerate(moves):
        if savings[number] and has_floor(program, move.time):
            floor_s = program.instructions[move.time].floor_s
            left = spare.setdefault(move.time, slow_s(program, move.time) - floor_s)
            spare[move.time] = left - savings[number]
            savings[number] = above_floor(savings[number], left)
    return savings


def estimates_of(plan: Plan, num_moves: int) -> tuple[float, ...] | None:
    """The player's own forecasts in `plan.notes["value_estimates"]`, seconds saved in the end.

    One number per move; None if the plan notes none, or something else in their place.
    """
    values = plan.notes.get("value_estimates")
    if not isinstance(values, (list, tuple)) or len(values) != num_moves:
        return None
    if not all(isinstance(v, (int, float)) and math.isfinite(v) for v in values):
        return None
    return tuple(float(v) for v in values)

"""The lower bound's idle time: how long the slow memory is free in each slot, at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.plan.bounds.residency import Expression, Residency
from engine.program.model import Touch


@dataclass(frozen=True)
class Idle:
    """Idle time of a slot, in the linear program's units: at most `constant` and `terms` together.

    `terms`: of the shares to which its touches are served, and of its floor. `most`: whatever they
    are.
    """

    constant: float
    terms: Expression
    most: float


def idle_time(rows: Residency, floors: Mapping[int, int]) -> list[Idle]:
    """The idle time of each slot, in order; `floors`: as in `Traffic`, the variable by slot."""
    program, second_s = rows.program, rows.scale.second_s
    by_slot: list[list[tuple[Touch, Expression | None]]] = [[] for _ in range(program.num_slots)]
    for index, touch in enumerate(program.touches):
        by_slot[touch.time].append((touch, rows.served.get(index)))
    idles = []
    for slot, touches in enumerate(by_slot):
        instruction = program.instructions[slot]
        base, gains, shares = instruction.fast_s, [], []
        for touch, served in touches:
            gain = touch.saving_s - touch.slow_bytes / program.hardware.bandwidth
            if served is None:
                base += gain
            else:
                gains.append(gain)
                shares.append(served)
        constant, slopes = idle_envelope(base, np.array(gains))
        terms = [
            (v, -slope * value / second_s)
            for slope, served in zip(slopes, shares, strict=True)
            for v, value in served
        ]
        # An instruction that takes longer than its sum leaves as much more time idle.
        if slot in floors:
            terms.append((floors[slot], 1.0))
        longest_s = instruction.fast_s + sum(max(0.0, touch.saving_s) for touch, _ in touches)
        free_s = constant + float(np.maximum(slopes, 0.0).sum())
        most_s = max(longest_s, instruction.floor_s) if slot in floors else free_s
        idles.append(Idle((constant + float(slopes.sum())) / second_s, terms, most_s / second_s))
    return idles


def idle_envelope(base: float, gains: np.ndarray) -> tuple[float, np.ndarray]:
    """Upper bound `constant + slopes·y` of `max(0, base + gains·y)` for all 0/1 vectors `y` `[N]`.

    Negative gains are shrunk so that together they take at most `base`; a negative base is
    charged to the positive gains in proportion.
    """
    up = np.maximum(gains, 0.0)
    down = np.minimum(gains, 0.0)
    if base >= 0:
        fall = -float(down.sum())
        return base, up + down * (min(1.0, base / fall) if fall > 0 else 0.0)
    rise = float(up.sum())
    return 0.0, up * (max(0.0, base + rise) / rise if rise > 0 else 0.0)

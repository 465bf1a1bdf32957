"""Two to four plans of one program as packed columns, for small memory maps with one window.

Sizes and addresses are in granules, times in slots, durations in seconds, as in
`ui.components.memory_map.board`. The columns of plan `i` are called `p{i}_…`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.analysis.attribution import breakdown
from engine.analysis.plan_diff import Mark, marks
from engine.plan.model import Plan
from engine.plan.simulate import Simulation
from engine.program.model import Program
from ui.components.names import group_names
from ui.components.packing import (
    GRANULES,
    fast_granules,
    group_granules,
    group_kinds,
    pack,
    reserved_granules,
    slot_begin,
)

_SECONDS = "f4"


@dataclass(frozen=True)
class Panel:
    """One plan to be drawn; `identity` names its content, `caption` stands beside its name."""

    name: str
    caption: str
    identity: str
    plan: Plan
    simulation: Simulation


def identity_of(panels: Sequence[Panel]) -> str:
    """Names these panels in this order in the browser."""
    text = "|".join(f"{p.identity} {p.name} {p.caption}" for p in panels)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sheet(program: Program, panels: Sequence[Panel], title: str) -> bytes:
    """The packed message. Marks of the first plan are against the second, of others against it."""
    parts = [breakdown(program, p.simulation) for p in panels]
    header = {
        "id": identity_of(panels),
        "title": title,
        "program": panels[0].plan.program_hash,
        "granule": program.hardware.alignment,
        "fast_granules": fast_granules(program),
        "instruction_names": [i.name for i in program.instructions],
        "group_names": group_names(program),
        "peak": max((float(p.total_s.max()) for p in parts), default=0.0),
        "plans": [{"name": p.name, "caption": p.caption} for p in panels],
    }
    columns = {
        "slot_fast": np.array(program.least_s, _SECONDS),
        "slot_reserved": reserved_granules(program),
        "group_granules": group_granules(program),
        "group_kind": group_kinds(program),
    }
    for number, panel in enumerate(panels):
        other = panels[1 - number] if number < 2 and len(panels) > 1 else panels[0]
        stay_marks, _ = marks(panel.plan, other.plan)
        for name, column in _plan_columns(program, panel, stay_marks).items():
            columns[f"p{number}_{name}"] = column
    return pack(header, columns)


def _plan_columns(
    program: Program, panel: Panel, stay_marks: Sequence[Mark]
) -> dict[str, np.ndarray[tuple[int], np.dtype[np.generic]]]:
    simulation, stays = panel.simulation, panel.plan.stays
    parts = breakdown(program, simulation)
    # There is no room after the last slot: the wait for the last copies is drawn with it.
    stall = parts.stall_s[:-1].copy()
    stall[-1:] += parts.stall_s[-1]
    return {
        "stay_group": np.array([s.group for s in stays], "i4"),
        "stay_offset": np.array([s.offset // program.hardware.alignment for s in stays], GRANULES),
        "stay_start": np.array([s.start for s in stays], "i4"),
        "stay_end": np.array([s.end for s in stays], "i4"),
        "stay_mark": np.array(stay_marks, "u1"),
        "slot_begin": slot_begin(simulation).astype("f8"),
        "slot_slow": parts.slow_s[:-1].astype(_SECONDS),
        "slot_stall": stall.astype(_SECONDS),
    }

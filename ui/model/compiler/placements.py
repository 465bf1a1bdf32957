"""What became of the tensors that a plan wanted in fast memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from htpy import Renderable, div, i, span

from engine.plan.model import Plan, Stay
from engine.program.model import Program
from ui.components.names import tensor_name
from ui.components.units import share_text, size_text

REALISED = 0.999
"""Share of a saving from which on it counts as realised."""
WHOLE, PART, REFUSED = "whole", "part", "refused"


@dataclass(frozen=True)
class Fate:
    """One tensor: `saving_s` was aimed at, the share `realised` was placed so, or else `reason`.

    `group` and `slot` lead to it on the map: its alias group, and its first use.
    """

    name: str
    group: int
    slot: int
    saving_s: float
    realised: float
    reason: str

    @property
    def kind(self) -> str:
        """`WHOLE`, `PART` or `REFUSED`."""
        if self.realised >= REALISED:
            return WHOLE
        return PART if self.realised > 0 else REFUSED


def fates(program: Program, placements: Sequence[Mapping[str, Any]]) -> list[Fate]:
    """The fate of each tensor: the unrealised first, of these the greatest saving first.

    `placements`: fields of `engine.compiler.steering.verify.AimResult`, as JSON.
    """
    group_of = {value.name: value.group for value in program.values}
    rows = []
    for placement in placements:
        group = next((group_of[name] for name in placement["values"] if name in group_of), -1)
        if group >= 0:
            first = program.touches[program.touches_of_group[group][0]]
            rows.append(
                Fate(
                    ", ".join(placement["values"]),
                    group,
                    first.time,
                    placement["saving_s"],
                    placement["realised"],
                    placement["reason"],
                )
            )
    return sorted(rows, key=lambda fate: (fate.kind == WHOLE, -fate.saving_s))


LEGEND: Mapping[str, str] = {
    WHOLE: "placed as planned",
    PART: "in part",
    REFUSED: "refused",
    "other": "not aimed at",
}
"""The class of a stay, and what it says."""


def placements_map(program: Program, plan: Plan, fates: Sequence[Fate]) -> str:
    """The map as HTML: time across, address up, a legend; a stay's title has the reason."""
    of = {fate.group: fate for fate in fates}
    label = f"What the compiler realised of a plan of {program.name}"
    stays = (_stay(program, stay, of.get(stay.group)) for stay in plan.stays)
    keys = (span[i(class_=kind), words] for kind, words in LEGEND.items())
    ground = div(".ground", role="img", aria_label=label)[stays]
    return str(div(".placements")[ground, div(".keys")[keys]])


def _stay(program: Program, stay: Stay, fate: Fate | None) -> Renderable:
    size, room, slots = (
        program.groups[stay.group].size_bytes,
        program.hardware.fast_bytes,
        program.num_slots,
    )
    start = max(0, stay.start)
    place = (
        f"left:{100 * start / slots:.3f}%;width:{100 * (stay.end - start) / slots:.3f}%;"
        f"bottom:{100 * stay.offset / room:.3f}%;height:{100 * size / room:.3f}%"
    )
    kind = fate.kind if fate else "other"
    return i(class_=kind, style=place, title=_words(program, stay, fate))


def _words(program: Program, stay: Stay, fate: Fate | None) -> str:
    size = size_text(program.groups[stay.group].size_bytes)
    reason = f": {fate.reason}" if fate and fate.reason else ""
    part = f" ({share_text(fate.realised)})" if fate and fate.kind == PART else ""
    kind = LEGEND[fate.kind if fate else "other"]
    return f"{tensor_name(program, stay.group)}, {size}, {kind}{part}{reason}"

"""What became of the tensors that a plan wanted in fast memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.program.model import Program

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

    `placements`: fields of `engine.compiler.steering.verify.Placement`, as JSON.
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

"""Three samples for the start page: real, of different kinds, on which plans differ most."""

from __future__ import annotations

from collections.abc import Sequence

from engine.program.library import SampleEntry
from ui.model.programs.catalogue import TEACHING, above_bound, family

_MOST_TOUCHES = 2000
_HOW_MANY = 3


def telling(entries: Sequence[SampleEntry]) -> list[SampleEntry]:
    """The three programs, each of another family, whose plan by XLA is farthest from the best.

    Samples that are too large for a first look are left out.
    """
    by_family: dict[str, SampleEntry] = {}
    for entry in sorted(entries, key=_stake, reverse=True):
        if family(entry) != TEACHING and _stake(entry) > 0 and entry.touches <= _MOST_TOUCHES:
            by_family.setdefault(family(entry), entry)
    return list(by_family.values())[:_HOW_MANY]


def _stake(entry: SampleEntry) -> float:
    """How much of the bound lies between XLA's plan and the best known."""
    xla = above_bound(entry.xla_latency_s, entry.bound_s)
    best = above_bound(entry.best_s, entry.bound_s)
    return 0.0 if xla is None or best is None or not entry.best_solver else xla - best

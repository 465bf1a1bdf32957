"""The flags of `python -m benchmarks`: what makes a section shorter, or another one."""

from __future__ import annotations

from dataclasses import dataclass

from engine.program import library
from engine.program.library import SampleEntry
from engine.program.proof import gap

CONTESTED = 0.03
"""XLA's plan of a contested program is at least so much above the lower bound."""


@dataclass(frozen=True)
class Settings:
    """What the sections are asked for; `None` and empty tuples stand for a section's own choice.

    `games`: random games in all. `weights`: checkpoints as `NAME=FOLDER`. `steps`, `rectangles`,
    `visitors` and `steps_among` belong to the section `steps`.
    """

    programs: tuple[str, ...] = ()
    solvers: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    seconds: float | None = None
    seed: int = 0
    games: int = 10_000
    steps: int = 200
    rectangles: int = 50_000
    visitors: int = 10
    steps_among: int = 40

    def contested(self) -> tuple[str, ...]:
        """The programs asked for, else the captured ones whose XLA plan leaves something to win."""
        return self.programs or tuple(e.name for e in library.index() if is_contested(e))


def is_contested(entry: SampleEntry) -> bool:
    """Whether XLA's plan of the program leaves something to win."""
    above = gap(entry.xla_latency_s, entry.bound_s)
    return above is not None and above >= CONTESTED

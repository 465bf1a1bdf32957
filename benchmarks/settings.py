"""The flags of `python -m benchmarks`: what makes a section shorter, or another one."""

from __future__ import annotations

from dataclasses import dataclass

from engine.program import library

GAMES = 10_000
"""What the sections of random games play, where they are not told how many."""


@dataclass(frozen=True)
class Settings:
    """What the sections are asked for; `None` and empty tuples stand for a section's own choice.

    `games`: in all, random ones, plans or kills. `weights`: checkpoints as `NAME=FOLDER`. `steps`,
    `loads`, `rectangles`, `visitors` and `steps_among` belong to the section `steps`; `visits`
    takes half as many loads of each page.
    """

    programs: tuple[str, ...] = ()
    solvers: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    seconds: float | None = None
    seed: int = 0
    games: int | None = None
    steps: int = 200
    loads: int = 10
    rectangles: int = 50_000
    visitors: int = 10
    steps_among: int = 40

    def num_games(self, usual: int = GAMES) -> int:
        """How many games are asked for, else `usual`."""
        return usual if self.games is None else self.games

    def contested(self) -> tuple[str, ...]:
        """The programs asked for, else the captured ones whose XLA plan leaves something to win."""
        return self.programs or tuple(e.name for e in library.index() if e.is_contested)

"""A visitor's request that somebody else plays on, while a worker is at it."""

from __future__ import annotations

from dataclasses import dataclass

from ui.jobs.run import Job


@dataclass
class PlayRequest:
    """Who is to play on (`player`), in which job, on the line of which plan, and how far.

    `begun`: the actions before. `num_moves`: so many of the moves played are taken over.
    `number`, `tip`: the variation that was shown, and its end.
    """

    player: str
    job: Job
    plan: str
    begun: tuple[int, ...]
    num_moves: int
    number: int
    tip: int

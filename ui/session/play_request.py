"""A visitor's request that another player goes on, while its job is under way."""

from __future__ import annotations

from dataclasses import dataclass

from ui.jobs.run import Job


@dataclass
class PlayRequest:
    """The `player` that goes on, its job, and the identity of the `plan` whose line it goes on.

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

"""A line that the user plays from some move of a plan, with undo, as a growing plan on the map."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from engine.game.board import Block
from engine.game.reference import ReferenceGame
from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program

Row = tuple[int, int, int, int, int]
"""A stay as the map draws it: group, offset in granules, start, end, arrival of its prefetch."""

_DRAFT_LIMIT = 3000
"""Characters of changes sent with a step; beyond that the whole line is sent once more."""


@dataclass
class Line:
    """The game being played. `begun`: the move of the plan at which the user took over.

    `past`: positions to go back to, one per decision. `shown`: the rows of the plan that the
    browser holds under `identity`, to which each step sends the changes; `base` is that plan.
    """

    game: ReferenceGame
    begun: int
    past: list[ReferenceGame] = field(default_factory=list)
    shown: list[Row] = field(default_factory=list)
    shown_move: int = 0
    identity: str = ""

    base: Plan = field(init=False)

    def __post_init__(self) -> None:
        """Take the first position as what the browser is shown."""
        self.rebase()

    def play(self, action: int, with_forced: bool = True) -> None:
        """Decide the current move; then play the moves that leave no choice."""
        self.past.append(self.game.clone())
        self.game.step(action)
        if with_forced:
            self.game.play_forced()

    def undo(self) -> None:
        """Back to the position before the last decision."""
        if self.past:
            self.game = self.past.pop()

    def rebase(self) -> None:
        """The browser will get the whole line as it is now."""
        self.shown = rows_of(self.game)
        self.shown_move = self.game.move_index
        self.base = plan_so_far(self.game)
        self.identity = f"line-{uuid4().hex}"

    def draft(self) -> dict[str, Any]:
        """What has changed since the plan that the browser holds: rows gone and rows new."""
        now = rows_of(self.game)
        kept, held = set(now), set(self.shown)
        return {
            "gone": [i for i, row in enumerate(self.shown) if row not in kept],
            "stays": [row for row in now if row not in held],
            "actions": [[m, a] for m, a in enumerate(self.game.actions) if m >= self.shown_move],
        }

    def is_draft_long(self) -> bool:
        """Whether sending the whole line once more is due."""
        return len(str(self.draft())) > _DRAFT_LIMIT


def rows_of(game: ReferenceGame) -> list[Row]:
    """Blocks of the game so far; live ones end where they are certain to stand."""
    arrivals = {(c.group, c.start): c.deadline for c in game.records.copies if c.is_prefetch}
    return [
        (b.group, b.offset, b.start, _end(b), arrivals.get((b.group, b.start), -1))
        for b in [*game.records.stays, *game.live.values()]
    ]


def _end(block: Block) -> int:
    return block.busy + 1 if block.is_live else block.end


def plan_so_far(game: ReferenceGame) -> Plan:
    """The moves played, and slow memory for everything after: a plan to look at, not to check."""
    program: Program = game.program
    granule = program.hardware.alignment
    is_fast = [False] * len(program.accesses)
    for touch in game.records.fast_touches:
        for access in program.touches[touch].accesses:
            is_fast[access] = True
    return Plan(
        program_hash=content_hash(program),
        solver="you",
        is_fast=tuple(is_fast),
        stays=tuple(Stay(g, o * granule, start, end) for g, o, start, end, _ in rows_of(game)),
        copies=tuple(
            Copy(c.group, c.is_prefetch, c.start, c.deadline) for c in game.records.copies
        ),
    )


def saved_s(game: ReferenceGame) -> float:
    """Seconds that the moves played so far save against slow memory for everything."""
    return game.total_reward * game.program.all_slow_s

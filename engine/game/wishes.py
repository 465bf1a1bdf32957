"""What a plan wants at each move of the game, and what of it is given up so that the rest comes."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import Enum

from engine.game.moves import COPY, DROP, NO_COPY, Move
from engine.game.reference.blocks import Block
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.program.model import Program

Key = tuple[int, int]
"""A stay of the plan: its group, and its number among the group's stays, by time."""


class Amendment(Enum):
    """What is done about a stay that bars others: it goes to the other end, or out."""

    OTHER_END = "other end"
    GIVEN_UP = "given up"


class Wishes:
    """What a plan says about each move, amended for some of its stays."""

    def __init__(
        self, program: Program, plan: Plan, amendments: Mapping[Key, Amendment] | None = None
    ) -> None:
        self.program = program
        self.plan = plan
        self.amendments = dict(amendments or {})
        self._stays: dict[int, list[Stay]] = defaultdict(list)
        self._prefetches: dict[int, list[Copy]] = defaultdict(list)
        for stay in sorted(plan.stays, key=lambda s: s.start):
            self._stays[stay.group].append(stay)
        for copy in plan.copies:
            if copy.is_prefetch:
                self._prefetches[copy.group].append(copy)

    def places(self, granule: int) -> tuple[tuple[int, int, int], ...]:
        """Group, first slot and offset in granules of the plan's stays (`Rules.planned`)."""
        return tuple(sorted((s.group, s.start, s.offset // granule) for s in self.plan.stays))

    def amended(self, changes: Iterable[tuple[Key, Amendment | None]]) -> Wishes:
        """These wishes with more amendments; None: what the plan says of a stay holds again."""
        amendments: dict[Key, Amendment | None] = {**self.amendments, **dict(changes)}
        kept = {key: amendment for key, amendment in amendments.items() if amendment is not None}
        return Wishes(self.program, self.plan, kept)

    def key(self, group: int, time: int) -> Key:
        """The plan's stay of a group that has begun last at a time; number -1 if none has."""
        return group, bisect_right(self._stays[group], time, key=lambda s: s.start) - 1

    def amendment(self, move: Move) -> Amendment | None:
        """What is done about the stay that the plan has at a move."""
        return self.amendments.get(self.key(move.group, move.time))

    def is_kept(self, group: int) -> bool:
        """Whether the plan has a cross-program prefetch of the group."""
        return any(stay.start == BEFORE_START for stay in self._stays[group])

    def stay(self, move: Move) -> Stay | None:
        """The plan's stay of the group at a move; None if it has not been there."""
        group, number = self.key(move.group, move.time)
        return self._stays[group][number] if number >= 0 else None

    def action(self, move: Move, block: Block | None) -> int:
        """Drop, NoCopy, or Copy where a prefetch serves the first touch of the plan's stay.

        `block`: the group's block in the game. A prefetch in front of the loop is a NoCopy.
        """
        if move.is_sink or self.amendment(move) is Amendment.GIVEN_UP:
            return DROP
        touch = self.program.touches[move.touch]
        if not self.plan.is_fast[touch.accesses[0]]:
            return DROP
        stay = self.stay(move)
        if stay is None or not move.reads:
            return NO_COPY
        return COPY if self._is_copied(stay, move, block) else NO_COPY

    def _is_copied(self, stay: Stay, move: Move, block: Block | None) -> bool:
        if block is not None and block.busy >= stay.start:
            return False
        since = -1 if move.hoist is None else move.hoist.start
        return any(
            stay.start <= copy.start and since < copy.deadline <= move.time
            for copy in self._prefetches[stay.group]
        )

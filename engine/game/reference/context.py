"""What a game knows before it begins, and what its rules read of a position."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Protocol

from engine.game.move_list import moves
from engine.game.moves import Move, Rules
from engine.game.quantise import Quantised, quantise
from engine.game.reference.blocks import Block
from engine.program.model import TOP_LEVEL, Program

FIRST_HORIZON = -1
"""The horizon before any block was forgotten."""


class Facts:
    """The moves, rules and numbers of a game, which never change; shared by all its copies."""

    def __init__(self, program: Program, rules: Rules) -> None:
        """Derive moves and integers of `program`."""
        self.program = program
        self.rules = rules
        self.moves: tuple[Move, ...] = moves(program)
        self.numbers: Quantised = quantise(program)
        self.level_slots = slots_of_level(self.numbers)
        self._planned: dict[int, list[tuple[int, int]]] = {}
        for group, start, offset in rules.planned:
            self._planned.setdefault(group, []).append((start, offset))

    def planned_offset(self, move: Move) -> int | None:
        """The place of the plan's last stay of the move's group that has begun; None if none."""
        stays = self._planned.get(move.group, [])
        number = bisect_right(stays, move.time, key=lambda stay: stay[0])
        return stays[number - 1][1] if number else None

    def first_slot(self, level: int, begin: int) -> int:
        """First slot of `level` at or after `begin`; past the end if none."""
        slots = self.level_slots[level]
        place = bisect_left(slots, begin)
        return slots[place] if place < len(slots) else self.program.num_slots + 1

    def last_slot(self, level: int, time: int) -> int:
        """Last slot of `level` not after `time`; -1 if none."""
        slots = self.level_slots[level]
        place = bisect_left(slots, time + 1)
        return slots[place - 1] if place else -1

    def last_deadline(self, level: int, time: int) -> int:
        """Latest deadline, not after `time`, of a write-back at `level`; -1 if none.

        Where `time` lies in a loop inside the level, that is where the loop begins.
        """
        if level != TOP_LEVEL and time == self.program.regions[level].end:
            return time
        last = self.last_slot(level, time)
        return last if last in (-1, time) else last + 1


class State(Protocol):
    """The attributes of a game that its rules read."""

    facts: Facts
    live: dict[int, Block]
    ended: list[Block]
    left: list[int]
    valid_from: list[int]
    settled: int
    horizon: int
    num_stayed_before: int
    spare_s: float

    def barrier(self, *, is_prefetch: bool, deadline: int) -> int:
        """The slot before which no such copy with this deadline may start."""


def outermost_entered(program: Program, start: int, time: int) -> int:
    """The outermost region that holds slot `time` but not slot `start`, or `TOP_LEVEL`."""
    outermost = TOP_LEVEL
    level = program.level_at(time)
    while level != TOP_LEVEL:
        region = program.regions[level]
        if not region.start <= start < region.end:
            outermost = level
        level = region.parent
    return outermost


def begins_loop_of(program: Program, slot: int, time: int) -> bool:
    """Whether a region that holds slot `time` begins at `slot`."""
    level = program.level_at(time)
    while level != TOP_LEVEL:
        if program.regions[level].start == slot:
            return True
        level = program.regions[level].parent
    return False


def slots_of_level(numbers: Quantised) -> dict[int, Sequence[int]]:
    """The slots of each level in order; the end of the program, slot `T`, is at the top level."""
    by_level: dict[int, list[int]] = {}
    for slot, level in enumerate(numbers.slot_level):
        by_level.setdefault(level, []).append(slot)
    return {level: tuple(slots) for level, slots in by_level.items()}

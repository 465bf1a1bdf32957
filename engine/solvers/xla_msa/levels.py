"""Slots by level: where copies may start and end, and how deep in loops a slot lies."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from engine.program.model import TOP_LEVEL, Program


class Levels:
    """Answers about the levels of a program's slots (`docs/model.md`, Time and loops)."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.slots: dict[int, list[int]] = {TOP_LEVEL: []}
        for index in range(len(program.regions)):
            self.slots[index] = []
        for time, instruction in enumerate(program.instructions):
            self.slots[instruction.level].append(time)

    def first_from(self, level: int, time: int) -> int | None:
        """First slot of that level at or after `time`."""
        slots = self.slots[level]
        position = bisect_left(slots, time)
        return slots[position] if position < len(slots) else None

    def last_until(self, level: int, time: int) -> int | None:
        """Last slot of that level at or before `time`; the end of the level's region counts."""
        end = self._program.level_end(level)
        if time >= end:
            return end
        slots = self.slots[level]
        position = bisect_right(slots, time) - 1
        return slots[position] if position >= 0 else None

    def start(self, level: int) -> int:
        """First slot of a level's region; 0 for the top level."""
        return 0 if level == TOP_LEVEL else self._program.regions[level].start

    def path(self, level: int) -> list[int]:
        """The regions that hold a level, outermost first, itself included."""
        path: list[int] = []
        while level != TOP_LEVEL:
            path.append(level)
            level = self._program.regions[level].parent
        return path[::-1]

    def loop_depth(self, level: int) -> int:
        """How many while loops hold a level; branches do not count."""
        return sum(self._program.regions[r].kind == "while" for r in self.path(level))

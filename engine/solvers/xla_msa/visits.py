"""The touches of a group as a tree: what happens directly at a level, and in the loops below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.program.model import TOP_LEVEL, Program
from engine.solvers.xla_msa.levels import Levels


@dataclass(frozen=True, slots=True)
class Visit:
    """What one group meets in one region (or, for `TOP_LEVEL`, in the whole program).

    `items` are numbers of touches directly at this level and inner visits, in time order;
    `touches` are all touches inside. `is_sink`: the slow copy must hold the content at the end.
    """

    region: int
    items: tuple[int | Visit, ...]
    touches: tuple[int, ...]
    is_sink: bool


class VisitTree:
    """Builds the visits of any group of a program."""

    def __init__(self, program: Program, levels: Levels) -> None:
        self._program = program
        self._paths = {level: levels.path(level) for level in levels.slots}
        self._sinks = {(sink.region, sink.group) for sink in program.sinks}

    def of(self, group: int) -> Visit:
        """The whole program as the group meets it."""
        return self._visit(group, TOP_LEVEL, self._program.touches_of_group[group], 0)

    def _visit(self, group: int, region: int, touches: Sequence[int], depth: int) -> Visit:
        items: list[int | Visit] = []
        inner: list[int] = []
        within = TOP_LEVEL
        for touch in touches:
            path = self._paths[self._program.level_at(self._program.touches[touch].time)]
            entered = path[depth] if len(path) > depth else TOP_LEVEL
            if inner and entered != within:
                items.append(self._visit(group, within, inner, depth + 1))
                inner = []
            within = entered
            if entered == TOP_LEVEL:
                items.append(touch)
            else:
                inner.append(touch)
        if inner:
            items.append(self._visit(group, within, inner, depth + 1))
        return Visit(region, tuple(items), tuple(touches), (region, group) in self._sinks)

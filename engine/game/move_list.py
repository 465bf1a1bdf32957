"""All moves of a program in order, each with what it has to know of the others."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction

import numpy as np

from engine.game.moves import Hoist, Move
from engine.game.quantise import TICKS, Quantised, quantise
from engine.program.model import TOP_LEVEL, Program, Touch


def moves(program: Program) -> tuple[Move, ...]:
    """All moves in order: by time, sinks (inner regions first) before the touches of that time."""
    numbers = quantise(program)
    sinks = [i for i, s in enumerate(program.sinks) if numbers.is_movable[s.group]]
    touches = [i for i, t in enumerate(program.touches) if numbers.is_movable[t.group]]
    # Regions that end together are nested, and an inner region has the larger index.
    sinks.sort(key=lambda i: (program.sinks[i].time, -program.sinks[i].region))
    order = [(program.sinks[i].time, True, i, program.sinks[i].group) for i in sinks]
    order += [(program.touches[i].time, False, i, program.touches[i].group) for i in touches]
    order.sort(key=lambda entry: (entry[0], not entry[1]))
    last = {group: position for position, (_, _, _, group) in enumerate(order)}
    builder = _Builder(program, numbers)
    return tuple(
        (builder.sink if is_sink else builder.touch)(index, last[group] == position)
        for position, (_, is_sink, index, group) in enumerate(order)
    )


class _Builder:
    """Makes single moves, given what holds for the whole program."""

    def __init__(self, program: Program, numbers: Quantised) -> None:
        self.program = program
        self.numbers = numbers
        self.ranks = self._ranks()
        self.reserved = np.asarray(numbers.reserved, np.int64)
        self.times_of = [[program.touches[i].time for i in own] for own in program.touches_of_group]
        self.born = [min(program.values[v].defined for v in g.values) for g in program.groups]
        self.sinks_of: list[list[int]] = [[] for _ in program.groups]
        for sink in program.sinks:
            self.sinks_of[sink.group].append(sink.time)
        self.ends_of: dict[tuple[int, int], tuple[int, list[int]]] = {}

    def _ranks(self) -> dict[int, int]:
        density = {
            index: Fraction(
                self.numbers.ticks_down(touch.saving_s), self.numbers.size_granules[touch.group]
            )
            for index, touch in enumerate(self.program.touches)
            if self.numbers.is_movable[touch.group]
        }
        rank = {value: place for place, value in enumerate(sorted(set(density.values())))}
        return {index: rank[value] for index, value in density.items()}

    def touch(self, index: int, is_last: bool) -> Move:
        touch = self.program.touches[index]
        group = self.program.groups[touch.group]
        place = bisect_left(self.times_of[touch.group], touch.time)
        is_first = place == 0
        level = self.program.level_at(touch.time)
        life_end = self._life_end(touch.group, touch.time, level)
        return Move(
            time=touch.time,
            group=touch.group,
            touch=index,
            is_sink=False,
            reads=touch.reads,
            writes=touch.writes,
            saving_s=touch.saving_s,
            saving_ticks=self.numbers.ticks_down(touch.saving_s),
            draw_ticks=self.numbers.ticks_up(touch.slow_bytes),
            rank=self.ranks[index],
            is_first=is_first,
            is_last=is_last,
            life_end=life_end,
            end=touch.end,
            reserved_ahead=int(self.reserved[touch.time : life_end].max()),
            is_lasting=life_end > self.numbers.return_slot,
            may_stay_before=is_first
            and group.is_input
            and not (group.is_written or touch.must_be_slow),
            must_be_slow=touch.must_be_slow,
            level=level,
            hoist=None if touch.must_be_slow else self._hoist(touch, place),
            **self._common(touch.group, level, place + 1),
        )

    def _hoist(self, touch: Touch, place: int) -> Hoist | None:
        """The outermost loop whose first touch of the group this read is, its touch `place`."""
        program, outermost = self.program, None
        if not touch.reads:
            return None
        before = max(self.born[touch.group], self.times_of[touch.group][place - 1] if place else -1)
        level = program.level_at(touch.time)
        while level != TOP_LEVEL:
            region = program.regions[level]
            if before < region.start:
                outermost = level
            level = region.parent
        if outermost is None:
            return None
        region = program.regions[outermost]
        size = program.groups[touch.group].size_bytes
        work = self.numbers.ticks_up(size * program.multiplicity(region.parent))
        life_end = self._life_end(touch.group, region.start, region.parent)
        return Hoist(
            start=region.start,
            end=region.end,
            level=region.parent,
            work_ticks=min(TICKS, work),
            reserved_ahead=int(self.reserved[region.start : life_end].max()),
            is_lasting=life_end > self.numbers.return_slot,
        )

    def sink(self, index: int, is_last: bool) -> Move:
        sink = self.program.sinks[index]
        times = self.times_of[sink.group]
        return Move(
            time=sink.time,
            group=sink.group,
            is_sink=True,
            is_last=is_last,
            life_end=sink.time,
            end=sink.time,
            level=sink.region,
            reads=False,
            writes=False,
            is_first=False,
            may_stay_before=False,
            must_be_slow=False,
            is_lasting=False,
            hoist=None,
            # The next touch may share its time.
            **self._common(sink.group, sink.region, bisect_left(times, sink.time)),
        )

    def _common(self, group: int, level: int, following: int) -> dict[str, int]:
        """Fields of touches and sinks alike; `following`: the place of the group's next touch."""
        size = self.program.groups[group].size_bytes
        touches, times = self.program.touches_of_group[group], self.times_of[group]
        has_next = following < len(touches)
        return {
            "size_granules": self.numbers.size_granules[group],
            "work_ticks": min(
                TICKS, self.numbers.ticks_up(size * self.program.multiplicity(level))
            ),
            "last_time": times[-1],
            "next_time": times[following] if has_next else self.program.num_slots + 1,
            "next_rank": self.ranks[touches[following]] if has_next else -1,
        }

    def _life_end(self, group: int, time: int, level: int) -> int:
        """End of the longest stay that a block of that level may need from slot `time` on."""
        first, ends = self._ends(group, level)
        end = ends[bisect_left(self.times_of[group], time) - first]
        sinks = self.sinks_of[group]
        due = bisect_right(sinks, self.program.level_end(level))
        return max(end, sinks[due - 1]) if due and sinks[due - 1] > time else end

    def _ends(self, group: int, level: int) -> tuple[int, list[int]]:
        """The group's first touch within a level, and from each one on where the last one ends.

        What is in a region within the level ends with that region.
        """
        if (group, level) not in self.ends_of:
            program, times = self.program, self.times_of[group]
            start = 0 if level == TOP_LEVEL else program.regions[level].start
            first, limit = bisect_left(times, start), bisect_left(times, program.level_end(level))
            ends, latest = list[int](), 0
            for index in reversed(program.touches_of_group[group][first:limit]):
                around = program.outwards(program.level_at(program.touches[index].time))
                inner = around[: around.index(level)]
                end = program.level_end(inner[-1]) if inner else program.touches[index].end
                latest = max(latest, end)
                ends.append(latest)
            self.ends_of[group, level] = first, ends[::-1]
        return self.ends_of[group, level]

"""All moves of a program in order, each with what it has to know of the others."""

from __future__ import annotations

from fractions import Fraction

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
        self.sinks_of: list[list[int]] = [[] for _ in program.groups]
        for sink in program.sinks:
            self.sinks_of[sink.group].append(sink.time)

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
        is_first = self.program.touches_of_group[touch.group][0] == index
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
            reserved_ahead=max(self.numbers.reserved[touch.time : life_end]),
            is_lasting=life_end > self.numbers.return_slot,
            may_stay_before=is_first
            and group.is_input
            and not (group.is_written or touch.must_be_slow),
            must_be_slow=touch.must_be_slow,
            level=level,
            hoist=None if touch.must_be_slow else self._hoist(touch),
            **self._common(touch.time, touch.group, level, index),
        )

    def _hoist(self, touch: Touch) -> Hoist | None:
        """The outermost loop whose first touch of the group this read is."""
        program, outermost = self.program, None
        if not touch.reads:
            return None
        times = [program.touches[i].time for i in program.touches_of_group[touch.group]]
        values = program.groups[touch.group].values
        born = min(program.values[v].defined for v in values)
        level = program.level_at(touch.time)
        while level != TOP_LEVEL:
            region = program.regions[level]
            if born < region.start and not any(region.start <= t < touch.time for t in times):
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
            reserved_ahead=max(self.numbers.reserved[region.start : life_end]),
            is_lasting=life_end > self.numbers.return_slot,
        )

    def sink(self, index: int, is_last: bool) -> Move:
        sink = self.program.sinks[index]
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
            **self._common(sink.time, sink.group, sink.region, None),
        )

    def _common(self, time: int, group: int, level: int, index: int | None) -> dict[str, int]:
        """Fields of touches and sinks alike; a sink's next touch may share its time."""
        later = [
            i
            for i in self.program.touches_of_group[group]
            if (i > index if index is not None else self.program.touches[i].time >= time)
        ]
        size = self.program.groups[group].size_bytes
        touches = self.program.touches_of_group[group]
        next_touch = self.program.touches[later[0]] if later else None
        return {
            "size_granules": self.numbers.size_granules[group],
            "work_ticks": min(
                TICKS, self.numbers.ticks_up(size * self.program.multiplicity(level))
            ),
            "last_time": self.program.touches[touches[-1]].time,
            "next_time": next_touch.time if next_touch else self.program.num_slots + 1,
            "next_rank": self.ranks[later[0]] if later else -1,
        }

    def _life_end(self, group: int, time: int, level: int) -> int:
        """End of the longest stay that a block of that level may need from slot `time` on."""
        program = self.program
        limit = program.level_end(level)
        ends = [t for t in self.sinks_of[group] if time < t <= limit]
        for index in program.touches_of_group[group]:
            touched = program.touches[index].time
            if time <= touched < limit:
                around = program.outwards(program.level_at(touched))
                inner = around[: around.index(level)]
                ends.append(program.level_end(inner[-1]) if inner else program.touches[index].end)
        return max(ends)

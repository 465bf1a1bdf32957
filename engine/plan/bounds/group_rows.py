"""The variables and rows of one alias group in the lower bound: service, stays, copies."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from engine.plan.bounds.linear import LinearProgram
from engine.program.model import TOP_LEVEL, Program, Region, Sink, Touch

Expression = list[tuple[int, float]]


class Kind(StrEnum):
    """What a 0/1 variable says, by its letter in `docs/bound.md`."""

    SERVED = "x"
    STAYS = "r"
    PREFETCHED = "p"
    WRITTEN_BACK = "b"
    COVERS = "c"
    CROSS_PROGRAM = "z"


Choice = tuple[Kind, int, int]
"""Key of a 0/1 variable: its kind, an index, a region.

The index is the group for `COVERS` and `CROSS_PROGRAM`, else the touch. `-1 - group` stands for a
cross-program prefetch at the end of the program. Only `PREFETCHED`, `WRITTEN_BACK` and `COVERS`
have a region.
"""
UnderWay = tuple[Kind, int, int, int]
"""A 0/1 variable that says whether a copy is under way: the copy's choice, and the slot."""


@dataclass(frozen=True)
class Scale:
    """Units that keep the coefficients near 1."""

    second_s: float
    byte: float


@dataclass(frozen=True)
class Piece:
    """The share `held` of a group, of `padded_size` when whole, during slots `[start, end)`."""

    group: int
    start: int
    end: int
    held: Expression
    padded_size: float


@dataclass(frozen=True)
class Prefetch:
    """Variable `share` of a copy of `size` that runs in `level` and is complete before `time`.

    It starts at slot `start` at the earliest. `is_charged`: whether what is under way is charged
    for its place. `choice`: the name of `share`.
    """

    share: int
    choice: Choice
    group: int
    size: float
    padded_size: float
    level: int
    multiplicity: float
    start: int
    time: int
    is_charged: bool


@dataclass(frozen=True)
class WriteBack:
    """Variable `share` of a copy that may begin at slot `release` and takes `work` of idle time.

    It is complete before slot `last`; the group holds its place until then. `choice`: the name of
    `share`.
    """

    share: int
    choice: Choice
    group: int
    work: float
    release: int
    padded_size: float
    last: int


@dataclass(frozen=True)
class Window:
    """`work` must be done by copies within the slots `[start, end)` or a stall at `end`."""

    work: Expression
    start: int
    end: int


@dataclass
class GroupParts:
    """What the groups of a linear program hold and copy, as `GroupRows` adds them.

    `choices` and `under_way`: the variables that are 0 or 1 in every plan.
    """

    program: Program
    linear: LinearProgram
    scale: Scale
    served: dict[int, Expression] = field(default_factory=dict)
    pieces: list[Piece] = field(default_factory=list)
    prefetches: list[Prefetch] = field(default_factory=list)
    write_backs: list[WriteBack] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    cross_program: list[int] = field(default_factory=list)
    choices: dict[Choice, int] = field(default_factory=dict)
    under_way: dict[UnderWay, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._cheaper: dict[int, list[Region]] = {TOP_LEVEL: []}
        for index, region in enumerate(self.program.regions):
            self._cheaper[index] = []
            for level in self.program.outwards(region.parent):
                if region.multiplicity < self.program.multiplicity(level):
                    self._cheaper[level].append(region)
        self._sinks: dict[int, list[Sink]] = {}
        for sink in self.program.sinks:
            self._sinks.setdefault(sink.group, []).append(sink)

    def add_choice(self, kind: Kind, index: int, region: int = TOP_LEVEL) -> int:
        """A variable that is 0 or 1 in every plan."""
        variable = self.choices[kind, index, region] = self.linear.add_choice()
        return variable

    def add_under_way(self, choice: Choice, slot: int) -> int:
        """A variable that is 1 in plans in which that copy is under way in the slot, else 0."""
        variable = self.under_way[(*choice, slot)] = self.linear.add_choice()
        return variable

    def sinks_of(self, group: int) -> list[Sink]:
        """The sinks of a group, in time order."""
        return self._sinks.get(group, [])

    def cheapest(self, level: int, start: int, end: int) -> float:
        """Smallest multiplicity of a copy that starts at `level` or in its slots `[start, end)`.

        A copy may run inside a branch, at its lower multiplicity, also in one that has no code but
        loops.
        """
        inside = (r for r in self._cheaper[level] if max(start, r.start) < min(end, r.end))
        return min((r.multiplicity for r in inside), default=self.program.multiplicity(level))

    def around(self, time: int) -> list[int]:
        """The regions that hold slot `time`, innermost first."""
        return self.program.outwards(self.program.level_at(time))[:-1]


def scaled(terms: Expression, factor: float) -> Expression:
    """`factor` times an expression."""
    return [(variable, factor * value) for variable, value in terms]


class GroupRows:
    """Builder of the variables and rows of one group that may live in fast memory."""

    def __init__(self, parts: GroupParts, number: int) -> None:
        self.parts, self.linear, self.program = parts, parts.linear, parts.program
        program, scale = self.program, parts.scale
        self.number, self.group = number, program.groups[number]
        self.indices = program.touches_of_group[number]
        self.touches: list[Touch] = [program.touches[i] for i in self.indices]
        self.times = [touch.time for touch in self.touches]
        self.writes = [place for place, touch in enumerate(self.touches) if touch.writes]
        self.defined = min(program.values[v].defined for v in self.group.values)
        size = self.group.size_bytes
        granules = -(-size // program.hardware.alignment)
        self.padded_size = granules * program.hardware.alignment / scale.byte
        self.size = size / scale.byte
        self.work = size / program.hardware.bandwidth / scale.second_s
        self.sinks = parts.sinks_of(number)
        self.served: list[Expression] = []
        self.stayed: list[Expression] = []
        self.written_back: dict[int, Expression] = {}
        self.covers = self._add_covers()
        # Bytes under way are not charged where the place may already be charged as a cover.
        self.is_charged = not self.covers or (
            not self.group.is_written
            and all(self._holds(r, t) for r in self.covers for t in (self.times[0], self.times[-1]))
        )
        bounds = [program.regions[r] for r in self.covers]
        self.cuts = sorted({t for r in bounds for t in (r.start, r.end)})

    def build(self) -> None:
        """Add variables and rows in time order, then what the group holds in each slot."""
        cross_program = self._add_cross_program()
        for index in range(len(self.touches)):
            self._add_touch(index, cross_program)
        tail = self._add_tail(cross_program) if cross_program is not None else []
        for sink in self.sinks:
            self._add_sink(sink)
        self.stayed.append(tail)
        self._add_pieces()
        for number, touch, served in zip(self.indices, self.touches, self.served, strict=True):
            # A read that must be slow gains nothing from content that is there for a later one.
            self.parts.served[number] = [] if touch.must_be_slow else served

    def _number_of(self, index: int) -> int:
        """The program's number of the group's touch `index`; the end of the program is one too."""
        return self.indices[index] if index < len(self.indices) else -1 - self.number

    def _holds(self, region: int, time: int) -> bool:
        return self.program.regions[region].start <= time < self.program.regions[region].end

    def _is_branch(self, region: int) -> bool:
        return self.program.regions[region].kind == "branch"

    def _add_covers(self) -> dict[int, int]:
        """Add `c` per region with touches, where a stay from before the region could be of use.

        Of a branch it only says that a stay crosses its beginning or its end.
        """
        program, covers = self.program, dict[int, int]()
        needed = {s.region for s in self.sinks}
        for index, region in enumerate(program.regions):
            first, behind = (bisect_left(self.times, t) for t in (region.start, region.end))
            if first == behind or (self.defined > region.start and not self._is_branch(index)):
                continue
            later = behind < len(self.touches) or self._may_be_cross_program
            if self.touches[first].reads or later or index in needed:
                covers[index] = self.parts.add_choice(Kind.COVERS, self.number, index)
                around = program.outwards(region.parent)[:-1]
                outer = [covers[r] for r in around if r in covers and not self._is_branch(r)]
                if outer:
                    self.linear.add_row([(outer[0], 1.0), (covers[index], -1.0)], high=0.0)
        return covers

    @property
    def _may_be_cross_program(self) -> bool:
        most = self.program.hardware.max_cross_program_prefetches
        return self.group.is_input and not self.group.is_written and most > 0

    def _add_cross_program(self) -> int | None:
        if not self._may_be_cross_program:
            return None
        cross_program = self.parts.add_choice(Kind.CROSS_PROGRAM, self.number)
        self.parts.cross_program.append(cross_program)
        return cross_program

    def _add_touch(self, index: int, cross_program: int | None) -> None:
        touch = self.touches[index]
        if touch.must_be_slow and touch.writes:
            # The slow write ends whatever content a stay had.
            self.stayed.append([])
            self.served.append([])
            if touch.reads:
                self._need_slow_copy(touch.time, [], index, [])
        elif not touch.reads:
            self.stayed.append([])
            self.served.append([(self.parts.add_choice(Kind.SERVED, self._number_of(index)), 1.0)])
        else:
            before: Expression = [(cross_program, 1.0)] if cross_program is not None else []
            if index > 0:
                before = self.served[index - 1]
            stayed = self._add_residency(before, index)
            fetched = self._add_prefetches(index)
            self.stayed.append(stayed)
            is_there = self.parts.add_choice(Kind.SERVED, self._number_of(index))
            sources = stayed + [(p.share, 1.0) for p in fetched]
            self.linear.add_row([*sources, (is_there, -1.0)], 0.0, 0.0)
            self.served.append([(is_there, 1.0)])
            excused = [] if touch.must_be_slow else stayed
            self._need_slow_copy(touch.time, excused, index, fetched)
        if touch.writes:
            self.written_back[index] = self._add_write_backs(index)

    def _add_residency(self, before: Expression, index: int) -> Expression:
        """Add `r`: the content stays from touch `index - 1` (`before`: its service) to `index`."""
        crossed = self._crossed(index)
        if not before or any(r not in self.covers for r in crossed):
            return []
        stays = self.parts.add_choice(Kind.STAYS, self._number_of(index))
        self.linear.add_row([(stays, 1.0), *scaled(before, -1.0)], high=0.0)
        for region in crossed:
            self.linear.add_row([(stays, 1.0), (self.covers[region], -1.0)], high=0.0)
        return [(stays, 1.0)]

    def _crossed(self, index: int) -> set[int]:
        """Regions that hold one of touch `index - 1` and `index`, not both."""
        old = self.touches[index - 1].time if index > 0 else -1
        new = self.touches[index].time if index < len(self.touches) else self.program.num_slots
        return set(self.parts.around(old)) ^ set(self.parts.around(new))

    def _last_write(self, index: int) -> int | None:
        """The last touch before touch `index` that writes."""
        before = bisect_left(self.writes, index)
        return self.writes[before - 1] if before else None

    def _add_prefetches(self, index: int) -> list[Prefetch]:
        """Add `p` for touch `index`: one at its level, one per outer level it can come from."""
        time = self.touches[index].time
        wrote = self._last_write(index)
        ready = 0 if wrote is None else self.touches[wrote].end
        prefetches = []
        inner, deadline = None, time
        for level in self.program.outwards(self.program.level_at(time)):
            start = max(ready, 0 if level == TOP_LEVEL else self.program.regions[level].start)
            if inner is not None:
                # A copy outside `inner` fills a stay that covers it, for its first touch.
                deadline = self.program.regions[inner].start
                is_first = index == 0 or self.touches[index - 1].time < deadline
                if not (is_first and inner in self.covers):
                    break
            last = deadline if inner is None else deadline - 1
            if start <= last:
                multiplicity = self.parts.cheapest(level, start, last + 1)
                prefetch = self._add_prefetch(index, level, multiplicity, start, deadline)
                prefetches.append(prefetch)
                if inner is not None:
                    terms = [(prefetch.share, 1.0), (self.covers[inner], -1.0)]
                    self.linear.add_row(terms, high=0.0)
            inner = level
        return prefetches

    def _add_prefetch(
        self, index: int, level: int, multiplicity: float, start: int, time: int
    ) -> Prefetch:
        choice = Kind.PREFETCHED, self._number_of(index), level
        fetched = Prefetch(
            share=self.parts.add_choice(*choice),
            choice=choice,
            group=self.number,
            size=self.size,
            padded_size=self.padded_size,
            level=level,
            multiplicity=multiplicity,
            start=start,
            time=time,
            is_charged=self.is_charged,
        )
        self.parts.prefetches.append(fetched)
        return fetched

    def _add_write_backs(self, index: int) -> Expression:
        """Add `b` after touch `index`, one per level; returns them, each with its work."""
        time, release = self.touches[index].time, self.touches[index].end
        following = bisect_right(self.writes, index)
        is_last = following == len(self.writes)
        last = self.program.num_slots if is_last else self.times[self.writes[following]]
        shares: Expression = []
        start, inner = release, None
        for level in self.program.outwards(self.program.level_at(time)):
            if inner is not None:
                start = self.program.regions[inner].end
                if start > last or inner not in self.covers:
                    break
            end = min(last, self.program.level_end(level))
            work = self.work * self.parts.cheapest(level, start, end)
            choice = Kind.WRITTEN_BACK, self._number_of(index), level
            share = self.parts.add_choice(*choice)
            if inner is not None:
                self.linear.add_row([(share, 1.0), (self.covers[inner], -1.0)], high=0.0)
            self.parts.write_backs.append(
                WriteBack(share, choice, self.number, work, release, self.padded_size, last)
            )
            shares.append((share, work))
            inner = level
        return shares

    def _need_slow_copy(
        self, time: int, excused: Expression, index: int, fetched: list[Prefetch]
    ) -> None:
        """Require that before touch `index` the last write is slow, excused, or written back."""
        wrote = self._last_write(index)
        if wrote is None:
            return
        shares = self.written_back[wrote]
        needed = self.served[wrote] + scaled(excused, -1.0)
        self.linear.add_row(needed + [(b, -1.0) for b, _ in shares], high=0.0)
        work = scaled(needed, min(w for _, w in shares))
        work += [(p.share, self.work * p.multiplicity) for p in fetched]
        self.parts.windows.append(Window(work, self.touches[wrote].end, time))

    def _add_sink(self, sink: Sink) -> None:
        index = bisect_left(self.times, sink.time)
        cover = self.covers.get(sink.region)
        excused: Expression = [(cover, 1.0)] if cover is not None else []
        self._need_slow_copy(sink.time, excused, index, [])

    def _add_tail(self, cross_program: int) -> Expression:
        """A cross-program prefetch stays to the end, or a copy brings it back by then."""
        end = self.program.num_slots
        stays = self._add_residency(self.served[-1], len(self.touches))
        last = [r for r in range(len(self.program.regions)) if self.program.regions[r].end == end]
        multiplicity = min(self.program.multiplicity(level) for level in [TOP_LEVEL, *last])
        back = self._add_prefetch(len(self.touches), TOP_LEVEL, multiplicity, 0, end)
        self.linear.add_row(
            [(cross_program, 1.0), *scaled(stays, -1.0), (back.share, -1.0)], high=0.0
        )
        return stays

    def _add_pieces(self) -> None:
        """Add what the group holds, slot by slot: at a touch, in the gap before it, as a cover.

        A touch in flight holds its place to its end, or as long as no other touch says more.
        """
        end, old = self.program.num_slots, 0
        following = [*(touch.time for touch in self.touches[1:]), end]
        spans = zip(self.touches, self.served, self.stayed, following, strict=False)
        for touch, served, stayed, then in spans:
            self._add_span(old, touch.time, stayed)
            old = min(touch.end, then)
            self._add_span(touch.time, old, served)
        self._add_span(old, end, self.stayed[-1])

    def _add_span(self, start: int, end: int, held: Expression) -> None:
        """Add the pieces of `[start, end)`, cut where covered regions begin and end."""
        within = self.cuts[bisect_right(self.cuts, start) : bisect_left(self.cuts, end)]
        for first, last in pairwise([start, *within, end]):
            loops = (r for r in self.parts.around(first) if not self._is_branch(r))
            cover = next((self.covers[r] for r in loops if r in self.covers), None)
            if first < last:
                self._add_piece(first, last, held, cover)

    def _add_piece(self, start: int, end: int, held: Expression, cover: int | None) -> None:
        if cover is not None and held:
            top = self.linear.add_variable(1.0)
            self.linear.add_row([*held, (top, -1.0)], high=0.0)
            self.linear.add_row([(cover, 1.0), (top, -1.0)], high=0.0)
            held = [(top, 1.0)]
        elif cover is not None:
            held = [(cover, 1.0)]
        if held:
            self.parts.pieces.append(Piece(self.number, start, end, held, self.padded_size))

"""Copies that are followed one by one: each holds the whole of its place while it is under way.

A store (`engine.plan.bounds.shared_rows`) knows how many bytes of all copies together have arrived,
and charges each byte for its place from then on; it charges nothing for what is written back. In a
plan a prefetch holds its whole place from its start, and a write-back until its end. Here every
copy has bytes of its own, and a variable per slot, 0 or 1 in every plan, that says whether it is
**under way**: a prefetch from its start to its touch, a write-back from the write to its end.

- If a prefetch is not under way in a slot, nothing of it has arrived by the slot's end. If a
  write-back is not under way in a slot, nothing of it is left to do.
- A prefetch that is not under way in a slot is done by later idle time and by stalls. If the later
  idle time is too short, stalls do the rest or the copy is under way. The same holds for a
  write-back and the idle time before the slot.

A copy is followed in some slots only, next to where it is due or released. Bytes that arrive before
these slots, or remain after them, are modelled by the shared store
(`engine.plan.bounds.shared_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.plan.bounds.group_rows import (
    Choice,
    Expression,
    GroupParts,
    Kind,
    Piece,
    Prefetch,
    WriteBack,
)

MOST_SLOTS = 48
"""Most slots in which one copy is followed."""
MANY_TIMES = 3.0
"""A copy is followed through slots whose idle time could do its work so many times."""


@dataclass
class WholeCopies:
    """Builder of the variables and rows of followed copies, one copy at a time.

    `most_idle`: most idle time that a slot can have, per slot; `in_idle`, `in_stall`: terms of the
    rows that all copies share, the idle time of a slot and the stall before it. `fetching`: what
    prefetches hold beside what their groups hold; `in_place`: by group and slot, what copies hold
    that may go from or into a place that the group holds then: it counts only once.
    """

    parts: GroupParts
    most_idle: Sequence[float]
    in_idle: Sequence[Expression]
    in_stall: Mapping[int, Expression]
    fetching: list[Piece] = field(default_factory=list)
    in_place: dict[int, dict[int, list[Piece]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.linear, scale = self.parts.linear, self.parts.scale
        bandwidth = self.parts.program.hardware.bandwidth
        self._seconds_per_byte = scale.byte / bandwidth / scale.second_s

    def add_prefetch(self, copy: Prefetch) -> tuple[int, Expression, float]:
        """Add a prefetch; returns the first slot that follows it, and the bytes arrived before.

        Third: the least multiplicity at which these have arrived.
        """
        seconds = copy.multiplicity * self._seconds_per_byte
        work = seconds * copy.size
        spans, loop = self._followed(self._before(copy), work), self._loop_before(copy)
        first = spans[-1][-1] if spans else copy.time
        stalls = self._add_stalls(range(first, copy.time + 1), copy.size, seconds)
        later: Expression = [(copy.share, 1.0)]
        ways: list[int] = []
        idle = 0.0
        for span in spans:
            after = [(v, seconds) for time, v in stalls.items() if time > span[0]]
            ways.append(self._add_under_way(copy.choice, span[0], later, work - idle, after))
            later = [(ways[-1], 1.0)]
            piece = Piece(copy.group, span[-1], span[0] + 1, later, copy.padded_size)
            if copy.is_charged:
                self.fetching.append(piece)
            else:
                self._note_in_place(piece)
            idle += self._idle_in(span)
        early: Expression = []
        if first > copy.start:
            early = [(self.linear.add_variable(copy.size), 1.0)]
        arrived = early
        for span, way in zip(reversed(spans), reversed(ways), strict=True):
            for slot in reversed(span):
                copied, total = self._add_work(slot, copy.size, seconds)
                arrived = [*arrived, (stalls[slot], 1.0), (copied, 1.0), (total, -1.0)]
                self.linear.add_row(arrived, 0.0, 0.0)
                self.linear.add_row([(total, 1.0), (way, -copy.size)], high=0.0)
                arrived = [(total, 1.0)]
        arrived = [*arrived, (stalls[copy.time], 1.0), (copy.share, -copy.size)]
        self.linear.add_row(arrived, 0.0, 0.0)
        if loop is None or first > self.parts.program.regions[loop].end:
            return first, early, copy.multiplicity
        # All these bytes arrive in the loop of the last write, in each iteration, into a stay that
        # covers it.
        cover = self.parts.choices.get((Kind.COVERS, copy.group, loop))
        if early and cover is not None:
            self.linear.add_row([*early, (cover, -copy.size)], high=0.0)
        return first, early, self.parts.cheapest(loop, copy.start, first)

    def add_write_back(self, copy: WriteBack) -> tuple[int, Expression]:
        """Add a write-back; returns the first slot that does not follow it, and the work left."""
        spans = self._followed(self._after(copy), copy.work)
        end = spans[-1][-1] + 1 if spans else copy.release
        stalls = self._add_stalls(range(copy.release, end), copy.work, 1.0)
        earlier: Expression = [(copy.share, 1.0)]
        left: Expression = [(copy.share, copy.work)]
        idle = 0.0
        for span in spans:
            before = [(v, 1.0) for time, v in stalls.items() if time <= span[0]]
            way = self._add_under_way(copy.choice, span[0], earlier, copy.work - idle, before)
            earlier = [(way, 1.0)]
            piece = Piece(copy.group, span[0], span[-1] + 1, earlier, copy.padded_size)
            self._note_in_place(piece)
            for slot in span:
                left = [*left, (stalls[slot], -1.0)]
                self.linear.add_row([*left, (way, -copy.work)], high=0.0)
                done, rest = self._add_work(slot, copy.work, 1.0)
                self.linear.add_row([*left, (done, -1.0), (rest, -1.0)], 0.0, 0.0)
                left = [(rest, 1.0)]
            idle += self._idle_in(span)
        return end, left

    def with_copies(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces of the groups, and in each slot what copies hold beyond them."""
        parts = []
        left = {group: dict(slots) for group, slots in self.in_place.items()}
        for piece in pieces:
            own = left.get(piece.group, {})
            start = piece.start
            for slot in [slot for slot in range(piece.start, piece.end) if slot in own]:
                if start < slot:
                    parts.append(Piece(piece.group, start, slot, piece.held, piece.padded_size))
                held = Piece(piece.group, slot, slot + 1, piece.held, piece.padded_size)
                parts.append(self._most([held, *own.pop(slot)]))
                start = slot + 1
            if start < piece.end:
                parts.append(Piece(piece.group, start, piece.end, piece.held, piece.padded_size))
        others = [self._most(copies) for own in left.values() for copies in own.values()]
        return parts + others + self.fetching

    def _most(self, pieces: Sequence[Piece]) -> Piece:
        """One piece for several of one group in one slot: a variable that none is above."""
        if len(pieces) == 1:
            return pieces[0]
        top = self.linear.add_variable(1.0)
        for piece in pieces:
            self.linear.add_row([*piece.held, (top, -1.0)], high=0.0)
        return replace(pieces[0], held=[(top, 1.0)])

    def _note_in_place(self, piece: Piece) -> None:
        for slot in range(piece.start, piece.end):
            part = replace(piece, start=slot, end=slot + 1)
            self.in_place.setdefault(piece.group, {}).setdefault(slot, []).append(part)

    def _before(self, copy: Prefetch) -> list[range]:
        """Slots, from its touch back, in spans in which a prefetch holds its place in all or none.

        Of a loop that is not around the copy a span holds all slots: a copy that begins in it goes
        into a stay that covers it. The spans end at the loop of the last write, if the copy may
        begin in it, and for a return at a loop that ends the program, where its stay may begin.
        There are no more than can be followed.
        """
        program = self.parts.program
        spans: list[range] = []
        slot = copy.time
        while slot > copy.start and len(spans) < MOST_SLOTS:
            loop = self._loop_within(copy.choice, slot - 1)
            start = slot - 1 if loop is None else program.regions[loop].start
            is_return = copy.choice[1] < 0
            ends_program = loop is not None and program.regions[loop].end == program.num_slots
            if start < copy.start or (is_return and ends_program):
                break
            spans.append(range(slot - 1, start - 1, -1))
            slot = start
        return spans

    def _loop_before(self, copy: Prefetch) -> int | None:
        """The loop of the last write, if the copy may begin in it."""
        loop = self._loop_within(copy.choice, copy.start) if copy.start < copy.time else None
        is_begun = loop is not None and self.parts.program.regions[loop].start < copy.start
        return loop if is_begun else None

    def _after(self, copy: WriteBack) -> list[range]:
        """The same of a write-back, from its write on."""
        spans: list[range] = []
        slot = copy.release
        while slot < copy.last and len(spans) < MOST_SLOTS:
            loop = self._loop_within(copy.choice, slot)
            end = slot + 1 if loop is None else self.parts.program.regions[loop].end
            spans.append(range(slot, min(end, copy.last)))
            slot = end
        return spans

    def _loop_within(self, choice: Choice, slot: int) -> int | None:
        """The outermost loop around a slot that does not hold the copy; None without one."""
        program, (_, _, level) = self.parts.program, choice
        around = program.outwards(program.level_at(slot))
        inner = around[: around.index(level)] if level in around else []
        return next((r for r in reversed(inner) if program.regions[r].kind != "branch"), None)

    def _idle_in(self, span: range) -> float:
        return sum(self.most_idle[slot] for slot in span)

    def _followed(self, spans: Sequence[range], work: float) -> list[range]:
        """Of these spans those in which a copy is followed; the last may be cut short."""
        followed: list[range] = []
        left, idle = MOST_SLOTS, 0.0
        for span in spans:
            if not left or idle >= MANY_TIMES * work:
                break
            followed.append(span[:left])
            left -= len(followed[-1])
            idle += self._idle_in(span)
        return followed

    def _add_stalls(self, times: range, most: float, seconds: float) -> dict[int, int]:
        """Variables, by slot: the part of a copy that the stall before each of `times` does."""
        stalls = {time: self.linear.add_variable(most) for time in times}
        for time, part in stalls.items():
            self.in_stall[time].append((part, seconds))
        return stalls

    def _add_under_way(
        self, choice: Choice, slot: int, outer: Expression, lack: float, stalls: Expression
    ) -> int:
        """Add the variable that says whether the copy is under way in `slot`; returns it.

        It is at most `outer`. It is 1 if the copy is made and its `stalls` do less than `lack`.
        `lack`: the work that does not fit into the idle time outside of the copy's own slots.
        """
        way, share = self.parts.add_under_way(choice, slot), self.parts.choices[choice]
        self.linear.add_row([(way, 1.0), *((v, -c) for v, c in outer)], high=0.0)
        if lack > 0:
            rest = [(v, -c) for v, c in stalls]
            self.linear.add_row([(share, lack), (way, -lack), *rest], high=0.0)
        return way

    def _add_work(self, slot: int, most: float, seconds: float) -> tuple[int, int]:
        """Variables: what a slot's idle time does of a copy; what has arrived or is left then."""
        done, total = self.linear.add_variable(most), self.linear.add_variable(most)
        self.in_idle[slot].append((done, seconds))
        return done, total

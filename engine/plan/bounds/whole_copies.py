"""Copies that are followed one by one: each holds the whole of its place while it is under way.

A store (`engine.plan.bounds.traffic`) knows how many bytes of all copies together have arrived, and
charges each byte for its place from then on; it charges nothing for what is written back. In a plan
a prefetch holds its whole place from its start, and a write-back until its end. Here every copy has
bytes of its own, and a variable per slot, 0 or 1 in every plan, that says whether it is **under
way**: a prefetch from its start to its touch, a write-back from the write to its end.

- If a prefetch is not under way in a slot, nothing of it has arrived by the slot's end. If a
  write-back is not under way in a slot, nothing of it is left to do.
- A prefetch that is not under way in a slot is done by later idle time and by stalls. If the later
  idle time is too short, stalls do the rest or the copy is under way. The same holds for a
  write-back and the idle time before the slot.

A copy is followed in some slots only, next to where it is due or released. Bytes that arrive before
these slots, or remain after them, are modelled by the shared store (`engine.plan.bounds.traffic`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.plan.bounds.groups import (
    Choice,
    Expression,
    GroupParts,
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
    prefetches hold; `writing_back`: by group and slot, what write-backs hold.
    """

    parts: GroupParts
    most_idle: Sequence[float]
    in_idle: Sequence[Expression]
    in_stall: Mapping[int, Expression]
    fetching: list[Piece] = field(default_factory=list)
    writing_back: dict[int, dict[int, Piece]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.linear, scale = self.parts.linear, self.parts.scale
        bandwidth = self.parts.program.hardware.bandwidth
        self._seconds_per_byte = scale.byte / bandwidth / scale.second_s

    def add_prefetch(self, copy: Prefetch) -> tuple[int, Expression]:
        """Add a prefetch; returns the first slot that follows it, and the bytes arrived before."""
        seconds = copy.multiplicity * self._seconds_per_byte
        work = seconds * copy.size
        slots = range(copy.start, copy.time)
        slots = slots[len(slots) - self._followed(slots[::-1], work) :]
        first = slots.start if slots else copy.time
        stalls = self._add_stalls(range(first, copy.time + 1), copy.size, seconds)
        later: Expression = [(copy.share, 1.0)]
        ways: dict[int, int] = {}
        idle = 0.0
        for slot in reversed(slots):
            after = [(v, seconds) for time, v in stalls.items() if time > slot]
            ways[slot] = self._add_under_way(copy.choice, slot, later, work - idle, after)
            later = [(ways[slot], 1.0)]
            self.fetching.append(Piece(copy.group, slot, slot + 1, later, copy.padded_size))
            idle += self.most_idle[slot]
        early: Expression = []
        if first > copy.start:
            early = [(self.linear.add_variable(copy.size), 1.0)]
        arrived = early
        for slot in slots:
            copied, total = self._add_work(slot, copy.size, seconds)
            arrived = [*arrived, (stalls[slot], 1.0), (copied, 1.0), (total, -1.0)]
            self.linear.add_row(arrived, 0.0, 0.0)
            self.linear.add_row([(total, 1.0), (ways[slot], -copy.size)], high=0.0)
            arrived = [(total, 1.0)]
        arrived = [*arrived, (stalls[copy.time], 1.0), (copy.share, -copy.size)]
        self.linear.add_row(arrived, 0.0, 0.0)
        return first, early

    def add_write_back(self, copy: WriteBack) -> tuple[int, Expression]:
        """Add a write-back; returns the first slot that does not follow it, and the work left."""
        slots = range(copy.release, copy.last)
        slots = slots[: self._followed(slots, copy.work)]
        stalls = self._add_stalls(slots, copy.work, 1.0)
        earlier: Expression = [(copy.share, 1.0)]
        left: Expression = [(copy.share, copy.work)]
        idle = 0.0
        for slot in slots:
            before = [(v, 1.0) for time, v in stalls.items() if time <= slot]
            way = self._add_under_way(copy.choice, slot, earlier, copy.work - idle, before)
            earlier = [(way, 1.0)]
            piece = Piece(copy.group, slot, slot + 1, [], copy.padded_size)
            self.writing_back.setdefault(copy.group, {}).setdefault(slot, piece).held.append(
                (way, 1.0)
            )
            left = [*left, (stalls[slot], -1.0)]
            self.linear.add_row([*left, (way, -copy.work)], high=0.0)
            done, rest = self._add_work(slot, copy.work, 1.0)
            self.linear.add_row([*left, (done, -1.0), (rest, -1.0)], 0.0, 0.0)
            left = [(rest, 1.0)]
            idle += self.most_idle[slot]
        return slots.stop if slots else copy.release, left

    def with_write_backs(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces of the groups, and in each slot what a write-back holds beyond them."""
        parts = []
        left = {group: dict(slots) for group, slots in self.writing_back.items()}
        for piece in pieces:
            own = left.get(piece.group, {})
            slots = [slot for slot in range(piece.start, piece.end) if slot in own]
            start = piece.start
            for slot in slots:
                if start < slot:
                    parts.append(Piece(piece.group, start, slot, piece.held, piece.padded_size))
                top = self.linear.add_variable(1.0)
                self.linear.add_row([*piece.held, (top, -1.0)], high=0.0)
                self.linear.add_row([*own.pop(slot).held, (top, -1.0)], high=0.0)
                parts.append(Piece(piece.group, slot, slot + 1, [(top, 1.0)], piece.padded_size))
                start = slot + 1
            if start < piece.end:
                parts.append(Piece(piece.group, start, piece.end, piece.held, piece.padded_size))
        return parts + [piece for own in left.values() for piece in own.values()]

    def _followed(self, slots: range, work: float) -> int:
        """The number of these slots, from the first, in which a copy is followed."""
        number, idle = 0, 0.0
        for slot in slots:
            if number == MOST_SLOTS or idle >= MANY_TIMES * work:
                break
            number += 1
            idle += self.most_idle[slot]
        return number

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

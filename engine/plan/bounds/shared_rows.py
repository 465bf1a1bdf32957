"""The rows that all groups share in the lower bound: idle time, capacity, packing, stalls."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engine.plan.bounds.group_rows import Expression, GroupParts, Piece, Prefetch, scaled
from engine.plan.bounds.whole_copies import WholeCopies
from engine.program.model import TOP_LEVEL, Touch


@dataclass(frozen=True)
class Idle:
    """Upper bound `constant + terms` on a slot's idle time, in the linear program's units.

    `terms`: linear in the served shares of the slot's touches and in its floor variable. `most`: an
    upper bound for all values of these.
    """

    constant: float
    terms: Expression
    most: float


def idle_time(parts: GroupParts, floors: Mapping[int, int]) -> list[Idle]:
    """The idle time of each slot, in order; `floors`: as in `SharedRows`, the variable by slot."""
    program, second_s = parts.program, parts.scale.second_s
    by_slot: list[list[tuple[Touch, Expression | None]]] = [[] for _ in range(program.num_slots)]
    for index, touch in enumerate(program.touches):
        by_slot[touch.time].append((touch, parts.served.get(index)))
    idles = []
    for slot, touches in enumerate(by_slot):
        instruction = program.instructions[slot]
        base, gains, shares = instruction.fast_s, [], []
        for touch, served in touches:
            gain = touch.saving_s - touch.slow_bytes / program.hardware.bandwidth
            if served is None:
                base += gain
            else:
                gains.append(gain)
                shares.append(served)
        constant, slopes = idle_envelope(base, np.array(gains))
        terms = [
            (v, -slope * value / second_s)
            for slope, served in zip(slopes, shares, strict=True)
            for v, value in served
        ]
        # An instruction that takes longer than its sum leaves as much more time idle.
        if slot in floors:
            terms.append((floors[slot], 1.0))
        longest_s = instruction.fast_s + sum(max(0.0, touch.saving_s) for touch, _ in touches)
        free_s = constant + float(np.maximum(slopes, 0.0).sum())
        most_s = max(longest_s, instruction.floor_s) if slot in floors else free_s
        idles.append(Idle((constant + float(slopes.sum())) / second_s, terms, most_s / second_s))
    return idles


def idle_envelope(base: float, gains: np.ndarray) -> tuple[float, np.ndarray]:
    """Upper bound `constant + slopes·y` of `max(0, base + gains·y)` for all 0/1 vectors `y` `[N]`.

    Negative gains are shrunk so that together they take at most `base`; a negative base is
    charged to the positive gains in proportion.
    """
    up = np.maximum(gains, 0.0)
    down = np.minimum(gains, 0.0)
    if base >= 0:
        fall = -float(down.sum())
        return base, up + down * (min(1.0, base / fall) if fall > 0 else 0.0)
    rise = float(up.sum())
    return 0.0, up * (max(0.0, base + rise) / rise if rise > 0 else 0.0)


MAX_PACKED = 3
ROUNDING = 1e-9
"""Room for rounding in the sizes of packing rows, to the safe side."""


@dataclass
class SharedRows:
    """Adds the rows that all groups share.

    `floors`: slot -> variable with the seconds of savings beyond the slot's floor.
    `is_whole`: copies are modelled one by one. `capacity`, `idle`: a row per slot. `packing`:
    rows with their slot and the bytes (in units of the fast memory) that one unit of their
    right-hand side stands for.
    """

    parts: GroupParts
    floors: Mapping[int, int]
    is_whole: bool = False
    capacity: list[int] = field(default_factory=list)
    idle: list[int] = field(default_factory=list)
    packing: list[tuple[int, int, float]] = field(default_factory=list)
    stalls: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.program, self.linear = self.parts.program, self.parts.linear
        self._end = self.program.num_slots
        self._in_place: list[Expression] = [[] for _ in range(self._end)]
        self._in_idle: list[Expression] = [[] for _ in range(self._end)]
        self._in_stall: dict[int, Expression] = defaultdict(list)
        self._idle = idle_time(self.parts, self.floors)
        # No plan need stall longer than the all-slow plan takes: a worse one is above the bound.
        self._longest = self.program.all_slow_s / self.parts.scale.second_s

    def add(self) -> None:
        """All shared rows; the objective's stalls are costs of the stall variables."""
        self._add_stalls()
        most_idle = [idle.most for idle in self._idle]
        whole = None
        if self.is_whole:
            whole = WholeCopies(self.parts, most_idle, self._in_idle, self._in_stall)
        stores: dict[tuple[int, float, bool], list[Prefetch]] = defaultdict(list)
        for item in self.parts.prefetches:
            stores[item.level, item.multiplicity, item.is_charged].append(item)
        for (level, multiplicity, is_charged), items in stores.items():
            due: dict[float, dict[int, Expression]] = defaultdict(lambda: defaultdict(list))
            for item in items:
                time, size, least = item.time, [(item.share, item.size)], multiplicity
                if whole is not None:
                    time, size, least = whole.add_prefetch(item)
                due[least][time] += size
            total = sum(item.size for item in items)
            for times, some in due.items():
                self._add_store(level, times, some, total, is_charged)
        self._add_write_backs(whole)
        if whole is not None:
            self.parts.pieces = whole.with_copies(self.parts.pieces)
        self._forbid_giants()
        self._add_residents()
        self._add_packing()
        self._add_shared_rows()
        self._add_windows()
        if self.parts.cross_program:
            most = float(self.program.hardware.max_cross_program_prefetches)
            self.linear.add_row([(k, 1.0) for k in self.parts.cross_program], high=most)

    def _add_residents(self) -> None:
        """One variable per slot for the bytes held there, as a chain of what comes and goes."""
        change: list[Expression] = [[] for _ in range(self._end + 1)]
        for piece in self.parts.pieces:
            change[piece.start].extend(scaled(piece.held, piece.padded_size))
            change[piece.end].extend(scaled(piece.held, -piece.padded_size))
        old = None
        most = max((self._room(slot) for slot in range(self._end)), default=0.0)
        for slot in range(self._end):
            if change[slot] or old is None:
                # Not a tight limit: the price of the place belongs to the capacity row.
                new = self.linear.add_variable(2.0 * most)
                chain: Expression = [(new, -1.0), *change[slot]]
                self.linear.add_row(chain + ([(old, 1.0)] if old is not None else []), 0.0, 0.0)
                old = new
            self._in_place[slot].append((old, 1.0))

    def _forbid_giants(self) -> None:
        """Forbid to hold anything, even a share of it, where it does not fit beside the scratch."""
        room = [self._room(slot) for slot in range(self._end)]
        for piece in self.parts.pieces:
            if piece.padded_size > min(room[piece.start : piece.end]) + ROUNDING:
                self.linear.add_row(piece.held, high=0.0)

    def _add_packing(self) -> None:
        """Whole groups only: of those larger than 1/(m+1) of the room, at most m fit.

        Row 5 of `docs/bound.md`. If places `s` fit into a room `R`, then `Σ (⌈(m+1) s / R⌉ - 1) <
        m + 1`, an integer. Rows stand at the slots where a set of big pieces is largest: before the
        next one ends.
        """
        big = [p for p in self.parts.pieces if p.padded_size > 1 / (MAX_PACKED + 1)]
        ends = {p.end for p in big}
        starts = {p.start for p in big}
        live: list[Piece] = []
        has_grown = False
        by_start: dict[int, list[Piece]] = defaultdict(list)
        for piece in big:
            by_start[piece.start].append(piece)
        for slot in range(self._end):
            if slot in ends:
                live = [p for p in live if p.end > slot]
            live += by_start.get(slot, [])
            has_grown |= slot in starts
            room = self._room(slot)
            if has_grown and room > 0 and slot + 1 in ends:
                self._pack(live, slot, room)
                has_grown = False

    def _pack(self, live: list[Piece], slot: int, room: float) -> None:
        for most in range(1, MAX_PACKED + 1):
            terms: Expression = []
            for piece in live:
                weight = math.ceil((most + 1) * piece.padded_size / room - ROUNDING) - 1
                if weight > 0:
                    terms += scaled(piece.held, float(weight))
            if terms:
                row = self.linear.add_row(terms, high=float(most))
                self.packing.append((row, slot, room / most))

    def _room(self, slot: int) -> float:
        """Bytes that stays may hold; rounded up to the alignment, as their sizes are."""
        hardware = self.program.hardware
        granule = hardware.alignment
        scratch = self.program.instructions[slot].reserved_bytes
        granules = -(-hardware.fast_bytes // granule) - -(-scratch // granule)
        return max(0, granules) * granule / self.parts.scale.byte

    def _add_store(
        self,
        level: int,
        multiplicity: float,
        due: Mapping[int, Expression],
        total: float,
        is_charged: bool,
    ) -> None:
        """The store: bytes already copied and not yet due, per slot from the start of the level.

        `due`: the bytes that must have arrived before a slot; `total`: the most of all together.
        """
        scale = self.parts.scale
        seconds = scale.byte * multiplicity / self.program.hardware.bandwidth / scale.second_s
        start = 0 if level == TOP_LEVEL else self.program.regions[level].start
        last = max(due)
        stored: Expression = []
        for slot in range(start, last + 1):
            if slot in due or self.is_whole:
                stalled = self.linear.add_variable(total)
                self._in_stall[slot].append((stalled, seconds))
                stored = [*stored, (stalled, 1.0)]
            if slot in due:
                stored = [*stored, *scaled(due[slot], -1.0)]
                self.linear.add_row(stored, low=0.0)
            if slot == last:
                break
            copied = self.linear.add_variable(total)
            self._in_idle[slot].append((copied, seconds))
            store = self.linear.add_variable(total)
            self.linear.add_row([*stored, (copied, 1.0), (store, -1.0)], 0.0, 0.0)
            stored = [(store, 1.0)]
            if is_charged:
                self._in_place[slot].append((store, 1.0))

    def _add_stalls(self) -> None:
        """A stall may come before any slot at which a copy is due; copies followed, any slot."""
        times = {item.time for item in self.parts.prefetches} | {w.end for w in self.parts.windows}
        for time in range(self._end + 1) if self.is_whole else sorted(times | {self._end}):
            self.stalls[time] = self.linear.add_variable(self._longest, cost=1.0)

    def _add_write_backs(self, whole: WholeCopies | None) -> None:
        """Work of write-backs that is released but not done; none is left at the end."""
        release: dict[int, Expression] = defaultdict(list)
        for item in self.parts.write_backs:
            if whole is not None:
                time, work = whole.add_write_back(item)
            else:
                time, work = item.release, [(item.share, item.work)]
            release[time] += work
        total = sum(item.work for item in self.parts.write_backs)
        pending: Expression = []
        for slot in range(min(release, default=self._end), self._end + 1):
            pending = pending + release.get(slot, [])
            if slot in self.stalls:
                stalled = self.linear.add_variable(total)
                self._in_stall[slot].append((stalled, 1.0))
                pending = [*pending, (stalled, -1.0)]
            if slot == self._end:
                self.linear.add_row(pending, high=0.0)
                break
            done = self.linear.add_variable(total)
            self._in_idle[slot].append((done, 1.0))
            left = self.linear.add_variable(total)
            self.linear.add_row([*pending, (done, -1.0), (left, -1.0)], 0.0, 0.0)
            pending = [(left, 1.0)]

    def _add_shared_rows(self) -> None:
        for slot in range(self._end):
            self.capacity.append(self.linear.add_row(self._in_place[slot], high=self._room(slot)))
            idle = self._idle[slot]
            terms = self._in_idle[slot] + scaled(idle.terms, -1.0)
            self.idle.append(self.linear.add_row(terms, high=idle.constant))
        for time, terms in sorted(self._in_stall.items()):
            self.linear.add_row([*terms, (self.stalls[time], -1.0)], high=0.0)

    def _add_windows(self) -> None:
        """A chain of all idle and stall time so far; each window is a difference of two."""
        if not self.parts.windows:
            return
        used = {w.start for w in self.parts.windows} | {w.end for w in self.parts.windows}
        so_far: dict[int, Expression] = {}
        chain: Expression = []
        constant = 0.0
        limit = 2 * self._longest
        for slot in range(self._end + 1):
            if slot in used:
                total = self.linear.add_variable(limit)
                self.linear.add_row([*chain, (total, -1.0)], -constant, -constant)
                so_far[slot] = chain = [(total, 1.0)]
                constant = 0.0
            if slot in self.stalls:
                chain = [*chain, (self.stalls[slot], 1.0)]
            if slot < self._end:
                chain = chain + self._idle[slot].terms
                constant += self._idle[slot].constant
        for window in self.parts.windows:
            terms = window.work + [(v, -c) for v, c in so_far[window.end]]
            terms.append((self.stalls[window.end], -1.0))
            self.linear.add_row(terms + so_far[window.start], high=0.0)

"""The integers of the mallocGame: bytes in granules, seconds in ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.program.model import TOP_LEVEL, Program

TICKS = 2**30
"""Ticks in `all_slow_s`."""


@dataclass(frozen=True)
class Quantised:
    """The program's quantities in granules and ticks; tuples over slots have `T` entries.

    `tick_s`: seconds per tick. `is_movable[g]`: the group's touches are moves. `valid_from[g]`: the
    slot from which the slow copy is valid before any move (`T + 1`: not until written).
    `slot_level` has `T + 1` entries. `base_ticks[k]`: `fast_s` and the savings that touches which
    are always slow do not take; `base_draw[k]`: their draw. `floor_ticks[k]`: `floor_s`, the ticks
    that the slot lasts at least. `spare_s[k]`, `spare_ticks[k]`: by how much the slot, all slow, is
    above its floor, which is all that its moves can save together (`spare_s` is infinite where no
    moves come down to the floor). `return_slot`: the last slot outside of all regions,
    in which a kept input must stand again; -1 if there is none.
    """

    granule: int
    tick_s: float
    fast_granules: int
    size_granules: tuple[int, ...]
    is_movable: tuple[bool, ...]
    valid_from: tuple[int, ...]
    slot_level: tuple[int, ...]
    reserved: tuple[int, ...]
    base_ticks: tuple[int, ...]
    base_draw: tuple[int, ...]
    floor_ticks: tuple[int, ...]
    spare_s: tuple[float, ...]
    spare_ticks: tuple[int, ...]
    bandwidth: float
    return_slot: int

    def ticks_down(self, seconds: float) -> int:
        """Whole ticks in `seconds`: of durations and savings."""
        return math.floor(seconds / self.tick_s)

    def ticks_up(self, num_bytes: float) -> int:
        """Ticks that slow memory needs for `num_bytes`, rounded up: of draws and copies."""
        return math.ceil(num_bytes / self.bandwidth / self.tick_s)

    def idle(self, slot: int, slow_ticks: int = 0, slow_draw: int = 0) -> int:
        """Idle ticks of a slot: how long it lasts less what it draws from slow memory.

        `slow_ticks = Σ saving_ticks` and `slow_draw = Σ draw_ticks`, both over the moves of the
        slot that are served from slow memory. Never more than the real idle time.
        """
        ticks = max(self.floor_ticks[slot], self.base_ticks[slot] + slow_ticks)
        return max(0, ticks - self.base_draw[slot] - slow_draw)


def quantise(program: Program) -> Quantised:
    """The integers of `program`."""
    hardware = program.hardware
    granule = hardware.alignment
    tick = program.all_slow_s / TICKS if program.all_slow_s > 0 else 1.0
    movable = _movable(program)
    base_s = [[i.fast_s] for i in program.instructions]
    saved_s: list[list[float]] = [[] for _ in program.instructions]
    drawn: list[list[int]] = [[] for _ in program.instructions]
    for touch in program.touches:
        if movable[touch.group]:
            saved_s[touch.time].append(touch.saving_s)
        else:
            base_s[touch.time].append(touch.saving_s)
            drawn[touch.time].append(touch.slow_bytes)
    floor_s = [i.floor_s for i in program.instructions]
    base_ticks, saved_ticks = _ticks(base_s, tick), _ticks(saved_s, tick)
    # Rounded like its parts, no floor is higher than its instruction with every access slow.
    floor_ticks = tuple(
        min(math.floor(floor / tick), base + saved)
        for floor, base, saved in zip(floor_s, base_ticks, saved_ticks, strict=True)
    )
    return Quantised(
        granule=granule,
        tick_s=tick,
        fast_granules=hardware.fast_bytes // granule,
        size_granules=tuple(max(1, -(-g.size_bytes // granule)) for g in program.groups),
        is_movable=movable,
        valid_from=tuple(_valid_from(program, g) for g in range(len(program.groups))),
        slot_level=tuple(program.level_at(k) for k in range(program.num_slots + 1)),
        reserved=tuple(-(-i.reserved_bytes // granule) for i in program.instructions),
        base_ticks=base_ticks,
        base_draw=tuple(
            sum(math.ceil(b / hardware.bandwidth / tick) for b in parts) for parts in drawn
        ),
        floor_ticks=floor_ticks,
        spare_s=tuple(
            sum(saved) + sum(base) - floor if floor > sum(base) + _costs(saved) else math.inf
            for floor, base, saved in zip(floor_s, base_s, saved_s, strict=True)
        ),
        spare_ticks=tuple(
            base + saved - floor
            for saved, floor, base in zip(saved_ticks, floor_ticks, base_ticks, strict=True)
        ),
        bandwidth=hardware.bandwidth,
        return_slot=max(
            (k for k in range(program.num_slots) if program.level_at(k) == TOP_LEVEL), default=-1
        ),
    )


def _ticks(seconds: list[list[float]], tick: float) -> tuple[int, ...]:
    """The parts of each slot in whole ticks, summed."""
    return tuple(sum(math.floor(s / tick) for s in parts) for parts in seconds)


def _costs(savings_s: list[float]) -> float:
    """The negative ones, summed."""
    return sum(min(0.0, s) for s in savings_s)


def _movable(program: Program) -> tuple[bool, ...]:
    return tuple(_is_movable(program, number) for number in range(len(program.groups)))


def _is_movable(program: Program, group: int) -> bool:
    """Whether the group's touches are moves.

    Where a later touch must be slow, a stay that covers a loop, or what another touch still has in
    flight, could be in its way: such a touch must be outside of all loops and flights.
    """
    touches = [program.touches[i] for i in program.touches_of_group[group]]
    over = 0
    for touch in touches:
        is_in_the_way = program.level_at(touch.time) != TOP_LEVEL or touch.time < over
        if touch.must_be_slow and touch is not touches[0] and is_in_the_way:
            return False
        over = max(over, touch.end)
    return program.groups[group].may_be_fast and any(t.saving_s > 0 for t in touches)


def _valid_from(program: Program, group: int) -> int:
    """First slot from which slow memory holds the group's content; past the end if none does.

    Inputs are there from the start; what is read before it is written, once it is defined.
    """
    if program.groups[group].is_input:
        return 0
    touches = program.touches_of_group[group]
    if touches and program.touches[touches[0]].reads:
        return 1 + min(program.values[v].defined for v in program.groups[group].values)
    return program.num_slots + 1

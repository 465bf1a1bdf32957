"""The numbers of a program that the player may know beforehand: per move, changed by no action.

Units and names as in `engine.game.observation.layout`; letters as in
`engine.game.jaxgame.encoding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from engine.errors import UsageError
from engine.game.jaxgame.encoding import EncodedProgram
from engine.game.move_list import moves
from engine.game.moves import Move
from engine.game.observation.layout import (
    MOVE_FEATURES,
    NUM_AHEAD,
    NUM_OUTLOOK,
    NUM_STATIC,
    PARTS,
    PRICE_FEATURES,
    SIZE,
    SPANS,
    STATIC_PARTS,
    SWITCHES,
)
from engine.game.quantise import TICKS, quantise
from engine.plan.bounds import Bound
from engine.program.model import TOP_LEVEL, Program

Doubles = NDArray[np.float64]
NO_WISH = -1
MOST = 1e3
"""Largest squashed number: half precision, in which games are remembered, ends at 65,504."""


@dataclass(frozen=True)
class Wishes:
    """What a draft wants at each move: Copy, NoCopy or Drop (`actions`).

    `may_keep`: whether NoCopy may be a cross-program prefetch of the group.
    """

    actions: tuple[int, ...]
    may_keep: tuple[bool, ...]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Features:
    """The numbers of a program that the player may know beforehand.

    `table`: the static features per move, rows as in `EncodedProgram.moves`. `outlook`: how the
    observation of each move begins; hidden inputs are zero. `density`: points per granule by rank,
    the last entry those of all higher ranks. `point_ticks`: ticks in one point. `shown`: 1 where
    the observation is shown.
    `tells_dynamics`: 1 if a learned dynamics gets the next move's features, else 0 (zeros then).
    `wish`: the action that a draft wants at each move, `NO_WISH` where there is none. `may_keep`: 1
    where NoCopy may be a cross-program prefetch.
    """

    table: Array  # [M + H, F]
    outlook: Array  # [M + 1, NUM_OUTLOOK]
    density: Array  # [ranks]
    point_ticks: Array  # []
    shown: Array  # [SIZE]
    tells_dynamics: Array  # []
    wish: Array  # [M + H]
    may_keep: Array  # [M + H]


def squash(points: Array) -> Array:
    """Signed root: tame, but still steep around zero; at most `MOST`."""
    return jnp.sign(points) * jnp.minimum(jnp.sqrt(jnp.abs(points) + 0.01) - 0.1, MOST)


def features(
    program: Program,
    encoded: EncodedProgram,
    bound: Bound | None = None,
    hidden: Sequence[str] = (),
    num_ranks: int = 2048,
    wishes: Wishes | None = None,
) -> Features:
    """The static features of `program`; without a bound its prices are zero.

    `hidden`: names of `SWITCHES`; "greedy" hides what a draft wants from everyone. `wishes`: a
    draft's. Programs with equally many padded moves get equal shapes. Raises UsageError for the
    bound of another program.
    """
    if bound is not None and not bound.is_of(program):
        raise UsageError(f"prices: the bound is of another program; give one of {program.name}")
    rows = moves(program)
    numbers = quantise(program)
    point_s = possible_s(program, bound) / 100
    builder = _Table(program, rows, point_s, bound)
    table = np.zeros((encoded.moves.shape[0] + NUM_AHEAD, NUM_STATIC), np.float32)
    table[: len(rows)] = builder.rows()
    density = np.zeros(num_ranks, np.float32)
    for move in sorted(rows, key=lambda move: move.rank):
        if move.rank >= 0:
            points = move.saving_s / point_s / numbers.size_granules[move.group]
            density[min(move.rank, num_ranks - 1)] = points
    wish, may_keep = np.full(len(table), NO_WISH, np.int32), np.zeros(len(table), np.int32)
    if wishes is not None and "greedy" not in hidden:
        wish[: len(rows)] = wishes.actions
        may_keep[: len(rows)] = wishes.may_keep
    shown = np.ones(SIZE, np.float32)
    for switch in hidden:
        for name in SWITCHES[switch]:
            shown[PARTS[name].start : PARTS[name].end] = 0.0
    return Features(
        table=jnp.asarray(table),
        outlook=jnp.asarray(_outlook(table) * shown[:NUM_OUTLOOK]),
        density=jnp.asarray(density),
        point_ticks=jnp.float32(point_s / numbers.tick_s),
        shown=jnp.asarray(shown),
        tells_dynamics=jnp.float32("dynamics" not in hidden),
        wish=jnp.asarray(wish),
        may_keep=jnp.asarray(may_keep),
    )


def _outlook(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """A move's own features, and some of the next moves'; `[M + 1, NUM_OUTLOOK]`."""
    prices = slice(STATIC_PARTS["prices"].start, STATIC_PARTS["prices"].start + len(PRICE_FEATURES))
    num = len(table) - NUM_AHEAD + 1
    ahead = np.arange(num)[:, None] + 1 + np.arange(NUM_AHEAD)
    wide = np.concatenate([table, np.zeros((2, table.shape[1]), np.float32)])[ahead]
    moves_ahead = wide[:, :, : len(MOVE_FEATURES)].reshape(num, -1)
    prices_ahead = wide[:, :, prices].reshape(num, -1)
    return np.concatenate([table[:num], moves_ahead, prices_ahead], axis=1)


def possible_s(program: Program, bound: Bound | None = None) -> float:
    """The most seconds that any plan can save (against the lower bound, else all fast)."""
    floor_s = program.all_fast_s if bound is None else bound.bound_s
    return max(program.all_slow_s - floor_s, program.all_slow_s * 1e-9, 1e-30)


class _Table:
    """Builds the static features."""

    def __init__(
        self, program: Program, rows: Sequence[Move], point_s: float, bound: Bound | None
    ) -> None:
        self._program, self._rows, self._point_s = program, rows, point_s
        slots = program.num_slots + 1
        self._fast = float(program.hardware.fast_bytes)
        prices = np.zeros(slots) if bound is None else np.append(bound.memory_price, 0.0)
        copies = np.zeros(slots) if bound is None else np.append(bound.copy_price, 0.0)
        self._price = prices / point_s * self._fast
        self._paid = np.concatenate([[0.0], np.cumsum(self._price)])
        self._copy_price = copies / point_s
        # Without a bound no relaxed optimum is known, so its shares are zero.
        self._served = () if bound is None else bound.served
        self._top_rank = max((m.rank for m in rows), default=0)

    def rows(self) -> Doubles:
        """The features of every move, `[moves, F]`."""
        own = np.array([self._move(i, m) for i, m in enumerate(self._rows)], np.float64)
        own = own.reshape(-1, len(MOVE_FEATURES))  # Of a program without moves, too.
        prices = self._price_rows()
        times = np.array([m.time for m in self._rows], int)
        demand, scratch = self._demand()
        pressure = np.concatenate([_ahead(demand, times), _ahead(scratch, times)], axis=1)
        priced = np.concatenate([prices, _tame(_ahead(self._price, times))], axis=1)
        return np.concatenate([own, pressure, priced], axis=1)

    def _move(self, index: int, move: Move) -> list[float]:
        program = self._program
        size = program.groups[move.group].size_bytes / self._fast
        touches = program.touches_of_group[move.group]
        later = [program.touches[i] for i in touches if i > move.touch >= 0]
        gap = max(0, min(move.next_time, program.num_slots) - move.time)
        work_s = program.groups[move.group].size_bytes / program.hardware.bandwidth
        return [
            float(move.is_sink),
            float(move.reads),
            float(move.writes),
            float(move.is_first),
            float(move.is_last),
            float(move.may_stay_before),
            float(move.level != TOP_LEVEL),
            float(move.hoist is not None),
            size,
            size**0.5,
            float(_tame(move.saving_s / self._point_s)),
            self._rank_share(move),
            float(_tame(work_s / self._point_s)),
            np.log1p(gap) / 5.0,
            float(_tame(later[0].saving_s / self._point_s)) if later else 0.0,
            float(_tame(sum(t.saving_s for t in later) / self._point_s)),
            np.log1p(len(later)) / 3.0,
            index / len(self._rows),
        ]

    def _rank_share(self, move: Move) -> float:
        return (move.rank + 1) / (self._top_rank + 1)

    def _price_rows(self) -> Doubles:
        """`PRICE_FEATURES` of each move; `best stay` sums the stays that pay, from there on."""
        program = self._program
        best: dict[int, float] = {}
        rows = np.zeros((len(self._rows), len(PRICE_FEATURES)))
        for index in range(len(self._rows) - 1, -1, -1):
            move = self._rows[index]
            size = program.groups[move.group].size_bytes / self._fast
            end = min(move.next_time, program.num_slots)
            held = size * (self._paid[end] - self._paid[min(move.time + 1, end)])
            following, saving = best.get(move.group, 0.0), self._next_saving(move)
            gain = saving - held
            if not move.is_sink:
                best[move.group] = max(0.0, gain + following)
            work_s = program.groups[move.group].size_bytes / program.hardware.bandwidth
            rows[index] = [
                held,
                gain,
                max(0.0, gain + following),
                work_s * self._copy_price[max(0, move.time - 1)],
                size * self._price[move.time],
                self._served[move.touch] if self._served and not move.is_sink else 0.0,
            ]
        return _tame(rows)

    def _next_saving(self, move: Move) -> float:
        """Points that the group's next touch saves; a sink's may share its time."""
        program = self._program
        touches = (program.touches[i] for i in program.touches_of_group[move.group])
        return sum(t.saving_s for t in touches if t.time == move.next_time) / self._point_s

    def _demand(self) -> tuple[Doubles, Doubles]:
        """Per slot: groups between first and last touch, and scratch; in fast memories."""
        program = self._program
        change = np.zeros(program.num_slots + 2)
        for group, touches in enumerate(program.touches_of_group):
            if touches and program.groups[group].may_be_fast:
                size = program.groups[group].size_bytes / self._fast
                change[program.touches[touches[0]].time] += size
                change[program.touches[touches[-1]].time + 1] -= size
        demand = np.cumsum(change)[: program.num_slots + 1]
        scratch = np.array([i.reserved_bytes / self._fast for i in program.instructions] + [0.0])
        return np.sqrt(np.maximum(demand, 0.0)), scratch


def _tame(points: Doubles | float) -> Doubles:
    """`squash`, on the host."""
    exact = np.asarray(points, np.float64)
    tamed: Doubles = np.sign(exact) * np.minimum(np.sqrt(np.abs(exact) + 0.01) - 0.1, MOST)
    return tamed


def _ahead(per_slot: Doubles, times: Doubles) -> Doubles:
    """Means of `per_slot` over spans of slots from each time on, `[times, spans]`."""
    total = np.concatenate([[0.0], np.cumsum(per_slot)])
    last = len(per_slot)
    columns, start = [], 0
    for span in SPANS:
        low = np.minimum(times + start, last - 1)
        high = np.minimum(times + start + span, last)
        columns.append((total[high] - total[low]) / np.maximum(high - low, 1))
        start += span
    return np.stack(columns, axis=1)


def static_row(known: Features, move: Array) -> Array:
    """The static features of a move for a learned dynamics, `[F]`; hidden ones are zero."""
    row: Array = jax.lax.dynamic_index_in_dim(known.table, move, keepdims=False)
    return row * known.shown[:NUM_STATIC] * known.tells_dynamics


def reward_points(known: Features, reward: Array) -> Array:
    """A move's reward (a share of `all_slow_s`) in points."""
    return reward * (TICKS / known.point_ticks)

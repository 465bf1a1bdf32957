"""A program as arrays of int32, the form in which the JAX game reads it.

Letters: `M` moves, `T` slots, `C` columns of a move (the numbers of `MoveRow`), `W` slots of
look-back, `K` rows of the block table, `D` nested regions, `G` games side by side (see
`engine.game.jaxgame.lanes`). Bytes are granules and seconds are ticks (`engine.game.quantise`).
Arrays are padded to common sizes, so that programs of like size share one compiled game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from engine.program.model import TOP_LEVEL

INT32_MAX = int(np.iinfo(np.int32).max)
FAR_SLOT = 2**22
"""Later than every slot."""
LEVEL_BITS = 12
"""Bits that hold a level in `engine.game.jaxgame.state.Table.group_and_level`; the others hold a
group."""
MAX_DEPTH = 4
"""Most nested regions; programs nested deeper cannot be encoded."""


class _Cell:
    """A number of a move: the column of its name, in the order of the class."""

    def __set_name__(self, owner: type, name: str) -> None:
        cells = [known for known, cell in vars(owner).items() if isinstance(cell, _Cell)]
        self.index = cells.index(name)

    def __get__(self, row: MoveRow, owner: type) -> Array:
        return row.columns[self.index]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MoveRow:
    """One move; every number is an int32 scalar, flags are 0 or 1 (see `engine.game.moves.Move`).

    `slow_valid`: the slot from which the slow copy is valid, write-backs apart. `is_high`: belongs
    at the high end. `region_start`: of a sink, start of the region that ends there. `open_ticks`:
    idle ticks of slot `time` before any move there, and `slow_ticks` what a Drop adds; both may be
    negative, but never below -2^30: durations sum to at most 2^30, so that is as good as less.
    `spare`: what the moves of slot `time` can save together (`Quantised.spare_ticks`).
    `hoist_start`, `hoist_end`, `hoist_level`, `hoist_work`, `hoist_reserved`: the loop in front of
    which a copy may be taken (`Move.hoist`; none: `hoist_start` is -1). `top_work`: ticks of one
    copy outside of all loops. `is_lasting`, `hoist_is_lasting`: as in `Move` and `Hoist`.
    `entered_start`, `entered_end`: the regions that hold the slot, outermost first; unused ones
    start at -2.

    One array, out of which numbers are cut where they are used: with an array for each, every look
    at a move would be traced and compiled in full.
    """

    columns: Array  # [C], or [C, G]

    time = _Cell()
    group = _Cell()
    is_sink = _Cell()
    reads = _Cell()
    writes = _Cell()
    level = _Cell()
    region_start = _Cell()
    saving = _Cell()
    slow_ticks = _Cell()
    work = _Cell()
    size = _Cell()
    rank = _Cell()
    next_time = _Cell()
    next_rank = _Cell()
    is_last = _Cell()
    reserved_ahead = _Cell()
    may_stay_before = _Cell()
    slow_valid = _Cell()
    must_be_slow = _Cell()
    is_high = _Cell()
    hoist_start = _Cell()
    hoist_end = _Cell()
    hoist_level = _Cell()
    hoist_work = _Cell()
    hoist_reserved = _Cell()
    hoist_is_lasting = _Cell()
    top_work = _Cell()
    is_lasting = _Cell()
    open_ticks = _Cell()
    spare = _Cell()

    @property
    def entered_start(self) -> Array:
        """First slots of the regions that hold the move, `[D]`."""
        return self.columns[len(SCALARS) : len(SCALARS) + MAX_DEPTH]

    @property
    def entered_end(self) -> Array:
        """Ends of the regions that hold the move, `[D]`."""
        return self.columns[len(SCALARS) + MAX_DEPTH :]

    def busy_after(self, level_start: Array) -> Array:
        """First slot in which a live block that serves this move may be gone.

        One past the move's slot, or the end of the outermost region that holds it but not the
        block's start. As the block's level holds the move, that is the outermost one inside it: the
        first that begins later.
        """
        end = self.time + 1
        for depth in reversed(range(MAX_DEPTH)):
            is_inside = self.entered_start[depth] > level_start
            end = jnp.where(is_inside, self.entered_end[depth], end)
        return end

    def begins_loop(self, slot: Array) -> Array:
        """Whether one of the regions that hold the move begins at a slot."""
        begins = self.entered_start[0] == slot
        for depth in range(1, MAX_DEPTH):
            begins = begins | (self.entered_start[depth] == slot)
        return begins


SCALARS = tuple(name for name, cell in vars(MoveRow).items() if isinstance(cell, _Cell))
COLUMN = {name: index for index, name in enumerate(SCALARS)}
"""Column of each number of `MoveRow` in `EncodedProgram.moves`; the vectors follow."""


@dataclass(frozen=True)
class Shape:
    """Padded sizes of an encoding; programs encoded to one shape share one compiled game.

    `num_moves`: rows of `moves`, at least one more than the program has. `num_levels`: the regions
    and the top level. `has_hoists`: whether the compiled game considers copies out of loops.
    """

    num_moves: int
    num_slots: int
    look_back: int
    num_blocks: int
    has_hoists: bool
    num_levels: int

    def covers(self, least: Shape) -> bool:
        """Whether no size is smaller than in `least`."""
        return all(getattr(self, f.name) >= getattr(least, f.name) for f in fields(Shape))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EncodedProgram:
    """A program and the rules it is played by.

    Rows of `moves` past the last repeat one sentinel at slot `T`. `idle_before`: idle ticks of all
    earlier slots, as far as moves do not change them; it has `W` slots of padding in front, so the
    window of slots `[t - W, t]` begins at index `t`. `level_start[1 + level]`,
    `level_end[1 + level]`: of a level's region (of the program: -1 and `T`).
    `next_slot[1 + level, k]`: the level's first slot not before `k` (else `FAR_SLOT`);
    `last_slot`: its last one not after `k` (else -1). `reserved[j, k]`: most granules of scratch in
    the `2^j` slots from `k` on. `is_best_fit`: the place rule; the other simple ones differ in
    `MoveRow.is_high` alone, so that they share one compiled game.

    Where several programs are stacked, one per game, all arrays have `G` as a first axis. The
    methods take numbers that are scalars or one per game.
    """

    moves: Array  # [M, C]
    idle_before: Array  # [W + T + 1]
    level_start: Array  # [levels]
    level_end: Array  # [levels]
    next_slot: Array  # [levels, T + 2]
    last_slot: Array  # [levels, T + 2]
    reserved: Array  # [log2 T, T + 2]
    num_moves: Array  # []
    num_slots: Array  # []
    fast_granules: Array  # []
    max_reserved: Array  # []
    max_stays_before: Array  # []
    num_blocks: int = field(metadata={"static": True})
    look_back: int = field(metadata={"static": True})
    is_best_fit: bool = field(metadata={"static": True})
    is_strict: bool = field(metadata={"static": True})
    has_hoists: bool = field(metadata={"static": True})

    @property
    def shape(self) -> Shape:
        """The sizes to which this program is padded."""
        return Shape(
            num_moves=self.moves.shape[-2],
            num_slots=self.next_slot.shape[-1] - 2,
            look_back=self.look_back,
            num_blocks=self.num_blocks,
            has_hoists=self.has_hoists,
            num_levels=self.level_end.shape[-1],
        )

    @property
    def games(self) -> tuple[int, ...]:
        """`(G,)` if this is a stack of programs, else `()`."""
        return self.num_moves.shape

    @property
    def return_slot(self) -> Array:
        """The last top-level slot, as `Quantised.return_slot`."""
        return self.last_of(jnp.asarray(TOP_LEVEL), self.num_slots - 1)

    def row(self, move: Array) -> MoveRow:
        """The move of that number."""
        if self.games or move.shape:
            return MoveRow(jnp.moveaxis(self._entry(self.moves, move), -1, 0))
        return MoveRow(jax.lax.dynamic_index_in_dim(self.moves, move, keepdims=False))

    def group_at(self, move: Array) -> Array:
        """The group of a move; past the last row, that of the last row."""
        return self._entry(self.moves[..., COLUMN["group"]], move)

    def window(self, time: Array) -> Array:
        """`idle_before` of the slots `[time - W, time]`, shape `[W + 1]`."""
        width = self.look_back + 1

        def cut(idle_before: Array, time: Array) -> Array:
            return jax.lax.dynamic_slice_in_dim(idle_before, time, width)

        if not self.games and not time.shape:
            return cut(self.idle_before, time)
        axes = (0 if self.games else None, 0 if time.shape else None)
        return jax.vmap(cut, axes, -1)(self.idle_before, time)

    def idle_until(self, slot: Array) -> Array:
        """`idle_before` of a slot."""
        return self._entry(self.idle_before, slot + self.look_back)

    def start_of(self, level: Array) -> Array:
        """Start of a level's region."""
        return self._entry(self.level_start, level + 1)

    def end_of(self, level: Array) -> Array:
        """End of a level's region."""
        return self._entry(self.level_end, level + 1)

    def first_of(self, level: Array, slot: Array) -> Array:
        """The level's first slot not before `slot`, else `FAR_SLOT`."""
        return self._entry(self.next_slot, level + 1, slot)

    def last_of(self, level: Array, slot: Array) -> Array:
        """The level's last slot not after `slot`, else -1."""
        return jnp.where(slot >= 0, self._entry(self.last_slot, level + 1, slot), -1)

    def most_reserved(self, start: Array, end: Array) -> Array:
        """Most granules of scratch in the slots `[start, end)`; 0 if there are none."""
        power = 31 - jax.lax.clz(jnp.maximum(end - start, 1))
        first = self._entry(self.reserved, power, start)
        second = self._entry(self.reserved, power, end - (1 << power))
        return jnp.where(end > start, jnp.maximum(first, second), 0)

    def _entry(self, array: Array, *index: Array) -> Array:
        """`array[index]` of each game's program; an index out of range means the nearest one."""
        if self.games:
            index = (jnp.arange(self.games[0], dtype=jnp.int32), *index)
        return array.at[index].get(mode="clip", wrap_negative_indices=False)


def common_shape(encodings: Sequence[EncodedProgram]) -> Shape:
    """The smallest shape to which the programs of `encodings` (of the same rules) can be encoded.

    Encodings of one shape, `is_best_fit` and `is_strict` can be stacked: `jax.tree.map` of
    `jnp.stack`.
    """
    shapes = [encoded.shape for encoded in encodings]
    return Shape(**{f.name: max(getattr(s, f.name) for s in shapes) for f in fields(Shape)})

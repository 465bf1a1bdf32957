"""A program and the rules as arrays of int32, the form in which the JAX game reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from engine.errors import SolverError
from engine.game.move_list import moves
from engine.game.moves import BEST_FIT, Move, PlannedPlaces, Rules, goes_high, table_rows
from engine.game.quantise import TICKS, Quantised, quantise
from engine.program.model import TOP_LEVEL, Program

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

    `end`: first slot before which the touch is over. `slow_valid`: the slot from which the slow
    copy is valid, write-backs apart. `is_high`: belongs at the high end. `region_start`: of a sink,
    start of the region that ends there. `open_ticks`: idle ticks of slot `time` before any move
    there, and `slow_ticks` what a Drop adds; both may be negative, but never below -2^30: durations
    sum to at most 2^30, so that is as good as less.
    `spare`: what the moves of slot `time` can save together (`Quantised.spare_ticks`). `planned`:
    the planned place, in granules (`Rules.planned`; none: -1), and `planned_since` its first slot.
    `hoist_start`, `hoist_end`, `hoist_level`, `hoist_work`, `hoist_reserved`: the loop in front of
    which a copy may be taken (`Move.hoist`; none: `hoist_start` is -1). `top_work`: ticks of one
    copy outside of all loops. `is_lasting`, `hoist_is_lasting`: as in `Move` and `Hoist`.
    `is_alternative`: as in `Touch`.
    `entered_start`, `entered_end`: the regions that hold the slot, outermost first; unused ones
    start at -2.

    One array, out of which numbers are cut where they are used: with an array for each, every look
    at a move would be traced and compiled in full.
    """

    columns: Array  # [C], or [C, G]

    time = _Cell()
    end = _Cell()
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
    is_alternative = _Cell()
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
    planned = _Cell()
    planned_since = _Cell()

    @property
    def entered_start(self) -> Array:
        """First slots of the regions that hold the move, `[D]`."""
        return self.columns[len(SCALARS) : len(SCALARS) + MAX_DEPTH]

    @property
    def entered_end(self) -> Array:
        """Ends of the regions that hold the move, `[D]`."""
        return self.columns[len(SCALARS) + MAX_DEPTH :]

    def busy_after(self, level_start: Array) -> Array:
        """First slot in which a live block that serves this move may be gone."""
        return jnp.maximum(self.covered_until(level_start), self.end)

    def covered_until(self, level_start: Array) -> Array:
        """End of what a live block has to cover because of where this move is.

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

    `num_moves`: rows of `moves`, at least one more than the program has. `num_blocks`: rows of the
    table, perhaps more than the rules give the program. `num_levels`: the regions and the top
    level. `has_hoists`: whether the compiled game considers copies out of loops.
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
    the `2^j` slots from `k` on. `max_blocks`: rows that the rules give it, of the `num_blocks` that
    the table has. `is_best_fit`: the place rule; the other simple ones differ in `MoveRow.is_high`
    alone, so that they share one compiled game.

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
    max_blocks: Array  # []
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


def encode(
    program: Program, rules: Rules | None = None, shape: Shape | None = None
) -> EncodedProgram:
    """The arrays of `program`, padded to `shape` (by default to the next of a few common sizes).

    Unless `shape` says otherwise, `K` and `W` shrink to what the program can use, which changes no
    game. Raises SolverError if a number does not fit or nesting is too deep, ValueError if `shape`
    is too small for the program or allows more look-back than the rules.
    """
    rules = rules or Rules()
    numbers = quantise(program)
    rows = moves(program)
    max_blocks = table_rows(rules, rows)
    shape = _fitting(_least_shape(program, rows, rules, max_blocks), rules, max_blocks, shape)
    _refuse_too_large(program, shape.num_blocks)
    idle = [numbers.idle(slot) for slot in range(program.num_slots)]
    before = np.concatenate([[0], np.cumsum(idle, dtype=np.int64)])
    starts = [-1, *(region.start for region in program.regions)]
    ends = [program.num_slots, *(region.end for region in program.regions)]
    unused = (0, shape.num_levels - len(ends))
    blank = shape.num_slots - program.num_slots
    next_slot, last_slot = _neighbours(numbers.slot_level, shape.num_levels, shape.num_slots + 2)
    return EncodedProgram(
        moves=_int32(program, _table(program, numbers, rows, rules, shape.num_moves)),
        idle_before=_int32(program, np.pad(before, (shape.look_back, blank))),
        level_start=_int32(program, np.pad(starts, unused)),
        level_end=_int32(program, np.pad(ends, unused)),
        next_slot=_int32(program, next_slot),
        last_slot=_int32(program, last_slot),
        reserved=_int32(program, _range_maxima(np.pad(numbers.reserved, (0, 2 + blank)))),
        num_moves=_int32(program, len(rows)),
        num_slots=_int32(program, program.num_slots),
        fast_granules=_int32(program, numbers.fast_granules),
        max_reserved=_int32(program, max(numbers.reserved, default=0)),
        max_stays_before=_int32(program, program.hardware.max_cross_program_prefetches),
        max_blocks=_int32(program, min(max_blocks, shape.num_blocks)),
        num_blocks=shape.num_blocks,
        look_back=shape.look_back,
        is_best_fit=rules.place == BEST_FIT,
        is_strict=rules.strict,
        has_hoists=shape.has_hoists,
    )


def shape_of(program: Program, rules: Rules) -> Shape:
    """The shape to which `encode` pads the program where it is given none."""
    rows = moves(program)
    max_blocks = table_rows(rules, rows)
    return _fitting(_least_shape(program, rows, rules, max_blocks), rules, max_blocks, None)


def _refuse_too_large(program: Program, num_blocks: int) -> None:
    """Rows, slots, groups and regions have to fit into the keys that `engine.game` builds."""
    has_slots = (program.num_slots + 2) * num_blocks <= INT32_MAX
    has_regions = len(program.regions) + 2 < 2**LEVEL_BITS
    has_groups = len(program.groups) < 2 ** (31 - LEVEL_BITS)
    if not (program.num_slots < FAR_SLOT and has_slots and has_regions and has_groups):
        raise SolverError(
            f"{program.name}: too many slots, regions or groups for the JAX game;"
            " use the plain-Python one"
        )


def _least_shape(program: Program, rows: Sequence[Move], rules: Rules, max_blocks: int) -> Shape:
    num_touches = sum(not row.is_sink for row in rows)
    return Shape(
        num_moves=len(rows) + 1,
        num_slots=program.num_slots,
        look_back=min(rules.look_back, program.num_slots),
        num_blocks=min(max_blocks, max(1, num_touches)),
        has_hoists=any(row.hoist is not None for row in rows),
        num_levels=1 + len(program.regions),
    )


def _fitting(least: Shape, rules: Rules, max_blocks: int, wanted: Shape | None) -> Shape:
    """`wanted` if the program fits in, else `least` with its sizes rounded up."""
    if wanted is None:
        num_slots = _padded(least.num_slots)
        return Shape(
            num_moves=_padded(least.num_moves),
            num_slots=num_slots,
            look_back=min(rules.look_back, num_slots),
            num_blocks=min(max_blocks, _padded(least.num_blocks)),
            has_hoists=least.has_hoists,
            num_levels=_padded(least.num_levels, 8),
        )
    if not wanted.covers(least):
        raise ValueError(f"the program needs {least}, more than {wanted}")
    if wanted.look_back > rules.look_back:
        raise ValueError(f"{wanted} allows more than the rules: {rules}")
    return wanted


def _neighbours(
    slot_level: Sequence[int], num_levels: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """`EncodedProgram.next_slot` and `last_slot`."""
    following = np.full((num_levels, width), FAR_SLOT, dtype=np.int64)
    preceding = np.full((num_levels, width), -1, dtype=np.int64)
    for slot, level in enumerate(slot_level):
        following[1 + level, slot] = preceding[1 + level, slot] = slot
    return (
        np.minimum.accumulate(following[:, ::-1], axis=1)[:, ::-1],
        np.maximum.accumulate(preceding, axis=1),
    )


def _range_maxima(values: np.ndarray) -> np.ndarray:
    """Maxima over `2^j` entries from each on, one row per `j`."""
    rows = [values]
    while 2 ** len(rows) <= len(values):
        half, row = 2 ** (len(rows) - 1), rows[-1]
        rows.append(np.maximum(row, np.append(row[half:], np.zeros(half, row.dtype))))
    return np.stack(rows)


def _padded(count: int, least: int = 32) -> int:
    """The next of `least · 2^n` and `least · 2^n · 3/2`."""
    size = least
    while size < count:
        size = size * 3 // 2 if size & (size - 1) == 0 else size * 4 // 3
    return size


def _int32(program: Program, values: object) -> Array:
    exact = np.asarray(values, dtype=np.int64)
    if exact.size and int(np.abs(exact).max()) > INT32_MAX:
        raise SolverError(
            f"{program.name}: a number of the game exceeds 32 bits; the program cannot be played"
            " by the JAX game, use the plain-Python one"
        )
    return jnp.asarray(exact.astype(np.int32))


def _table(
    program: Program, numbers: Quantised, rows: Sequence[Move], rules: Rules, num_rows: int
) -> np.ndarray:
    valid, places = list(numbers.valid_from), PlannedPlaces(rules, numbers.fast_granules)
    table = np.zeros((num_rows, len(SCALARS) + 2 * MAX_DEPTH), dtype=np.int64)
    for index, move in enumerate(rows):
        cells = _cells(program, numbers, move, valid[move.group], rules, places)
        table[index] = [cells[name] for name in SCALARS] + _entered(program, move.level)
        if move.writes:
            valid[move.group] = move.end
    table[len(rows) :, COLUMN["time"]] = program.num_slots
    table[len(rows) :, COLUMN["group"]] = -1
    return table


def _cells(
    program: Program,
    numbers: Quantised,
    move: Move,
    slow_valid: int,
    rules: Rules,
    places: PlannedPlaces,
) -> dict[str, int]:
    planned = places.offset(move)
    start = -1 if move.level == TOP_LEVEL else program.regions[move.level].start
    time = move.time
    is_past = time >= program.num_slots
    return {
        "time": time,
        "end": move.end,
        "group": move.group,
        "is_sink": int(move.is_sink),
        "reads": int(move.reads),
        "writes": int(move.writes),
        "level": move.level,
        "region_start": start,
        "saving": move.saving_ticks,
        "slow_ticks": max(-TICKS, move.saving_ticks - move.draw_ticks),
        "must_be_slow": int(move.must_be_slow),
        "is_alternative": int(not move.is_sink and program.touches[move.touch].is_alternative),
        # No block begins where a copy takes as long as the program.
        "work": TICKS if move.must_be_slow else move.work_ticks,
        "size": move.size_granules,
        "rank": move.rank,
        "next_time": move.next_time,
        "next_rank": move.next_rank,
        "is_last": int(move.is_last),
        "reserved_ahead": move.reserved_ahead,
        "may_stay_before": int(move.may_stay_before),
        "slow_valid": slow_valid,
        "is_high": int(goes_high(rules, move, numbers.fast_granules)),
        "top_work": min(TICKS, numbers.ticks_up(program.groups[move.group].size_bytes)),
        "is_lasting": int(move.is_lasting),
        **_hoist_cells(move),
        "open_ticks": 0 if is_past else _open_ticks(numbers, time),
        "spare": 0 if is_past else numbers.spare_ticks[time],
        "planned": -1 if planned is None else planned,
        "planned_since": places.since(move),
    }


def _hoist_cells(move: Move) -> dict[str, int]:
    hoist = move.hoist
    return {
        "hoist_start": hoist.start if hoist else -1,
        "hoist_end": hoist.end if hoist else 0,
        "hoist_level": hoist.level if hoist else TOP_LEVEL,
        "hoist_work": hoist.work_ticks if hoist else TICKS,
        "hoist_reserved": hoist.reserved_ahead if hoist else 0,
        "hoist_is_lasting": int(hoist.is_lasting) if hoist else 0,
    }


def _open_ticks(numbers: Quantised, time: int) -> int:
    return max(-TICKS, numbers.base_ticks[time] - numbers.base_draw[time])


def _entered(program: Program, level: int) -> list[int]:
    """Starts, then ends of the regions around a level, outermost first."""
    chain = [program.regions[number] for number in program.outwards(level)[-2::-1]]
    if len(chain) > MAX_DEPTH:
        raise SolverError(
            f"{program.name}: regions are nested {len(chain)} deep, the JAX game takes {MAX_DEPTH};"
            " use the plain-Python one"
        )
    blank = MAX_DEPTH - len(chain)
    return [r.start for r in chain] + [-2] * blank + [r.end for r in chain] + [0] * blank

"""A program as arrays of int32, the form in which the JAX game reads it.

Letters: `M` moves, `T` slots, `C` columns of a move (the fields of `MoveRow`), `W` slots of
look-back, `K` rows of the block table, `D` nested regions. Bytes are granules and seconds are
ticks, see `engine.game.moves`. Arrays are padded to common sizes, so that programs of like size
share one compiled game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from engine.errors import SolverError
from engine.game.moves import TICKS, Move, Quantised, Rules, goes_high, moves, quantise
from engine.program.model import TOP_LEVEL, Program, Region

INT32_MAX = int(np.iinfo(np.int32).max)
NO_LEVEL = -2
"""Level of slots outside the program: equal to no block's."""
MAX_DEPTH = 4
"""Most nested regions; programs nested deeper cannot be encoded."""


@dataclass(frozen=True)
class MoveRow:
    """One move; every field is an int32 scalar, flags are 0 or 1 (see `engine.game.moves.Move`).

    `slow_valid`: the slot from which the slow copy is valid, write-backs apart. `is_high`: belongs
    at the high end. `region_start`: of a sink, start of the region that ends there. `open_ticks`:
    idle ticks of slot `time` before any move there, and `slow_ticks` what a Drop adds; both may be
    negative, but never below -2^30: durations sum to at most 2^30, so that is as good as less.
    `hoist_start`, `hoist_end`, `hoist_level`, `hoist_work`, `hoist_reserved`: the loop in front of
    which a Copy may be taken (`Move.hoist`; none: `hoist_start` is -1).
    `entered_start`, `entered_end`: the regions that hold the slot, outermost first; unused ones
    start at -2.
    """

    time: Array
    group: Array
    is_sink: Array
    reads: Array
    writes: Array
    level: Array
    region_start: Array
    saving: Array
    slow_ticks: Array
    work: Array
    size: Array
    rank: Array
    next_time: Array
    next_rank: Array
    is_last: Array
    reserved_ahead: Array
    may_stay_before: Array
    slow_valid: Array
    is_high: Array
    hoist_start: Array
    hoist_end: Array
    hoist_level: Array
    hoist_work: Array
    hoist_reserved: Array
    open_ticks: Array
    entered_start: Array  # [D]
    entered_end: Array  # [D]

    def busy_after(self, start: Array) -> Array:
        """First slot in which a block from `start` that serves this move may be gone.

        One past the move's slot, or the end of the outermost region that holds it but not `start`.
        """
        end = self.time + 1
        for depth in reversed(range(MAX_DEPTH)):
            end = jnp.where(self.entered_start[depth] > start, self.entered_end[depth], end)
        return end


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


def common_shape(encodings: Sequence[EncodedProgram]) -> Shape:
    """The smallest shape to which the programs of `encodings` (of the same rules) can be encoded.

    Encodings of one shape, `place` and `is_strict` can be stacked: `jax.tree.map` of `jnp.stack`.
    """
    shapes = [encoded.shape for encoded in encodings]
    return Shape(**{f.name: max(getattr(s, f.name) for s in shapes) for f in fields(Shape)})


SCALARS = tuple(f.name for f in fields(MoveRow))[:-2]
COLUMN = {name: index for index, name in enumerate(SCALARS)}
"""Column of each scalar field of `MoveRow` in `EncodedProgram.moves`; the vectors follow."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EncodedProgram:
    """A program and the rules it is played by.

    Per slot, `W` slots of padding before slot 0 (so the window of slots `[t - W, t]` begins at
    index `t`): `slot_level`, `slot_reserved` (granules of scratch), `idle_before` (idle ticks of
    all earlier slots, as far as moves do not change them). Rows of `moves` past the last repeat one
    sentinel at slot `T`. `level_end[1 + level]`: end of a level's region.
    """

    moves: Array  # [M, C]
    slot_level: Array  # [W + T + 1]
    slot_reserved: Array  # [W + T + 1]
    idle_before: Array  # [W + T + 1]
    level_end: Array  # [levels]
    num_moves: Array  # []
    num_slots: Array  # []
    fast_granules: Array  # []
    max_reserved: Array  # []
    max_stays_before: Array  # []
    num_blocks: int = field(metadata={"static": True})
    look_back: int = field(metadata={"static": True})
    place: str = field(metadata={"static": True})
    is_strict: bool = field(metadata={"static": True})
    has_hoists: bool = field(metadata={"static": True})

    @property
    def shape(self) -> Shape:
        """Its padded sizes."""
        return Shape(
            num_moves=self.moves.shape[-2],
            num_slots=self.slot_level.shape[-1] - self.look_back - 1,
            look_back=self.look_back,
            num_blocks=self.num_blocks,
            has_hoists=self.has_hoists,
            num_levels=self.level_end.shape[-1],
        )

    def row(self, move: Array) -> MoveRow:
        """The move of that number."""
        columns = jax.lax.dynamic_index_in_dim(self.moves, move, keepdims=False)
        ends = len(SCALARS) + MAX_DEPTH
        cells: dict[str, Array] = {name: columns[index] for name, index in COLUMN.items()}
        cells["entered_start"] = columns[len(SCALARS) : ends]
        cells["entered_end"] = columns[ends:]
        return MoveRow(**cells)

    def window(self, per_slot: Array, time: Array) -> Array:
        """The entries of slots `[time - W, time]` of a per-slot array, shape `[W + 1]`."""
        return jax.lax.dynamic_slice_in_dim(per_slot, time, self.look_back + 1)


def encode(
    program: Program, rules: Rules | None = None, shape: Shape | None = None
) -> EncodedProgram:
    """The arrays of `program`, padded to `shape` (by default to the next of a few common sizes).

    Unless `shape` says otherwise, `K` and `W` shrink to what the program can use, which changes no
    game. Raises SolverError if a number does not fit or nesting is too deep, ValueError if `shape`
    is too small for the program or allows more blocks or look-back than the rules.
    """
    rules = rules or Rules()
    numbers = quantise(program)
    rows = moves(program)
    shape = _fitting(_least_shape(program, rows, rules), rules, shape)
    look_back = shape.look_back
    idle = [numbers.idle(t, d) for t, d in zip(numbers.base_ticks, numbers.base_draw, strict=True)]
    before = np.concatenate([[0], np.cumsum(idle, dtype=np.int64)])
    ends = [program.level_end(level) for level in range(TOP_LEVEL, len(program.regions))]

    def per_slot(values: Sequence[int], fill: int) -> Array:
        blank = shape.num_slots - program.num_slots
        return _int32(program, [fill] * look_back + list(values) + [fill] * blank)

    return EncodedProgram(
        moves=_int32(program, _table(program, numbers, rows, rules, shape.num_moves)),
        slot_level=per_slot(numbers.slot_level, NO_LEVEL),
        slot_reserved=per_slot((*numbers.reserved, 0), 0),
        idle_before=per_slot(before.tolist(), 0),
        level_end=_int32(program, ends + [0] * (shape.num_levels - len(ends))),
        num_moves=_int32(program, len(rows)),
        num_slots=_int32(program, program.num_slots),
        fast_granules=_int32(program, numbers.fast_granules),
        max_reserved=_int32(program, max(numbers.reserved, default=0)),
        max_stays_before=_int32(program, program.hardware.max_cross_program_prefetches),
        num_blocks=shape.num_blocks,
        look_back=look_back,
        place=rules.place,
        is_strict=rules.strict,
        has_hoists=shape.has_hoists,
    )


def _least_shape(program: Program, rows: Sequence[Move], rules: Rules) -> Shape:
    num_touches = sum(not row.is_sink for row in rows)
    return Shape(
        num_moves=len(rows) + 1,
        num_slots=program.num_slots,
        look_back=min(rules.look_back, program.num_slots),
        num_blocks=min(rules.max_blocks, max(1, num_touches)),
        has_hoists=any(row.hoist is not None for row in rows),
        num_levels=1 + len(program.regions),
    )


def _fitting(least: Shape, rules: Rules, wanted: Shape | None) -> Shape:
    """`wanted` if the program fits in, else `least` with its sizes rounded up."""
    if wanted is None:
        num_slots = _padded(least.num_slots)
        return Shape(
            num_moves=_padded(least.num_moves),
            num_slots=num_slots,
            look_back=min(rules.look_back, num_slots),
            num_blocks=min(rules.max_blocks, _padded(least.num_blocks)),
            has_hoists=least.has_hoists,
            num_levels=_padded(least.num_levels, 8),
        )
    if not wanted.covers(least):
        raise ValueError(f"the program needs {least}, more than {wanted}")
    if wanted.look_back > rules.look_back or wanted.num_blocks > rules.max_blocks:
        raise ValueError(f"{wanted} allows more than the rules: {rules}")
    return wanted


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
    valid = list(numbers.valid_from)
    table = np.zeros((num_rows, len(SCALARS) + 2 * MAX_DEPTH), dtype=np.int64)
    for index, move in enumerate(rows):
        cells = _cells(program, numbers, move, valid[move.group], rules)
        table[index] = [cells[name] for name in SCALARS] + _entered(program, move.level)
        if move.writes:
            valid[move.group] = move.time + 1
    table[len(rows) :, COLUMN["time"]] = program.num_slots
    table[len(rows) :, COLUMN["group"]] = -1
    return table


def _cells(
    program: Program, numbers: Quantised, move: Move, slow_valid: int, rules: Rules
) -> dict[str, int]:
    start = -1 if move.level == TOP_LEVEL else program.regions[move.level].start
    time = move.time
    is_past = time >= program.num_slots
    return {
        "time": time,
        "group": move.group,
        "is_sink": int(move.is_sink),
        "reads": int(move.reads),
        "writes": int(move.writes),
        "level": move.level,
        "region_start": start,
        "saving": move.saving_ticks,
        "slow_ticks": max(-TICKS, move.saving_ticks - move.draw_ticks),
        "work": move.work_ticks,
        "size": move.size_granules,
        "rank": move.rank,
        "next_time": move.next_time,
        "next_rank": move.next_rank,
        "is_last": int(move.is_last),
        "reserved_ahead": move.reserved_ahead,
        "may_stay_before": int(move.may_stay_before),
        "slow_valid": slow_valid,
        "is_high": int(goes_high(rules, move, numbers.fast_granules)),
        **_hoist_cells(move),
        "open_ticks": 0 if is_past else _open_ticks(numbers, time),
    }


def _hoist_cells(move: Move) -> dict[str, int]:
    hoist = move.hoist
    return {
        "hoist_start": hoist.start if hoist else -1,
        "hoist_end": hoist.end if hoist else 0,
        "hoist_level": hoist.level if hoist else TOP_LEVEL,
        "hoist_work": hoist.work_ticks if hoist else TICKS,
        "hoist_reserved": hoist.reserved_ahead if hoist else 0,
    }


def _open_ticks(numbers: Quantised, time: int) -> int:
    return max(-TICKS, numbers.base_ticks[time] - numbers.base_draw[time])


def _entered(program: Program, level: int) -> list[int]:
    """Starts, then ends of the regions around a level, outermost first."""
    chain: list[Region] = []
    while level != TOP_LEVEL:
        chain.insert(0, program.regions[level])
        level = program.regions[level].parent
    if len(chain) > MAX_DEPTH:
        raise SolverError(
            f"{program.name}: regions are nested {len(chain)} deep, the JAX game takes {MAX_DEPTH};"
            " use the plain-Python one"
        )
    blank = MAX_DEPTH - len(chain)
    return [r.start for r in chain] + [-2] * blank + [r.end for r in chain] + [0] * blank

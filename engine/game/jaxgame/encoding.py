"""Encoding: from a program and rules to the arrays that the JAX game reads.

The arrays and their letters are explained in `engine.game.jaxgame.encoded`.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from engine.errors import SolverError
from engine.game.jaxgame.encoded import (
    COLUMN,
    FAR_SLOT,
    INT32_MAX,
    LEVEL_BITS,
    MAX_DEPTH,
    SCALARS,
    EncodedProgram,
    MoveRow,
    Shape,
    common_shape,
)
from engine.game.move_list import moves
from engine.game.moves import BEST_FIT, Move, Rules, goes_high
from engine.game.quantise import TICKS, Quantised, quantise
from engine.program.model import TOP_LEVEL, Program, Region

__all__ = ["COLUMN", "EncodedProgram", "MoveRow", "Shape", "common_shape", "encode"]


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
    _refuse_too_large(program, rules)
    shape = _fitting(_least_shape(program, rows, rules), rules, shape)
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
        num_blocks=shape.num_blocks,
        look_back=shape.look_back,
        is_best_fit=rules.place == BEST_FIT,
        is_strict=rules.strict,
        has_hoists=shape.has_hoists,
    )


def _refuse_too_large(program: Program, rules: Rules) -> None:
    """Rows, slots, groups and regions have to fit into the keys that `engine.game` builds."""
    has_slots = (program.num_slots + 2) * rules.max_blocks <= INT32_MAX
    has_regions = len(program.regions) + 2 < 2**LEVEL_BITS
    has_groups = len(program.groups) < 2 ** (31 - LEVEL_BITS)
    if not (program.num_slots < FAR_SLOT and has_slots and has_regions and has_groups):
        raise SolverError(
            f"{program.name}: too many slots, regions or groups for the JAX game;"
            " use the plain-Python one"
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
        "must_be_slow": int(move.must_be_slow),
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

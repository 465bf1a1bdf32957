"""The message that draws a plan on the memory map: stays, copies, stalls, curves, packed."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.analysis.layers import layers_of, outermost, paths_of_groups
from engine.game.moves import DROP, Move
from engine.plan.model import Copy, Plan, Stay
from engine.plan.simulate import Simulation
from engine.program.floors import above_floor, has_floor, slow_s, worth_s
from engine.program.model import Program
from engine.program.provenance import more_s
from ui.components.memory_map.plan_actions import NO_ACTION, actions_of
from ui.components.memory_map.schema import table_columns
from ui.components.packing import (
    Column,
    fast_granules,
    granules,
    group_granules,
    group_kinds,
    move_columns,
    pack,
    reserved_granules,
    slot_begin,
)


def _layer_columns(program: Program) -> tuple[dict[str, list[str]], dict[str, Column]]:
    """Names of layers in order of first use, and of each group and slot which one it belongs to.

    `layers` are the outermost ones, which have colours; `paths` say all that is known. A group that
    nothing touches has none (`-1`).
    """
    layers = layers_of(program)
    of_groups = paths_of_groups(program, layers)
    order = sorted(range(len(of_groups)), key=lambda g: _first_touch(program, g))
    names = outermost(of_groups)
    outer = dict.fromkeys(names[g] for g in order if of_groups[g] is not None)
    texts = [" / ".join(path) for path in layers.paths]
    paths = dict.fromkeys([*texts, *(" / ".join(of_groups[g] or ()) for g in order)])
    number = {name: n for n, name in enumerate(outer)}
    path_number = {name: n for n, name in enumerate(paths)}
    columns = {
        "group_layer": [
            NONE if path is None else number[name]
            for path, name in zip(of_groups, names, strict=True)
        ],
        "group_path": [
            NONE if path is None else path_number[" / ".join(path)] for path in of_groups
        ],
        "slot_path": [path_number[text] for text in texts],
    }
    packed = {name: np.array(column, "i4") for name, column in columns.items()}
    return {"layers": list(outer), "paths": list(paths)}, packed


def _first_touch(program: Program, group: int) -> int:
    touches = program.touches_of_group[group]
    return min((program.touches[i].time for i in touches), default=program.num_slots)


NONE = -1


@dataclass(frozen=True)
class References:
    """The values that the value curve is compared with: seconds saved against all in slow memory.

    `marks`: lines by name (the bound, the best known). `rival_s`: the curve of another plan, before
    each move and at the end. `estimates`: the player's own forecast of the whole saving, one per
    move.
    """

    marks: tuple[tuple[str, float], ...] = ()
    rival_name: str = ""
    rival_s: Sequence[float] = field(default=())
    estimates: Sequence[float] | None = None


NO_REFERENCES = References()


def board(
    program: Program,
    plan: Plan,
    moves: Sequence[Move],
    simulation: Simulation,
    identity: str,
    references: References = NO_REFERENCES,
) -> bytes:
    """The packed message; `identity` names it in the browser."""
    hardware = program.hardware
    layers, layer_columns = _layer_columns(program)
    header = {
        "id": identity,
        "program": plan.program_hash,
        "granule": hardware.alignment,
        "fast_granules": fast_granules(program),
        "fast_name": hardware.fast_name,
        "regions": [[r.start, r.end, r.multiplicity, r.name] for r in program.regions],
        "instruction_names": [i.name for i in program.instructions],
        "op_names": [i.op_name for i in program.instructions],
        "opcodes": sorted({i.opcode for i in program.instructions}),
        "value_names": [v.name for v in program.values],
        "value_shapes": [v.shape for v in program.values],
        **layers,
        "all_slow": program.all_slow_s,
        "marks": references.marks,
        "rival": references.rival_name,
    }
    columns = {
        **_slot_columns(program, plan, simulation),
        **_group_columns(program),
        **table_columns("stays", _stay_rows(program, plan)),
        **table_columns("copies", copy_rows(program, plan)),
        **table_columns("service", _service_matrix(plan, simulation)),
        **_move_columns(program, moves, actions_of(program, plan, moves)),
        **_access_columns(program),
        **layer_columns,
        "rival_saved": np.array(references.rival_s, "f8"),
        "estimates": np.array(references.estimates or (), "f4"),
    }
    return pack(header, columns)


def _slot_columns(program: Program, plan: Plan, simulation: Simulation) -> dict[str, Column]:
    """`slot_spare`: the most seconds that moves save there together, infinite without a floor."""
    instructions = program.instructions
    opcodes = {code: i for i, code in enumerate(sorted({i.opcode for i in instructions}))}
    timeline = simulation.timeline
    fast = np.array(program.least_s, dtype=float)
    spare = [
        slow_s(program, time) - instruction.floor_s if has_floor(program, time) else math.inf
        for time, instruction in enumerate(instructions)
    ]
    return {
        "slot_fast": fast.astype("f4"),
        "slot_slow": np.maximum(timeline.duration_s - fast, 0).astype("f4"),
        "slot_stall": stall_before_s(simulation),
        "slot_spare": np.array(spare, "f8"),
        "slot_begin": slot_begin(simulation).astype("f8"),
        "slot_used": used_granules(program, plan.stays),
        "slot_reserved": reserved_granules(program),
        "slot_opcode": np.array([opcodes[i.opcode] for i in instructions], "u2"),
        "slot_times": np.array([program.multiplicity(i.level) for i in instructions], "f4"),
    }


def stall_before_s(simulation: Simulation) -> NDArray[np.float64]:
    """`[T]` seconds of waiting before each instruction.

    The map has no room after the last slot: the wait for the last copies is drawn with it.
    """
    stall = simulation.timeline.stall_before_s.copy()
    stall[-1:] += simulation.end_stall_s
    return stall


def used_granules(program: Program, stays: Sequence[Stay]) -> NDArray[np.float64]:
    """`[T]` granules of fast memory that stays and scratch take in each slot."""
    change = np.zeros(program.num_slots + 1)
    for stay in stays:
        size = granules(program, program.groups[stay.group].size_bytes)
        change[max(0, stay.start)] += size
        change[stay.end] -= size
    return np.cumsum(change)[:-1] + reserved_granules(program)


def _group_columns(program: Program) -> dict[str, Column]:
    groups = program.groups
    saving, more = np.zeros(len(groups)), np.zeros(len(groups))
    for touch in program.touches:
        saving[touch.group] += worth_s(program, touch)
        more[touch.group] += more_s(program, touch)
    size = np.array([g.size_bytes for g in groups], dtype=float)
    return {
        "group_granules": group_granules(program),
        "group_bytes": size,
        "group_kind": group_kinds(program),
        "group_value": np.array([g.values[0] for g in groups], "u4"),
        "group_saving": saving.astype("f4"),
        "group_more": more.astype("f4"),
        "group_heat": heat(saving / np.maximum(size, 1)),
    }


def heat(density: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Seconds per byte as 0 … 255: by rank, since densities span many powers of ten."""
    _, place = np.unique(density, return_inverse=True)
    top = max(1, int(place.max(initial=0)))
    return (place * 255 // top).astype(np.uint8)


def _stay_rows(program: Program, plan: Plan) -> list[tuple[int, ...]]:
    """Each stay with the slot at which the prefetch into it must have arrived, or `NONE`."""
    arrivals = [NONE] * len(plan.stays)
    for copy, stay in zip(plan.copies, stays_of_copies(plan), strict=True):
        if copy.is_prefetch and stay != NONE:
            arrivals[stay] = copy.deadline
    granule = program.hardware.alignment
    return [
        (s.group, s.offset // granule, s.start, s.end, arrival)
        for s, arrival in zip(plan.stays, arrivals, strict=True)
    ]


def copy_rows(program: Program, plan: Plan) -> list[tuple[int, ...]]:
    """Each copy with the offset of the stay that it fills or saves, or `NONE`."""
    granule = program.hardware.alignment
    return [
        (c.group, int(c.is_prefetch), c.start, c.deadline)
        + ((plan.stays[stay].offset // granule,) if stay != NONE else (NONE,))
        for c, stay in zip(plan.copies, stays_of_copies(plan), strict=True)
    ]


def _service_matrix(plan: Plan, simulation: Simulation) -> NDArray[np.float64]:
    """The times at which copies are really served: 1 for prefetches, begin and end in seconds."""
    timeline = simulation.timeline
    is_prefetch = np.array([c.is_prefetch for c in plan.copies], dtype=float)
    return np.column_stack(
        [
            is_prefetch[timeline.segment_copy],
            timeline.segment_start_s,
            timeline.segment_end_s,
        ]
    )


def stays_of_copies(plan: Plan) -> list[int]:
    """For each copy the stay that it fills or saves, `-1` if the plan has none there."""
    stays_of: dict[int, list[int]] = {}
    for index, stay in enumerate(plan.stays):
        stays_of.setdefault(stay.group, []).append(index)
    return [
        next((i for i in stays_of.get(c.group, []) if _holds(plan.stays[i], c)), NONE)
        for c in plan.copies
    ]


def _holds(stay: Stay, copy: Copy) -> bool:
    return stay.start <= copy.start and copy.deadline <= stay.end


def _move_columns(
    program: Program, moves: Sequence[Move], actions: Sequence[int]
) -> dict[str, Column]:
    """What moves save, in seconds.

    `move_saving`: before any floor. `move_worth`: at most, if all others of the instruction are
    slow. `move_more`: beyond `move_worth`, not shown by any compile.
    """
    touches = [None if m.is_sink else program.touches[m.touch] for m in moves]
    worth = [0.0 if touch is None else worth_s(program, touch) for touch in touches]
    more = [0.0 if touch is None else more_s(program, touch) for touch in touches]
    return {
        **move_columns(moves),
        "move_value": np.array([_value(program, m) for m in moves], "i4"),
        "move_saving": np.array([m.saving_s for m in moves], "f8"),
        "move_worth": np.array(worth, "f8"),
        "move_more": np.array(more, "f8"),
        "move_action": np.array(actions, "u1"),
    }


def _access_columns(program: Program) -> dict[str, Column]:
    """Operands and results of each instruction: accesses `slot_access[k] … slot_access[k + 1] - 1`.

    `access_role`: operand number of a read, `-1 -` result number of a write.
    """
    accesses = program.accesses
    times = [a.time for a in accesses]
    starts = [bisect_left(times, slot) for slot in range(program.num_slots + 1)]
    return {
        "slot_access": np.array(starts, "u4"),
        "access_value": np.array([a.value for a in accesses], "u4"),
        "access_role": np.array(
            [-1 - a.operand if a.is_write else a.operand for a in accesses], "i4"
        ),
        "value_group": np.array([v.group for v in program.values], "i4"),
    }


def _value(program: Program, move: Move) -> int:
    if move.is_sink:
        return program.groups[move.group].values[-1]
    return program.accesses[program.touches[move.touch].accesses[0]].value


def saved_before(
    program: Program, moves: Sequence[Move], actions: Sequence[int], simulation: Simulation
) -> NDArray[np.float64]:
    """`[M + 1]` seconds saved before each of `M` moves and at the end, stalls taken off.

    The last entry is the plan's whole saving, `all_slow_s - latency_s`, if no access outside the
    game is served fast.
    """
    savings = _savings_s(program, moves, actions)
    waited = np.cumsum(stall_before_s(simulation))
    times = np.array([m.time for m in moves], dtype=int)
    before = waited[np.clip(times, 0, len(waited) - 1)] if len(moves) else np.zeros(0)
    saved = np.append(0.0, np.cumsum(savings))
    stalled: NDArray[np.float64] = np.append(before, waited[-1] if len(waited) else 0.0)
    return saved - stalled


def _savings_s(
    program: Program, moves: Sequence[Move], actions: Sequence[int]
) -> NDArray[np.float64]:
    """`[M]` what each move saves; at an instruction with a floor, what moves before it left."""
    savings = np.array([m.saving_s for m in moves], dtype=float)
    savings *= ~np.isin(np.array(actions, dtype=int), (DROP, NO_ACTION))
    spare: dict[int, float] = {}
    for number, move in enumerate(moves):
        if savings[number] and has_floor(program, move.time):
            floor_s = program.instructions[move.time].floor_s
            left = spare.setdefault(move.time, slow_s(program, move.time) - floor_s)
            spare[move.time] = left - savings[number]
            savings[number] = above_floor(savings[number], left)
    return savings


def estimates_of(plan: Plan, num_moves: int) -> tuple[float, ...] | None:
    """The player's own forecasts in `plan.notes["value_estimates"]`, seconds saved in the end.

    One number per move; None if the plan notes none, or something else in their place.
    """
    values = plan.notes.get("value_estimates")
    if not isinstance(values, (list, tuple)) or len(values) != num_moves:
        return None
    if not all(isinstance(v, (int, float)) and math.isfinite(v) for v in values):
        return None
    return tuple(float(v) for v in values)

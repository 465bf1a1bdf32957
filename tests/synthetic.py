"""Programs of any length: a crowd of rectangles with its plan, a real program run again, a weight
that all read; and how the work on a program grows with it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

from engine.plan.io import plan_to_json
from engine.plan.model import Plan, Stay
from engine.program.io import content_hash
from engine.program.model import INPUT_TIME, Access, Hardware, Instruction, Program, Value

GRANULE = 512
ROWS = 64
"""Tensors that share the memory at once."""


def crowd(num_stays: int) -> Program:
    """`num_stays` tensors, each made and read in the next slot, and the plan that keeps them all.

    The plan travels as the compiler's own would, in `provenance["xla_plan"]`.
    """
    per_slot = ROWS // 2
    num_slots = -(-num_stays // per_slot) + 1
    values, accesses = [], []
    for number in range(num_stays):
        made = number // per_slot
        values.append(Value(f"t{number}", "u8[512]", GRANULE, made, number))
        accesses.append(Access(made, number, True, 1e-7, GRANULE))
        accesses.append(Access(made + 1, number, False, 1e-7, GRANULE, number % per_slot))
    accesses.sort(key=lambda a: (a.time, a.is_write))
    program = Program(
        name=f"crowd-{num_stays}",
        hardware=Hardware("crowded", ROWS * GRANULE, GRANULE, 1e9, 1e9),
        instructions=tuple(Instruction(f"i{k}", "fusion", 1e-6) for k in range(num_slots)),
        values=tuple(values),
        accesses=tuple(accesses),
    )
    plan = Plan(
        program_hash=content_hash(program),
        solver="crowd",
        is_fast=(True,) * len(accesses),
        stays=tuple(_stay(number, per_slot) for number in range(num_stays)),
        copies=(),
    )
    return replace(program, provenance={"xla_plan": plan_to_json(plan)})


def _stay(number: int, per_slot: int) -> Stay:
    """Even slots fill the lower half, odd ones the upper, since each tensor lives for two."""
    made, place = divmod(number, per_slot)
    return Stay(number, (place + per_slot * (made % 2)) * GRANULE, made, made + 2)


def idle_touches() -> tuple[Program, float]:
    """A tensor that saves by its write alone, and the seconds of the best plan.

    The next slot reads it, for nothing: a copy back before that would stall for longer than the
    write saves, so it has to stay.
    """
    copy_s = 1e-6
    program = Program(
        name="idle-touches",
        hardware=Hardware("small", 4 * GRANULE, GRANULE, GRANULE / copy_s, 1e9),
        instructions=tuple(Instruction(f"i{slot}", "fusion", 1e-7) for slot in range(4)),
        values=(Value("t", "u8[512]", GRANULE, 0, 0),),
        accesses=(
            Access(0, 0, True, 0.5 * copy_s, GRANULE),
            Access(1, 0, False, 0.0, GRANULE, 0),
            Access(3, 0, False, 0.0, GRANULE, 0),
        ),
    )
    return program, program.all_slow_s - 0.5 * copy_s


def repeated(program: Program, times: int) -> Program:
    """The program run `times` times, one after the other, each on inputs of its own.

    `program` has no loops, since slots would have to move inside them.
    """
    assert not program.regions
    slots, groups = program.num_slots, len(program.groups)
    instructions: list[Instruction] = []
    values: list[Value] = []
    accesses: list[Access] = []
    for number in range(times):
        later, first = number * slots, len(values)
        instructions += [replace(i, name=f"{i.name}~{number}") for i in program.instructions]
        values += [
            replace(
                v,
                name=f"{v.name}~{number}",
                defined=v.defined if v.defined == INPUT_TIME else v.defined + later,
                group=v.group + number * groups,
            )
            for v in program.values
        ]
        accesses += [
            replace(a, time=a.time + later, value=a.value + first) for a in program.accesses
        ]
    return replace(
        program,
        name=f"{program.name}-times-{times}",
        instructions=tuple(instructions),
        values=tuple(values),
        accesses=tuple(accesses),
        provenance={},
    )


def shared(num_slots: int) -> Program:
    """One input that every instruction reads, and one that every other one reads."""
    inputs = [Value(f"w{n}", "u8[512]", GRANULE, INPUT_TIME, n) for n in range(2)]
    reads = [(k, n) for k in range(num_slots) for n in range(2) if n == 0 or k % 2 == 0]
    return Program(
        name=f"shared-{num_slots}",
        hardware=Hardware("one granule", GRANULE, GRANULE, 1e9, 1e9),
        instructions=tuple(Instruction(f"i{k}", "fusion", 1e-6) for k in range(num_slots)),
        values=tuple(inputs),
        accesses=tuple(Access(k, n, False, 1e-7, GRANULE, n) for k, n in reads),
    )


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python the work takes, each turn of a comprehension one more."""
    count = 0

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        work()
    finally:
        sys.settrace(before)
    return count

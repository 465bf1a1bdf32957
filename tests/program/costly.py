"""A program whose first instruction writes more slowly into fast memory, and has a floor."""

from __future__ import annotations

from dataclasses import replace

from engine.plan.model import Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.validate import validate
from tests.plan.cases import Buffer, program_of

FAST_S, COST_S, SAVED_S, FLOOR_S = 20.0, 8.0, 128.0, 30.0
SLOW_S = FAST_S + SAVED_S - COST_S
"""Seconds of the first instruction with all slow."""


def costly(floor_s: float = FLOOR_S) -> Program:
    """Instruction 0 reads group 1 and makes group 0, which instruction 1 reads."""
    buffers = [Buffer(256, "w0 r1"), Buffer(128, "r0", is_input=True)]
    plain = program_of(buffers, 2, fast_s=FAST_S)
    first, second = plain.instructions
    program = replace(
        plain,
        hardware=replace(plain.hardware, max_cross_program_prefetches=2),
        instructions=(replace(first, floor_s=floor_s), second),
        accesses=tuple(replace(a, saving_s=-COST_S) if a.is_write else a for a in plain.accesses),
    )
    validate(program, "costly")
    return program


def kept(program: Program, *groups: int) -> Plan:
    """The plan that has these groups in fast memory wherever they are used."""
    begin = {0: 0, 1: -1}
    stays = tuple(Stay(group, 256 * place, begin[group], 2) for place, group in enumerate(groups))
    is_fast = tuple(program.values[a.value].group in groups for a in program.accesses)
    return Plan(content_hash(program), "test", is_fast, stays, ())

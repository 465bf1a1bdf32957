"""A program of two instructions, the first with a floor: 384 s of savings, but 94 at most."""

from __future__ import annotations

from dataclasses import replace

from engine.plan.model import Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.validate import validate
from tests.plan.cases import Buffer, program_of

FAST_S, LARGE_S, SMALL_S, FLOOR_S = 10.0, 256.0, 128.0, 300.0
SPARE_S = FAST_S + LARGE_S + SMALL_S - FLOOR_S
"""Seconds between the first instruction with all slow and its floor."""


def floored() -> Program:
    """Group 0 is read by both instructions, group 1 by the first one only."""
    buffers = [Buffer(256, "r0 r1", is_input=True), Buffer(128, "r0", is_input=True)]
    plain = program_of(buffers, 2, fast_s=FAST_S)
    first, second = plain.instructions
    program = replace(
        plain,
        hardware=replace(plain.hardware, max_cross_program_prefetches=2),
        instructions=(replace(first, floor_s=FLOOR_S), second),
    )
    validate(program, "floored")
    return program


def kept(program: Program, *groups: int) -> Plan:
    """The plan that has these inputs in fast memory all the time, and no others."""
    stays = tuple(Stay(group, 256 * place, -1, 2) for place, group in enumerate(groups))
    is_fast = tuple(program.values[a.value].group in groups for a in program.accesses)
    return Plan(content_hash(program), "test", is_fast, stays, ())

"""The names under which tensors and instructions are listed."""

from __future__ import annotations

from engine.program.model import Program


def tensor_name(program: Program, group: int) -> str:
    """The name under which a group is listed: that of its first value."""
    return program.values[program.groups[group].values[0]].name


def group_names(program: Program) -> list[str]:
    """`[G]` the name of each group."""
    return [tensor_name(program, group) for group in range(len(program.groups))]


def instruction_name(program: Program, time: int) -> str:
    """The instruction of a slot; the end of the program has no instruction."""
    return program.instructions[time].name if time < program.num_slots else "end of the program"

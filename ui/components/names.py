"""The names and kinds of tensors and instructions, and slots, as every page says them."""

from __future__ import annotations

from engine.plan.model import BEFORE_START
from engine.program.model import Group, Program

INPUT, TEMPORARY, OUTPUT, CROSS_PROGRAM = range(4)
KIND_NAMES = ("input", "temporary", "output", "cross-program")


def kind_of_group(group: Group) -> int:
    """Input, temporary or output."""
    return OUTPUT if group.is_live_out else INPUT if group.is_input else TEMPORARY


def kind_of_stay(group: Group, start: int) -> int:
    """As `kind_of_group`, but a stay from the previous run of the program has its own kind."""
    return CROSS_PROGRAM if start == BEFORE_START else kind_of_group(group)


def tensor_name(program: Program, group: int) -> str:
    """The name under which a group is listed: that of its first value."""
    return program.values[program.groups[group].values[0]].name


def short_name(name: str, most: int) -> str:
    """A name of so many characters at most: its ends tell it from others, its middle does not."""
    if len(name) <= most:
        return name
    end = most // 2
    return f"{name[: most - end - 1]}…{name[-end:]}"


def group_names(program: Program) -> list[str]:
    """`[G]` the name of each group."""
    return [tensor_name(program, group) for group in range(len(program.groups))]


def instruction_name(program: Program, time: int) -> str:
    """The instruction of a slot; the end of the program has no instruction."""
    return program.instructions[time].name if time < program.num_slots else "end of the program"


def slots_text(start: int, end: int) -> str:
    """The slots `[start, end)` of a stay, the last one included; `start` as in `Stay`."""
    first, last = max(0, start), end - 1
    slots = f"slot {last:,}" if first == last else f"slots {first:,} to {last:,}"
    return f"{slots}, from the previous run on" if start == BEFORE_START else slots

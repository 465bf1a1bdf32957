"""Texts on a plan that was placed outside the game: where its tensors stand, and since when.

The cards of the game are about the same plan replayed as moves, whose addresses differ; as long as
the map shows the plan itself, the panel must speak of what is on the map.
"""

from __future__ import annotations

from engine.game.moves import Move
from engine.game.units import range_text
from engine.plan.model import BEFORE_START, Plan, Stay
from engine.program.model import Program
from ui.components.units import size_text


def served_text(program: Program, plan: Plan, move: Move) -> str:
    """How the plan serves the tensor of a move, with the addresses that the map shows."""
    if move.is_sink or not plan.is_fast[program.touches[move.touch].accesses[0]]:
        return "The plan serves it from slow memory."
    stay = stay_of(plan, move.group, move.time)
    if stay is None:
        return "The plan serves it from fast memory."
    place = range_text(stay.offset, stay.offset + program.groups[move.group].size_bytes)
    return f"The plan has it at {place}, {_since(plan, stay)}, until slot {stay.end - 1:,}."


def stay_of(plan: Plan, group: int, time: int) -> Stay | None:
    """The stay of a group at a slot, if there is one."""
    stays = (s for s in plan.stays if s.group == group and s.start <= time < s.end)
    return next(stays, None)


def _since(plan: Plan, stay: Stay) -> str:
    if stay.start == BEFORE_START:
        return "where the previous run left it"
    for copy in plan.copies:
        is_of = copy.group == stay.group and stay.start <= copy.start <= copy.deadline <= stay.end
        if copy.is_prefetch and is_of:
            return f"prefetched during slots {copy.start:,} to {copy.deadline - 1:,}"
    return f"since slot {stay.start:,}"


def room_text(program: Program, plan: Plan, time: int) -> str:
    """How full fast memory is at a slot under the plan, and its largest hole."""
    scratch = program.instructions[time].reserved_bytes if time < program.num_slots else 0
    standing = sorted(
        (s.offset, s.offset + program.groups[s.group].size_bytes)
        for s in plan.stays
        if s.start <= time < s.end
    )
    used, edge, hole = scratch, scratch, 0
    for low, high in standing:
        used += high - low
        hole, edge = max(hole, low - edge), max(edge, high)
    hole = max(hole, program.hardware.fast_bytes - edge)
    taken = f"{size_text(used)} of {size_text(program.hardware.fast_bytes)}"
    return f"{taken} taken, largest hole {size_text(hole)}"

"""What a finished plan does at each move of the game, and the move in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.game.moves import ACTION_NAMES, COPY, DROP, NO_COPY, Move
from engine.plan.model import Plan
from engine.program.model import TOP_LEVEL, Program
from ui.viewmodel.units import count_text, size_text, time_text

NO_ACTION = 3
"""Of a sink: nothing is decided there."""


def actions_of(program: Program, plan: Plan, moves: Sequence[Move]) -> list[int]:
    """The action that the plan amounts to at each move.

    A plan of another solver need not follow the game's rules; what it does still has a name: Drop
    where slow memory serves, Copy at the first fast touch after a prefetch, else NoCopy.
    """
    arrivals: dict[int, list[int]] = {}
    for copy in plan.copies:
        if copy.is_prefetch:
            arrivals.setdefault(copy.group, []).append(copy.deadline)
    waiting = {group: sorted(times, reverse=True) for group, times in arrivals.items()}
    return [_action(program, plan, move, waiting.get(move.group, [])) for move in moves]


def _action(program: Program, plan: Plan, move: Move, waiting: list[int]) -> int:
    if move.is_sink:
        return NO_ACTION
    if not plan.is_fast[program.touches[move.touch].accesses[0]]:
        return DROP
    has_arrived = False
    while waiting and waiting[-1] <= move.time:
        waiting.pop()
        has_arrived = True
    return COPY if has_arrived else NO_COPY


@dataclass(frozen=True)
class Story:
    """One move in words: a headline, what is at stake, and facts as (name, text)."""

    headline: str
    stake: str
    facts: tuple[tuple[str, str], ...]


def story(program: Program, move: Move, action: int) -> Story:
    """The move and what the plan does there, for a reader who has not seen the rules."""
    return _sink_story(program, move) if move.is_sink else _touch_story(program, move, action)


def _touch_story(program: Program, move: Move, action: int) -> Story:
    touch = program.touches[move.touch]
    instruction = program.instructions[move.time]
    access = program.accesses[touch.accesses[0]]
    value = program.values[access.value]
    verb = "updates" if touch.reads and touch.writes else "reads" if touch.reads else "writes"
    headline = f"`{instruction.name}` {verb} `{value.name}`"
    whole = instruction.fast_s + sum(
        t.saving_s for t in program.touches if t.time == move.time
    )
    stake = f"From {program.hardware.fast_name} this saves **{time_text(move.saving_s)}** of "
    stake += f"{time_text(whole)}." if move.saving_s > 0 else "nothing here, but keeps it at hand."
    role = ", ".join(
        f"{'result' if program.accesses[i].is_write else 'operand'} {program.accesses[i].operand}"
        for i in touch.accesses
    )
    facts = [
        ("Step", f"{move.time:,} of {program.num_slots:,}, {instruction.opcode}"),
        ("Tensor", f"{value.shape or 'unknown shape'}, {size_text(value.size_bytes)}, {role}"),
        ("Used again", _next_use(program, move)),
    ]
    times = program.multiplicity(instruction.level)
    if times != 1:
        facts.append(("Runs", f"{times:,.4g} times, in `{program.regions[instruction.level].name}`"))
    if instruction.op_name:
        facts.append(("Source", instruction.op_name))
    facts.append(("This plan", ACTION_WORDS[action]))
    return Story(headline, stake, tuple(facts))


def _sink_story(program: Program, move: Move) -> Story:
    value = program.values[program.groups[move.group].values[-1]]
    if move.region == TOP_LEVEL:
        headline, why = f"The program hands out `{value.name}`", "outputs are read from slow memory"
    else:
        name = program.regions[move.region].name
        headline = f"An iteration of `{name}` ends with `{value.name}`"
        why = "the next iteration, or what follows, may read it from slow memory"
    stake = f"Nothing to choose: {why}, so a changed tensor is written back by now."
    facts = (
        ("Step", f"{move.time:,} of {program.num_slots:,}"),
        ("Tensor", f"{value.shape or 'unknown shape'}, {size_text(value.size_bytes)}"),
    )
    return Story(headline, stake, facts)


ACTION_WORDS = {
    COPY: "**Copy**: it is prefetched into fast memory in time",
    NO_COPY: "**NoCopy**: it is in fast memory already, or is made there",
    DROP: "**Drop**: slow memory serves it",
    NO_ACTION: "nothing to choose",
}


def _next_use(program: Program, move: Move) -> str:
    if move.next_time > program.num_slots:
        return "no more"
    steps = count_text(move.next_time - move.time, "step")
    return f"in {steps}, by `{program.instructions[move.next_time].name}`"


def action_name(action: int) -> str:
    """`Copy`, `NoCopy` or `Drop`."""
    return ACTION_NAMES[action]

"""One move of the game in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from engine.game.moves import Move
from engine.program.floors import has_floor, slow_s, worth_s
from engine.program.model import TOP_LEVEL, Program, Touch
from ui.components.units import count_text, size_text, time_text

MUCH = 4.0
"""From how many times the time that moving its bytes takes a saving is surprising."""
LEAST = 1e-3
"""Of all that can be saved: who saves less need not explain it."""


@dataclass(frozen=True)
class Story:
    """One move in words: who does what to which tensor, what is at stake, facts as (name, text)."""

    subject: str
    verb: str
    tensor: str
    stake: str
    facts: tuple[tuple[str, str], ...]


def story(program: Program, move: Move) -> Story:
    """The move for a reader who has not seen the rules."""
    return _sink_story(program, move) if move.is_sink else _touch_story(program, move)


def _touch_story(program: Program, move: Move) -> Story:
    touch = program.touches[move.touch]
    instruction = program.instructions[move.time]
    access = program.accesses[touch.accesses[0]]
    value = program.values[access.value]
    verb = "updates" if touch.reads and touch.writes else "reads" if touch.reads else "writes"
    fast = program.hardware.fast_name
    if move.saving_s > 0:
        share = time_text(slow_s(program, move.time))
        stake = (
            f"Served from {fast} it saves {time_text(worth_s(program, touch))} of the"
            f" instruction's {share}.{_floor_text(program, move.time)}"
            f"{_much_text(program, touch, verb)}"
        )
    elif move.saving_s < 0:
        stake = (
            f"Written into {fast} it takes {time_text(-move.saving_s)} longer than into slow"
            " memory, which may be worth it for what comes next."
        )
    else:
        stake = f"Served from {fast} it saves nothing here, but may stay for what comes next."
    role = ", ".join(
        f"{'result' if program.accesses[i].is_write else 'operand'} {program.accesses[i].operand}"
        for i in touch.accesses
    )
    facts = [
        ("Slot", f"{move.time:,} of {program.num_slots:,}, {instruction.opcode}"),
        ("Tensor", f"{value.shape or 'unknown shape'}, {size_text(value.size_bytes)}, {role}"),
        ("Used again", _next_use(program, move)),
    ]
    times = program.multiplicity(instruction.level)
    if times != 1:
        facts.append(("Runs", f"{times:,.4g} times, in {program.regions[instruction.level].name}"))
    if instruction.op_name:
        facts.append(("Source", instruction.op_name))
    return Story(instruction.name, verb, value.name, stake, tuple(facts))


def _much_text(program: Program, touch: Touch, verb: str) -> str:
    """Why so few bytes save so much, where much is at stake; else nothing."""
    moving_s = touch.slow_bytes / program.hardware.bandwidth
    at_stake_s = LEAST * (program.all_slow_s - program.all_fast_s)
    if touch.saving_s <= max(MUCH * moving_s, at_stake_s):
        return ""
    return (
        f" That is much for {size_text(touch.slow_bytes)}, which move in {time_text(moving_s)}: the"
        f" instruction {verb} them more than once, or the fit of the costs gave them what others"
        " save."
    )


def _floor_text(program: Program, time: int) -> str:
    """A sentence on a floor that may make the saving worth less; empty where there is none."""
    if not has_floor(program, time):
        return ""
    least = time_text(program.instructions[time].floor_s)
    return (
        f" It takes {least} at least, however much is fast, so what else is served from"
        f" {program.hardware.fast_name} here leaves less to save."
    )


def _sink_story(program: Program, move: Move) -> Story:
    value = program.values[program.groups[move.group].values[-1]]
    if move.region == TOP_LEVEL:
        subject, verb = "The program", "hands out"
        why = "outputs are read from slow memory"
    else:
        subject, verb = program.regions[move.region].name, "ends an iteration with"
        why = "the next iteration, or what follows, may read it from slow memory"
    stake = f"Nothing to choose: {why}, so a changed tensor is written back by now."
    facts = (
        ("Slot", f"{move.time:,} of {program.num_slots:,}"),
        ("Tensor", f"{value.shape or 'unknown shape'}, {size_text(value.size_bytes)}"),
    )
    return Story(subject, verb, value.name, stake, facts)


def _next_use(program: Program, move: Move) -> str:
    if move.next_time > program.num_slots:
        return "no more"
    slots = count_text(move.next_time - move.time, "slot")
    return f"in {slots}, by {program.instructions[move.next_time].name}"

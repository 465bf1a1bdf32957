"""One move of the game in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from engine.game.moves import Move
from engine.program.floors import has_floor, slow_s, worth_s
from engine.program.model import TOP_LEVEL, Program, Touch
from engine.program.observed import is_estimated, more_s
from ui.components.units import count_text, size_text, time_text, unobserved_text

MUCH = 4.0
"""A saving is surprising from this many times the time that moving its bytes takes."""
LEAST = 1e-3
"""Share of all that can be saved, below which a saving needs no explanation."""


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
    role = ", ".join(
        f"{'result' if program.accesses[i].is_write else 'operand'} {program.accesses[i].operand}"
        for i in touch.accesses
    )
    facts = [
        ("Slot", f"{move.time:,} of {program.num_slots:,}, {instruction.opcode}"),
        ("Tensor", f"{value.shape or 'unknown shape'}, {size_text(value.size_bytes)}, {role}"),
        ("Used again", _next_use(program, move)),
    ]
    if because := _unobserved_because(program, touch):
        facts.append(("Observed", because))
    times = program.multiplicity(instruction.level)
    if times != 1:
        facts.append(("Runs", f"{times:,.4g} times, in {program.regions[instruction.level].name}"))
    if instruction.op_name:
        facts.append(("Source", instruction.op_name))
    stake = _stake_text(program, touch, verb)
    return Story(instruction.name, verb, value.name, stake, tuple(facts))


def _stake_text(program: Program, touch: Touch, verb: str) -> str:
    """What the touch saves in fast memory, or costs, and whether a compile has shown it."""
    fast, worth = program.hardware.fast_name, worth_s(program, touch)
    mark = unobserved_text(max(0.0, worth), more_s(program, touch))
    mark = f" ({mark})" if mark else ""
    if touch.saving_s > 0:
        return (
            f"Served from {fast} it saves {time_text(worth)}{mark} of the"
            f" instruction's {time_text(slow_s(program, touch.time))}."
            f"{_floor_text(program, touch.time)}{_much_text(program, touch, verb)}"
        )
    if touch.saving_s < 0:
        return (
            f"Written into {fast} it takes {time_text(-touch.saving_s)} longer than into slow"
            " memory, which may be worth it for what comes next."
        )
    return f"Served from {fast} it saves nothing here{mark}, but may stay for what comes next."


def _unobserved_because(program: Program, touch: Touch) -> str:
    """What the touch's saving rests on where no compile has shown it; else empty."""
    if is_estimated(program):
        return "no: one dump tells no savings, they are estimated from the bytes"
    if more_s(program, touch) <= 0:
        return ""
    counted = "a cautious share" if touch.saving_s > 0 else "nothing"
    return f"no: no compile shows what this use saves by itself, so {counted} counts"


def _much_text(program: Program, touch: Touch, verb: str) -> str:
    """A sentence on why so few bytes save so much, where much is at stake; else empty."""
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

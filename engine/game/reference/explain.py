"""Why an action is legal or not, and what it does, in words that name buffers, slots and addresses.

All texts are made from the effect that the rules themselves compute, so they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.game.moves import ACTION_NAMES, DROP, KINDS, NO_COPY_OTHER, Move, goes_high
from engine.game.reference.blocks import Block, Booking, Effect, Reason, Refusal
from engine.game.reference.game import ReferenceGame
from engine.game.units import is_same, range_text, size_text, time_text, times_text
from engine.plan.model import BEFORE_START


@dataclass(frozen=True, slots=True)
class Blocker:
    """A block in the way: bytes `[low, high)` during slots `[start, end)`.

    `is_live`: it still holds its group's content, and past `end` stays on as a ghost.
    """

    group: int
    name: str
    start: int
    end: int
    low: int
    high: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether `action` may be played and why, in one or two plain sentences.

    Of an action refused for want of a place: `needed_bytes`, the `largest_hole` that is free in all
    of slots `[start, end)`, `scratch_bytes` at the low end, and the `blockers`, lowest first. Other
    refusals fill what applies to them; legal actions leave all of that empty.
    """

    action: int
    is_legal: bool
    reason: str
    blockers: tuple[Blocker, ...] = ()
    needed_bytes: int = 0
    largest_hole: int = 0
    scratch_bytes: int = 0
    start: int = 0
    end: int = 0


def explain(game: ReferenceGame, action: int) -> Explanation:
    """Explain `action` at the game's current move. Raises IndexError when the game is over."""
    effect = game.effect(action)
    if effect.refusal is None:
        return Explanation(action, True, _describe(game, effect))
    refusal = effect.refusal
    granule = game.facts.numbers.granule
    return Explanation(
        action=action,
        is_legal=False,
        reason=_refuse(game, action, refusal),
        blockers=tuple(_blocker(game, b) for b in sorted(refusal.blockers, key=lambda b: b.offset)),
        needed_bytes=game.move.size_granules * granule,
        largest_hole=refusal.hole * granule,
        scratch_bytes=refusal.lowest * granule,
        start=refusal.start,
        end=refusal.end,
    )


def group_name(game: ReferenceGame, group: int) -> str:
    """Name of a group: its first value, and how many more share its place."""
    values = game.program.groups[group].values
    more = f" (and {len(values) - 1} in the same place)" if len(values) > 1 else ""
    return game.program.values[values[0]].name + more


def _blocker(game: ReferenceGame, block: Block) -> Blocker:
    granule = game.facts.numbers.granule
    return Blocker(
        group=block.group,
        name=group_name(game, block.group),
        start=block.start,
        end=block.busy + 1 if block.is_live else block.end,
        low=block.offset * granule,
        high=(block.offset + block.size) * granule,
        is_live=block.is_live,
    )


def _slots(start: int, end: int) -> str:
    if start == BEFORE_START:
        return "the whole program, from before its start"
    return f"slot {start:,}" if end - start == 1 else f"slots {start:,} to {end - 1:,}"


def _range(game: ReferenceGame, block: Block) -> str:
    blocker = _blocker(game, block)
    return range_text(blocker.low, blocker.high)


def _seconds(game: ReferenceGame, ticks: int) -> float:
    return ticks * game.facts.numbers.tick_s


def _refuse(game: ReferenceGame, action: int, refusal: Refusal) -> str:
    name = group_name(game, game.move.group)
    if refusal.reason in (Reason.NO_PLACE, Reason.NO_TIME, Reason.STALL):
        return _refuse_for_room(game, action, refusal, name)
    is_there = action == NO_COPY_OTHER and game.move.group in game.state.live
    if refusal.reason is Reason.SAME_PLACE and is_there:
        return f"{name} is in fast memory already and stays at its place; no end is chosen."
    if refusal.reason is Reason.MUST_STAND:
        last = refusal.end - 1
        return (
            f"{name} must stay in fast memory through slot {last:,}: a stay that serves a touch in"
            " a loop covers the loop, and a cross-program prefetch covers the program."
        )
    if refusal.reason is Reason.NOT_THERE:
        return _not_there(game, name)
    if refusal.reason is Reason.INPUTS_TAKEN and not _most_inputs(game):
        return (
            f"{name} could only be there from before the start, but this chip keeps no inputs in"
            " fast memory between runs."
        )
    return _PLAIN[refusal.reason].format(
        name=name,
        action=ACTION_NAMES[action],
        time=game.move.time,
        begin=refusal.start,
        limit=_most_inputs(game),
        rows=game.facts.max_blocks,
    )


def _most_inputs(game: ReferenceGame) -> int:
    return game.program.hardware.max_cross_program_prefetches


def _not_there(game: ReferenceGame, name: str) -> str:
    """Without what cannot be asked for here anyway: inputs, where it is none, and loops."""
    more = ""
    if game.program.groups[game.move.group].is_input:
        more += (
            ", and it cannot have been there from before the start (only a program input that is"
            " never written can, at its first touch)"
        )
    if game.program.regions:
        more += ", nor can it be copied in front of a loop here"
    return f"{name} is not in fast memory{more}; Copy brings it in."


_PLAIN = {
    Reason.SINK: (
        "This move only makes sure that slow memory holds {name} here, so {action} means nothing;"
        " only Drop is legal."
    ),
    Reason.RESIDENT: (
        "{name} is in fast memory already, so there is nothing to copy in; NoCopy keeps it there."
    ),
    Reason.PURE_WRITE: (
        "Instruction {time} makes {name} anew without reading it, so there is nothing to copy in;"
        " NoCopy makes it in fast memory."
    ),
    Reason.FORCED: ("A dead end later on forced this touch of {name} to Drop (Drop-backup)."),
    Reason.MUST_BE_SLOW: (
        "Instruction {time} cannot serve {name} from fast memory on this hardware. Only Drop is"
        " legal; a later Copy can bring it in."
    ),
    Reason.OTHER_BRANCH: (
        "Another branch of the conditional has made {name} in fast memory, and only there is it;"
        " so this branch has to make it there too."
    ),
    Reason.RETURNS: (
        "{name} was there from before the start and gave up its place, to which it must come back"
        " at the end of the program; a stay elsewhere could last until then."
    ),
    Reason.SAME_PLACE: "At the other end {name} would have the same place.",
    Reason.TOO_LONG: (
        "One copy of {name} between the memories takes as long as the whole program."
    ),
    Reason.NO_START: (
        "A copy of {name} cannot start before slot {begin:,} and must be complete before"
        " instruction {time}: slow memory does not hold its content earlier, or an earlier stay"
        " has not ended."
    ),
    Reason.INPUTS_TAKEN: (
        "{name} could only be there from before the start, but the program may keep at most"
        " {limit} inputs in fast memory between runs, and those are chosen."
    ),
    Reason.FORGOTTEN: (
        "The game remembers {rows} blocks at a time. Which addresses were taken before slot"
        " {begin:,} is forgotten, so {name} cannot be brought in there."
    ),
    Reason.TABLE_FULL: (
        "The game remembers {rows} blocks at a time, and all of them are still in fast memory."
    ),
}


def _standing(count: int) -> str:
    return "1 buffer that must stand is" if count == 1 else f"{count} buffers that must stand are"


def _refuse_for_room(game: ReferenceGame, action: int, refusal: Refusal, name: str) -> str:
    if refusal.reason is Reason.NO_PLACE:
        granule = game.facts.numbers.granule
        scratch = refusal.lowest * granule
        below = f", above {size_text(scratch)} of scratch" if scratch else ""
        hole = f"the largest hole is {size_text(refusal.hole * granule)}"
        return (
            f"{name} needs {size_text(game.move.size_granules * granule)} during"
            f" {_slots(refusal.start, refusal.end)}, but {hole}{below}:"
            f" {_standing(len(refusal.blockers))} in the way."
        )
    names = ", ".join(group_name(game, b.group) for b in refusal.blockers)
    if refusal.start > refusal.end:
        return (
            f"{names} would have to be written back to slow memory before slot {refusal.end:,}, but"
            f" could be from slot {refusal.start:,} on at the earliest."
        )
    needed, idle = times_text(
        _seconds(game, refusal.needed_ticks), _seconds(game, refusal.free_ticks)
    )
    free = f"only {idle} idle" if refusal.free_ticks else "no idle time"
    if refusal.reason is Reason.STALL:
        why = "and a stall is not allowed here (strict sinks)"
    elif action == DROP:
        why = "other copies are under way there, and only fast memory holds its content"
    else:
        why = f"and {name} has no other place"
    return (
        f"{names} would have to be written back to slow memory before slot {refusal.end:,}, which"
        f" takes {needed}; slow memory has {free} until then, {why}."
    )


def _describe(game: ReferenceGame, effect: Effect) -> str:
    move, name = game.move, group_name(game, game.move.group)
    if move.is_sink:
        return _describe_sink(game, effect, name)
    parts = [_headline(game, effect, move, name)]
    if effect.is_new and effect.dropped is not None:
        parts.append(f"Its stay so far ends at slot {effect.dropped.end:,}.")
    if effect.displaced:
        taken = ", ".join(group_name(game, b.group) for b in effect.displaced)
        parts.append(f"It takes the place of {taken}.")
    parts += [_write_back(game, b) for b in effect.bookings if not b.is_prefetch]
    return " ".join(parts) + _in_flight(move)


def _in_flight(move: Move) -> str:
    """How long the move's group keeps its place because its instruction only starts something."""
    if move.is_sink or move.end == move.time + 1:
        return ""
    return f" What instruction {move.time:,} starts with it is done before slot {move.end:,}."


def _headline(game: ReferenceGame, effect: Effect, move: Move, name: str) -> str:
    prefetch = next((b for b in effect.bookings if b.is_prefetch), None)
    stall_s = _seconds(game, prefetch.stall_ticks) if prefetch else 0.0
    seconds, stalled = times_text(abs(move.saving_s), stall_s)
    gain, spared = _worth_texts(move, seconds)
    if effect.block is None:
        end = (
            f" Its stay in fast memory ends at slot {effect.dropped.end:,}."
            if effect.dropped
            else ""
        )
        return f"Instruction {move.time:,} uses {name} in slow memory and {spared}.{end}"
    place = _range(game, effect.block) + _at_end(game, effect)
    if prefetch is not None:
        busy = effect.block.busy
        held = f"; it stays through the loop, to slot {busy:,}" if busy >= move.end else ""
        stall = f", but stalls {stalled}" if prefetch.stall_ticks else ", no stall"
        return f"Copies {name} into {place}, {_when(prefetch)}{held}; {gain}{stall}."
    if not effect.is_new:
        return f"{name} is in fast memory at {place} and stays there; {gain}."
    if effect.block.start == BEFORE_START:
        return (
            f"{name} is at {place} from before the start, where the previous run left it, and"
            f" is there again at the end; {gain}."
        )
    return f"Instruction {move.time:,} makes {name} in fast memory at {place}; {gain}."


def _worth_texts(move: Move, seconds: str) -> tuple[str, str]:
    """What it means that fast memory serves the move, and what it means that slow memory does."""
    if move.saving_s < 0:
        return f"takes {seconds} longer than in slow memory", f"takes {seconds} less than in fast"
    worth = "nothing" if is_same(move.saving_s) else seconds
    return f"saves {worth}", f"gives up {worth}"


def _at_end(game: ReferenceGame, effect: Effect) -> str:
    """Whether it is the planned place, or at which end of the free room, if not the rule's."""
    is_other = effect.action != KINDS[effect.action]
    planned = game.facts.planned.offset(game.move)
    if planned is not None:
        assert effect.block is not None
        is_there = effect.block.offset == planned
        return f" ({'as' if is_there else 'not as'} planned)"
    return f" (the {end_text(game)} of the free room)" if is_other else ""


def end_text(game: ReferenceGame) -> str:
    """The end of the free room that the place rule does not choose at the game's current move.

    Where a place is planned, the other one is just not that.
    """
    if game.facts.planned.offset(game.move) is not None:
        return "not as planned"
    is_high = not goes_high(game.rules, game.move, game.facts.numbers.fast_granules)
    return "high end" if is_high else "low end"


def _describe_sink(game: ReferenceGame, effect: Effect, name: str) -> str:
    if not effect.bookings:
        return f"Slow memory holds {name}, or its stay covers the loop; nothing needs to be done."
    booking = effect.bookings[0]
    end = "" if booking.stall_ticks else " without a stall"
    return f"{_write_back(game, booking)[:-1]}{end}."


def _when(booking: Booking) -> str:
    if booking.start == booking.deadline:
        return f"right before slot {booking.deadline:,}"
    return f"during {_slots(booking.start, booking.deadline)}"


def _write_back(game: ReferenceGame, booking: Booking) -> str:
    name = group_name(game, booking.group)
    stalls_s = _seconds(game, booking.stall_ticks)
    stall = f", but stalls {time_text(stalls_s)}" if booking.stall_ticks else ""
    return f"{name} is written back to slow memory {_when(booking)}{stall}."

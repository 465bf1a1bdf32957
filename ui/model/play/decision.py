"""One move as a decision: what it is about, each action with its effect or why it is illegal."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from htpy import Node, Renderable, b, br, button, code, div, em, fragment, i, kbd, p, span

from engine.game.moves import ACTION_NAMES, COPY, DROP, KINDS, NO_COPY, OTHER_END, Move
from engine.game.reference.explain import end_text, explain, group_name
from engine.game.reference.game import ReferenceGame
from engine.game.reference.placement import free_gaps
from engine.game.replay import immediate_reward
from engine.program.floors import has_floor, slow_s, worth_s
from engine.program.model import TOP_LEVEL, Program, Touch
from engine.program.provenance import is_estimated, more_s
from ui.components.glossary import term_html
from ui.components.html import command_html
from ui.components.units import (
    count_text,
    gain_text,
    range_text,
    share_text,
    size_text,
    tied_text,
    time_text,
    times_text,
)
from ui.model.play.ghosts import Opinion

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
    worth = worth_s(program, touch)
    more = more_s(program, touch)
    saves, most, takes = times_text(
        worth, max(0.0, worth) + more, slow_s(program, touch.time) if touch.saving_s > 0 else 0.0
    )
    mark = f" (not observed: up to {most})" if more > 0 else ""
    if touch.saving_s > 0:
        return (
            f"Served from fast memory it saves {saves}{mark} of the instruction's {takes}."
            f"{_floor_text(program, touch.time)}{_much_text(program, touch, verb)}"
        )
    if touch.saving_s < 0:
        return (
            f"Written into fast memory it takes {time_text(-touch.saving_s)} longer than into slow"
            " memory, which may be worth it for what comes next."
        )
    return f"Served from fast memory it saves nothing here{mark}, but may stay for what comes next."


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
        f" It takes {least} at least, however much is fast, so what else is served from fast memory"
        " here leaves less to save."
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


@dataclass(frozen=True)
class Choice:
    """One action in a position. `gain_s`: what it earns at once, in seconds of the program.

    `is_blocked`: it is forbidden by tensors that can be shown. `thought`: what the agent made of
    it, empty where it has no opinion. `other`: the same at the other end, where that is legal.
    `is_right`: whether it was right, where it cannot be played any more.
    """

    action: int
    name: str
    is_legal: bool
    text: str
    gain_s: float
    is_blocked: bool
    thought: str = ""
    other: Choice | None = None
    is_right: bool | None = None

    def thinking(self, thoughts: Mapping[int, str]) -> Choice:
        """This choice and its other end with other thoughts; `thoughts`: a text by action."""
        other = self.other.thinking(thoughts) if self.other else None
        return replace(self, thought=thoughts.get(self.action, ""), other=other)

    def answered(self, right: Collection[int]) -> Choice:
        """This choice and its other end after an answer; `right`: the actions that were right."""
        other = self.other.answered(right) if self.other else None
        return replace(self, is_right=self.action in right, other=other)


def choices(game: ReferenceGame, opinion: Opinion | None = None) -> list[Choice]:
    """Copy, NoCopy and Drop in the current position; none when the game is over."""
    if game.is_over:
        return []
    offered = [_choice(game, action, opinion) for action in (COPY, NO_COPY, DROP)]
    return [replace(c, other=_other_end(game, c.action, opinion)) for c in offered]


def _other_end(game: ReferenceGame, kind: int, opinion: Opinion | None) -> Choice | None:
    """The choice of an action at the other end: its addresses, and what it does there.

    The stall is named only where it differs from the one at the usual end. None where the other end
    is no place for it.
    """
    action = OTHER_END.get(kind, kind)
    effect = game.effect(action)
    if action == kind or effect.block is None:
        return None
    granule, block = game.facts.numbers.granule, effect.block
    where = range_text(block.offset * granule, (block.offset + block.size) * granule)
    parts = [f"{end_text(game)}, {where}"]
    if effect.displaced:
        taken = ", ".join(group_name(game, block.group) for block in effect.displaced)
        parts.append(f"takes the place of {taken}")
    if effect.stall_ticks != game.effect(kind).stall_ticks:
        parts.append(f"stalls {time_text(effect.stall_ticks * game.facts.numbers.tick_s)}")
    return replace(_choice(game, action, opinion), text=" · ".join(parts))


def _choice(game: ReferenceGame, action: int, opinion: Opinion | None) -> Choice:
    why = explain(game, action)
    gain = immediate_reward(game, action) * game.program.all_slow_s if why.is_legal else 0.0
    name = ACTION_NAMES[action]
    thought = ""
    if opinion is not None and why.is_legal:
        visits = share_text(opinion.visits[action])
        thought = f"agent: {share_text(opinion.prior[action])} prior, {visits} of its visits"
    text = tied_text(why.reason)
    return Choice(action, name, why.is_legal, text, gain, bool(why.blockers), thought)


def room_text(game: ReferenceGame) -> str:
    """How full fast memory is now, in words."""
    numbers, time = game.facts.numbers, min(game.move.time, game.program.num_slots - 1)
    standing = [*game.state.live.values(), *(b for b in game.state.ended if b.stands_at(time))]
    scratch = numbers.reserved[time]
    used = sum(b.size for b in standing) + scratch
    gaps = free_gaps(standing, scratch, numbers.fast_granules)
    hole = max((high - low for low, high in gaps), default=0)
    taken = f"{size_text(used * numbers.granule)} of {size_text(game.program.hardware.fast_bytes)}"
    return f"{taken} taken, largest hole {size_text(hole * numbers.granule)}"


def story_html(story: Story) -> Renderable:
    """The move's headline and what is at stake."""
    return fragment[
        p(".headline")[code[story.subject], f" {story.verb} ", code[story.tensor]],
        p(".stake")[story.stake],
    ]


def choice_html(choice: Choice, chosen: int | None, is_asked: bool, is_plan: bool) -> Renderable:
    """One action as a card: what it would do and earn, or why it is forbidden.

    A legal one is a button that plays it; a refused one has a button that shows its obstacles.
    Below stands a button for its other end, where that is legal. `chosen`: what is played here.
    """
    is_chosen = choice.action == chosen
    other = _other_end_html(choice.other, choice, chosen, is_plan) if choice.other else None
    return fragment[_card_html(choice, is_chosen, is_asked, is_plan), other]


def _card_html(choice: Choice, is_chosen: bool, is_asked: bool, is_plan: bool) -> Renderable:
    kind = choice.name.lower()
    if choice.is_legal:
        return _play_html(
            f"choice {kind}",
            choice,
            is_chosen,
            kbd[choice.action + 1],
            b[term_html(choice.name, is_focusable=False, has_text=False)],
            " ",
            em[gain_text(choice.gain_s)],
            _own_html(is_plan) if is_chosen else None,
            _right_html(choice),
            br,
            choice.text,
            (br, i(".thought")[choice.thought]) if choice.thought else None,
        )
    label = "hide" if is_asked else "show what forbids it"
    ask = command_html("ask", label, action=choice.action) if choice.is_blocked else None
    name = term_html(choice.name, has_text=False)
    return div(class_=f"choice {kind} refused")[b[name], " ✗ ", ask, br, choice.text]


def _other_end_html(choice: Choice, main: Choice, chosen: int | None, is_plan: bool) -> Renderable:
    """A button in one line: key, gain if it is not that of `main`, address, effect."""
    kind, is_chosen = KINDS[choice.action], choice.action == chosen
    is_other_gain = not main.is_legal or gain_text(choice.gain_s) != gain_text(main.gain_s)
    return _play_html(
        f"other-end {ACTION_NAMES[kind].lower()}",
        choice,
        is_chosen,
        kbd[f"⇧{kind + 1}"],
        term_html("Other end", is_focusable=False, has_text=False),
        (" ", em[gain_text(choice.gain_s)]) if is_other_gain else None,
        _own_html(is_plan) if is_chosen else None,
        _right_html(choice),
        f" · {choice.text}",
        (" ", i(".thought")[choice.thought]) if choice.thought else None,
    )


def _play_html(kind: str, choice: Choice, is_chosen: bool, *parts: Node) -> Renderable:
    """A button that plays the action; after an answer it keeps the focus, and does nothing."""
    look = {kind: True, "chosen": is_chosen, "right": choice.is_right}
    return button(
        class_=look,
        data_do="play",
        data_action=choice.action,
        aria_disabled=None if choice.is_right is None else "true",
    )[span[parts]]


def _right_html(choice: Choice) -> Node:
    return (" · ", em["✓ right"]) if choice.is_right else None


def _own_html(is_plan: bool) -> Renderable:
    return fragment[" · ", em["the plan" if is_plan else "played"]]

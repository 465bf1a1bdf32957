"""The actions of a move, each with what it would do and earn, or why it is forbidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.game.moves import ACTION_NAMES, COPY, DROP, NO_COPY, OTHER_END
from engine.game.reference.blocks import free_gaps
from engine.game.reference.explain import end_text, explain, group_name
from engine.game.reference.game import ReferenceGame
from engine.game.replay import immediate_reward
from ui.components.units import address_text, share_text, size_text, time_text
from ui.model.play.opinion import Opinion


@dataclass(frozen=True)
class Choice:
    """One action in a position. `gain_s`: what it earns at once, in seconds of the program.

    `is_blocked`: it is forbidden by tensors that can be shown. `thought`: what the agent made of
    it, empty where it has no opinion. `other`: the same at the other end, where that is legal.
    """

    action: int
    name: str
    is_legal: bool
    text: str
    gain_s: float
    is_blocked: bool
    thought: str = ""
    other: Choice | None = None

    def thinking(self, thoughts: Mapping[int, str]) -> Choice:
        """This choice and its other end with other thoughts; `thoughts`: a text by action."""
        other = self.other.thinking(thoughts) if self.other else None
        return replace(self, thought=thoughts.get(self.action, ""), other=other)


def choices(game: ReferenceGame, opinion: Opinion | None = None) -> list[Choice]:
    """Copy, NoCopy and Drop in the current position; none when the game is over."""
    if game.is_over:
        return []
    offered = [_choice(game, action, opinion) for action in (COPY, NO_COPY, DROP)]
    return [replace(c, other=_other_end(game, c.action, opinion)) for c in offered]


def _other_end(game: ReferenceGame, kind: int, opinion: Opinion | None) -> Choice | None:
    """The choice of an action at the other end: its address, and what it does there.

    The stall is named only where it differs from the one at the usual end. None where the other end
    is no place for it.
    """
    action = OTHER_END.get(kind, kind)
    effect = game.placement(action)
    if action == kind or effect.block is None:
        return None
    parts = [f"{end_text(game)}, {address_text(effect.block.offset * game.facts.numbers.granule)}"]
    if effect.evicted:
        taken = ", ".join(group_name(game, block.group) for block in effect.evicted)
        parts.append(f"takes the place of {taken}")
    if effect.stall_ticks != game.placement(kind).stall_ticks:
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
    return Choice(action, name, why.is_legal, why.reason, gain, bool(why.blockers), thought)


def room_text(game: ReferenceGame) -> str:
    """How full fast memory is now, in words."""
    numbers, time = game.facts.numbers, min(game.move.time, game.program.num_slots - 1)
    standing = [*game.live.values(), *(b for b in game.ended if b.stands_at(time))]
    floor = numbers.reserved[time]
    used = sum(b.size for b in standing) + floor
    gaps = free_gaps(standing, floor, numbers.fast_granules)
    hole = max((high - low for low, high in gaps), default=0)
    taken = f"{size_text(used * numbers.granule)} of {size_text(game.program.hardware.fast_bytes)}"
    return f"{taken} taken, largest hole {size_text(hole * numbers.granule)}"

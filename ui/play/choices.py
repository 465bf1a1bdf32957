"""The three actions of a move, each with what it would do, earn, or why it is forbidden."""

from __future__ import annotations

from dataclasses import dataclass

from engine.game.board import free_gaps
from engine.game.explain import explain
from engine.game.moves import ACTION_NAMES, COPY, DROP, NO_COPY
from engine.game.reference import ReferenceGame
from engine.game.replay import immediate_reward
from ui.components.units import share_text, size_text
from ui.play.opinion import Opinion


@dataclass(frozen=True)
class Choice:
    """One action in a position. `gain_s`: what it earns at once, in seconds of the program.

    `is_blocked`: it is forbidden by tensors that can be shown. `thought`: what the agent made of
    it, empty where it has no opinion.
    """

    action: int
    name: str
    is_legal: bool
    text: str
    gain_s: float
    is_blocked: bool
    thought: str = ""


def choices(game: ReferenceGame, opinion: Opinion | None = None) -> list[Choice]:
    """Copy, NoCopy and Drop in the current position; none when the game is over."""
    if game.is_over:
        return []
    return [_choice(game, action, opinion) for action in (COPY, NO_COPY, DROP)]


def _choice(game: ReferenceGame, action: int, opinion: Opinion | None) -> Choice:
    told = explain(game, action)
    gain = immediate_reward(game, action) * game.program.all_slow_s if told.is_legal else 0.0
    name = ACTION_NAMES[action]
    thought = ""
    if opinion is not None and told.is_legal:
        visits = share_text(opinion.visits[action])
        thought = f"agent: {share_text(opinion.prior[action])} prior, {visits} of its visits"
    return Choice(action, name, told.is_legal, told.reason, gain, bool(told.blockers), thought)


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

"""The three actions of a move, each with what it would do, earn, or why it is forbidden."""

from __future__ import annotations

from dataclasses import dataclass

from engine.game.explain import explain
from engine.game.moves import ACTION_NAMES, COPY, DROP, NO_COPY
from engine.game.reference import ReferenceGame
from engine.game.replay import immediate_reward
from ui.viewmodel.units import size_text


@dataclass(frozen=True)
class Choice:
    """One action in a position. `gain_s`: what it earns at once, in seconds of the program.

    `is_blocked`: it is forbidden by tensors that can be shown.
    """

    action: int
    name: str
    is_legal: bool
    text: str
    gain_s: float
    is_blocked: bool


def choices(game: ReferenceGame) -> list[Choice]:
    """Copy, NoCopy and Drop in the current position; none when the game is over."""
    return [] if game.is_over else [_choice(game, action) for action in (COPY, NO_COPY, DROP)]


def _choice(game: ReferenceGame, action: int) -> Choice:
    told = explain(game, action)
    gain = immediate_reward(game, action) * game.program.all_slow_s if told.is_legal else 0.0
    name = ACTION_NAMES[action]
    return Choice(action, name, told.is_legal, told.reason, gain, bool(told.blockers))


def room_text(game: ReferenceGame) -> str:
    """How full fast memory is now, in words."""
    numbers, time = game.facts.numbers, min(game.move.time, game.program.num_slots - 1)
    standing = [*game.live.values(), *(b for b in game.ended if b.stands_at(time))]
    used = sum(b.size for b in standing) + numbers.reserved[time]
    size = size_text(used * numbers.granule)
    return f"{size} of {size_text(game.program.hardware.fast_bytes)} taken"

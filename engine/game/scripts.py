"""Scripts: whole games written down in advance, as one word per move.

A word is an action, `EARN` or `EARN_OTHER`. Words that turn out illegal do no harm: they count as
the nearest action that is legal (`ReferenceGame.nearest`).
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.game.moves import COPY, DROP, NO_COPY, NUM_ACTIONS, OTHER_END, Rules
from engine.game.reference.blocks import Effect
from engine.game.reference.game import ReferenceGame
from engine.program.floors import above_floor
from engine.program.model import Program

EARN = NUM_ACTIONS
"""A word: bring the group in where its stall costs less than it saves, by a copy in front of the
loop, else Copy, else NoCopy; where none does, Drop."""
EARN_OTHER = EARN + 1
"""The same at the other end, if the action is legal there."""
NUM_WORDS = NUM_ACTIONS + 2


def play_script(
    program: Program, words: Iterable[int], rules: Rules | None = None
) -> ReferenceGame:
    """The game of a script, in plain Python; `engine.game.jaxgame.batching` plays many at once."""
    game = ReferenceGame(program, rules or Rules())
    for word in words:
        play_word(game, int(word))
    return game


def play_word(game: ReferenceGame, word: int) -> None:
    """One move by a word."""
    game.step(_action(game, word))


def _action(game: ReferenceGame, word: int) -> int:
    if word < EARN:
        return game.nearest(word)
    action = earning(game)
    return action if word == EARN else game.nearest(OTHER_END.get(action, action))


def earning(game: ReferenceGame) -> int:
    """The action of the word `EARN`: what keeps or brings the group in, where that pays."""
    saving = above_floor(game.move.saving_ticks, game.state.spare_ticks)
    is_there = game.move.group in game.state.live
    stay, copy = game.effect(NO_COPY), game.effect(COPY)
    is_hoisted = stay.is_legal and stay.is_hoisted and _pays(stay, saving)
    if copy.is_legal and _pays(copy, saving) and not (is_there or is_hoisted):
        return COPY
    return NO_COPY if stay.is_legal and (not stay.stall_ticks or _pays(stay, saving)) else DROP


def _pays(effect: Effect, saving: float) -> bool:
    return effect.stall_ticks < saving

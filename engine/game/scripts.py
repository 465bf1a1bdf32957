"""Scripts: whole games written down in advance, as one word per move.

A word is an action, or `EARN`. Words that turn out illegal do no harm: they count as NoCopy if that
is legal, else as Drop.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.game.board import Effect
from engine.game.moves import COPY, DROP, NO_COPY, NUM_ACTIONS, Rules
from engine.game.reference import ReferenceGame
from engine.program.model import Program

EARN = NUM_ACTIONS
"""What brings the group in where its stall costs less than it saves: a copy in front of the loop,
else Copy, else NoCopy; where neither does, Drop."""
NUM_WORDS = NUM_ACTIONS + 1


def play_script(
    program: Program, words: Iterable[int], rules: Rules | None = None
) -> ReferenceGame:
    """The game of a script, in plain Python; `engine.game.batch` plays many at once."""
    game = ReferenceGame(program, rules or Rules())
    for word in words:
        play_word(game, int(word))
    return game


def play_word(game: ReferenceGame, word: int) -> None:
    """One move by a word."""
    game.step(_action(game, word))


def _action(game: ReferenceGame, word: int) -> int:
    legal = game.legal()
    if word == EARN:
        return earning(game)
    if legal[word]:
        return word
    return NO_COPY if legal[NO_COPY] else DROP


def earning(game: ReferenceGame) -> int:
    """The action of the word `EARN`: what keeps or brings the group in, where that pays."""
    saving, is_there = min(game.move.saving_ticks, game.spare_ticks), game.move.group in game.live
    stay, copy = game.placement(NO_COPY), game.placement(COPY)
    is_hoisted = stay.is_legal and stay.is_hoisted and _pays(stay, saving)
    if copy.is_legal and _pays(copy, saving) and not (is_there or is_hoisted):
        return COPY
    return NO_COPY if stay.is_legal and (not stay.stall_ticks or _pays(stay, saving)) else DROP


def _pays(effect: Effect, saving: int) -> bool:
    return effect.stall_ticks < saving

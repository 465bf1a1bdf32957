"""Scripts: whole games written down in advance, as one word per move.

A word is an action, or `EARN`. Words that turn out illegal do no harm: they count as NoCopy if that
is legal, else as Drop.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.game.moves import COPY, DROP, NO_COPY, NUM_ACTIONS, Rules
from engine.game.reference import ReferenceGame
from engine.program.model import Program

EARN = NUM_ACTIONS
"""Copy where its stall costs less than it saves, else as if Copy were illegal."""
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
    wanted = COPY if word == EARN else word
    if legal[wanted] and not (word == EARN and _is_vain(game)):
        return wanted
    return NO_COPY if legal[NO_COPY] else DROP


def _is_vain(game: ReferenceGame) -> bool:
    return game.placement(COPY).stall_ticks >= game.move.saving_ticks

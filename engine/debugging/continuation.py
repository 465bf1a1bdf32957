"""Ways to play a game on from any position, for asking what another move would have led to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.game.moves import COPY, DROP, KINDS, NO_COPY
from engine.game.reference.game import ReferenceGame
from engine.game.replay import immediate_reward

Continuation = Callable[[ReferenceGame], int]
"""Chooses a legal action for the position that it is shown; the game is not over."""


def likewise(actions: Sequence[int], rewards: Sequence[float]) -> Continuation:
    """Go on as in a recorded game of the same program, as near as the position allows.

    An illegal action is replaced by the same at the rule's end, else as `engine.game.replay` does
    it; so is a Copy that costs more than it saves and more than it did in the recorded game
    (`rewards`: shares of all slow, per move).
    """

    def choose(game: ReferenceGame) -> int:
        wanted = actions[game.move_index]
        kind, floor = KINDS[wanted], min(0.0, rewards[game.move_index])
        for action in (wanted, kind):
            is_legal = game.placement(action).is_legal
            if is_legal and (kind != COPY or immediate_reward(game, action) >= floor):
                return action
        return _nearest(game, kind)

    return choose


def _nearest(game: ReferenceGame, wanted: int) -> int:
    """Another action than `wanted` that serves the touch from fast memory if it can."""
    legal = game.legal()
    if wanted == COPY and legal[NO_COPY] and not game.placement(NO_COPY).is_new:
        return NO_COPY
    if wanted == NO_COPY and legal[COPY] and immediate_reward(game, COPY) >= 0:
        return COPY
    return DROP if legal[DROP] else NO_COPY


def finish(game: ReferenceGame, continuation: Continuation) -> float | None:
    """Play `game` to its end; the rewards' sum, None in a dead end (of strict rules)."""
    reward = 0.0
    while not game.is_over:
        if game.rules.strict and game.is_dead_end:
            return None
        reward += game.step(continuation(game))
    return reward

"""Games for the analysis: replayed from a trace, or played on from any position. Without JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.agent.trace_io import SearchTrace
from engine.game.moves import COPY, DROP, KINDS, NO_COPY, PLACE_RULES, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import immediate_reward
from engine.program.model import Program

_CLOSE_POINTS = 0.01
"""The JAX game counts in 32-bit floats; another place rule makes a larger difference."""


def traced_game(program: Program, trace: SearchTrace) -> ReferenceGame | None:
    """The finished game, if it earns the trace's rewards, else None.

    Under the rules that the trace names, else under the place rule that gives these rewards.
    """
    named = trace.rules
    for rules in [named] if named else [Rules(place=place) for place in PLACE_RULES]:
        game = ReferenceGame(program, rules)
        if game.num_moves != trace.num_moves:
            return None
        if all(_fits(game, trace, int(action)) for action in trace.action):
            return game
    return None


def _fits(game: ReferenceGame, trace: SearchTrace, action: int) -> bool:
    """Play the action, if it is legal; True if it earned the reward that the trace has of it."""
    move = game.move_index
    if not game.legal()[action]:
        return False
    points = game.step(action) * game.program.all_slow_s / trace.point_s
    traced = trace.reward[move] + trace.par[move] - trace.par[move + 1]
    return abs(points - float(traced)) < _CLOSE_POINTS


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
            is_legal = game.effect(action).is_legal
            if is_legal and (kind != COPY or immediate_reward(game, action) >= floor):
                return action
        return _nearest(game, kind)

    return choose


def _nearest(game: ReferenceGame, wanted: int) -> int:
    """Another action than `wanted` that serves the touch from fast memory if it can."""
    legal = game.legal()
    if wanted == COPY and legal[NO_COPY] and not game.effect(NO_COPY).is_new:
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

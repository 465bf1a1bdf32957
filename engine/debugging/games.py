"""Games for the analysis: replayed from a trace, or played on from any position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from engine.agent.config import POLICY_ONLY, AgentConfig, SearchConfig
from engine.agent.network import Params
from engine.agent.self_play import CHUNK, FREE, first_positions, play_games
from engine.agent.trace_io import SearchTrace
from engine.agent.workload import Workload, make_workload
from engine.game.moves import COPY, DROP, KINDS, NO_COPY, SIMPLE_RULES, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import immediate_reward
from engine.program.model import Program
from engine.solvers.demonstrations import demonstrate, quick_bound

_CLOSE_POINTS = 0.01
"""The JAX game counts in 32-bit floats; another place rule makes a larger difference."""


def traced_game(program: Program, trace: SearchTrace) -> ReferenceGame | None:
    """The finished game, under the place rule that gives the trace's rewards; None if none does."""
    for place in SIMPLE_RULES:
        game = ReferenceGame(program, Rules(place=place))
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


GoOn = Callable[[int], bool]
"""Called with the number of moves that have been played; False ends the game."""
_NO_DICE: Any = np.zeros(2, np.uint32)
"""A key of random numbers; at temperature 0 nothing is left to chance."""
_BOUND_S = 20.0
"""Most seconds for a program's bound."""


@dataclass(frozen=True, eq=False)
class Side:
    """Somebody who plays: weights and settings under a name; `config.search` says how it plays."""

    name: str
    config: AgentConfig
    params: Params

    def with_search(self, **changes: object) -> Side:
        """An agent of the same weights with other settings of the search. Raises ConfigError."""
        search = replace(self.config.search, **changes)  # type: ignore[arg-type]
        return replace(self, config=replace(self.config, search=search))


def workload_of(program: Program, config: AgentConfig, rules: Rules | None = None) -> Workload:
    """The program as the agent sees it, with the yardstick of the same place rule.

    Without `rules` it is played under the place rule that suits the heuristics best.
    Raises SolverError for a program that the JAX game cannot hold.
    """
    shown = demonstrate(program, (rules.place,)) if rules else demonstrate(program)
    bound = quick_bound(program, _BOUND_S)
    first = shown[0]
    return make_workload(program, first.actions, config, rules=rules or first.rules, bound=bound)


def play_on(
    side: Side,
    workload: Workload,
    begun: Sequence[Sequence[int]],
    search: SearchConfig | None = None,
    go_on: GoOn = lambda _: True,
) -> list[tuple[int, ...]] | None:
    """The actions of whole games that began with those of `begun`, all played at once.

    `search` replaces the settings of the side. None if `go_on` said no.
    """
    length, played = workload.num_moves, count(0, CHUNK)
    script = np.full((length, len(begun)), FREE, np.int32)
    for number, actions in enumerate(begun):
        script[: len(actions), number] = actions
    games = play_games(
        side.params,
        workload.arena,
        first_positions(workload.arena, len(begun)),
        _NO_DICE,
        np.zeros((len(begun), 1), np.float32),
        script,
        search or side.config.search,
        go_on=lambda: go_on(min(length, next(played))),
    )
    if games is None:
        return None
    return [tuple(int(a) for a in game) for game in np.asarray(games.moves.action).T]


def policy_of(side: Side) -> SearchConfig:
    """Settings that play by the prior alone."""
    return replace(side.config.search, model=POLICY_ONLY)


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

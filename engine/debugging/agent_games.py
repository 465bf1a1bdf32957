"""The agent's games for the analysis: whole ones, and the rest of begun ones, without any noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from engine.agent.config import AgentConfig
from engine.agent.network import Params
from engine.agent.self_play import CHUNK, FREE, first_positions, play_games
from engine.agent.workload import Workload, make_workload
from engine.game.moves import Rules
from engine.program.model import Program
from engine.solvers.demonstrations import demonstrate, drafted, quick_bound
from engine.solvers.draft import drafts_of

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
    """The program as the agent sees it, with the yardstick of the same rules.

    Without `rules` it is played in the planned places of a draft, whose wishes it has; with other
    planned places there are no wishes.
    Raises SolverError for a program that the JAX game cannot hold.
    """
    bound = quick_bound(program, _BOUND_S)
    if rules is not None and not rules.planned:
        first = demonstrate(program, [rules])[0]
    else:
        first = drafted(program, next(drafts_of(program)), rules)
    return make_workload(
        program, first.actions, config, rules=first.rules, bound=bound, wishes=first.wishes
    )


def play_on(
    side: Side,
    workload: Workload,
    begun: Sequence[Sequence[int]],
    go_on: GoOn = lambda _: True,
    *,
    grows: bool = True,
) -> list[tuple[int, ...]] | None:
    """The actions of whole games that began with those of `begun`, all played at once.

    Without `grows` they are played by the prior alone, with what is compiled for the search. None
    if `go_on` said no.
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
        side.config.search,
        go_on=lambda: go_on(min(length, next(played))),
        grows=grows,
    )
    if games is None:
        return None
    return [tuple(int(a) for a in game) for game in np.asarray(games.moves.action).T]

"""The agent's opinion of a position: the prior before its search, and the visits after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.game.notes import noted_rules
from engine.game.reference.game import ReferenceGame
from ui.model.search.state import Thought


@dataclass(frozen=True)
class Opinion:
    """One search's opinion of a position.

    `prior`: probability of each action before the search. `visits`: each action's share of the
    `num_visits` simulations. `name`: the game that was searched.
    """

    prior: tuple[float, ...]
    visits: tuple[float, ...]
    num_visits: int
    name: str


def opinion_of(
    thoughts: Iterable[Thought], game: ReferenceGame, actions: Sequence[int]
) -> Opinion | None:
    """The agent's opinion of the position `game`, which `actions` lead to.

    Of several games that pass through it the last one counts; None if none does.
    """
    move, latest = len(actions), None
    for thought in thoughts:
        trace = thought.trace
        is_game = move < trace.num_moves and noted_rules(thought.plan) == game.rules
        if is_game and np.array_equal(trace.action[:move], actions):
            latest = thought
    if latest is None:
        return None
    visits = latest.trace.root_visits()[move].astype(float)
    return Opinion(
        prior=tuple(float(p) for p in latest.trace.prior[move]),
        visits=tuple((visits / max(1.0, visits.sum())).tolist()),
        num_visits=int(visits.sum()),
        name=latest.name,
    )

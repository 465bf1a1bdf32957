"""What the agent thought of a position: how it leaned before its search, and where it looked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.game.notes import noted_rules
from engine.game.reference.game import ReferenceGame
from ui.search.state import Thought


@dataclass(frozen=True)
class Opinion:
    """What a search thought of one position. `prior`: of each action before it; `visits`: each
    action's share of its simulations, `num_visits`.
    """

    prior: tuple[float, ...]
    visits: tuple[float, ...]
    num_visits: int
    name: str


def opinion_of(
    thoughts: Iterable[Thought], game: ReferenceGame, actions: Sequence[int]
) -> Opinion | None:
    """The opinion on `game`, which was played by `actions`; the last game through it counts.

    None if no search of the agent has met this position.
    """
    move, found = len(actions), None
    for thought in thoughts:
        trace = thought.trace
        is_game = move < trace.num_moves and noted_rules(thought.plan) == game.rules
        if is_game and np.array_equal(trace.action[:move], actions):
            found = thought
    if found is None:
        return None
    visits = found.trace.root_visits()[move].astype(float)
    return Opinion(
        prior=tuple(float(p) for p in found.trace.prior[move]),
        visits=tuple((visits / max(1.0, visits.sum())).tolist()),
        num_visits=int(visits.sum()),
        name=found.name,
    )

"""Search traces made without the agent: real games with trees that grow by chance.

The trees back up their values as mctx does, which `tests/agent/test_search_again.py` holds against
trees of the real search.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.agent.trace_io import SearchTrace
from engine.game.moves import COPY, DROP, NO_COPY, NUM_ACTIONS, Rules
from engine.game.reference.game import ReferenceGame
from engine.program.io import content_hash
from engine.program.model import Program

STEPS = 5
POINT_S = 1e-6
SETTINGS = {
    "model": "learned",
    "algorithm": "gumbel",
    "num_simulations": 24,
    "value_scale": 0.05,
    "maxvisit_init": 50.0,
}


def grow(
    parent: NDArray[np.int32],
    raw: NDArray[np.float32],
    reward: NDArray[np.float32],
    moves_left: int,
    count: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Visits and mean values of a tree after `count` simulations, one node each."""
    depth = np.zeros(len(parent), int)
    visits, value = np.zeros(len(parent), int), np.zeros(len(parent))
    visits[0], value[0] = 1, raw[0]
    for new in range(1, count + 1):
        depth[new] = depth[parent[new]] + 1
        found = float(raw[new])
        visits[new], value[new] = 1, found
        node = new
        while node > 0:
            up = parent[node]
            found = float(reward[node]) + (0.0 if depth[node] >= moves_left else found)
            value[up] = (value[up] * visits[up] + found) / (visits[up] + 1)
            visits[up] += 1
            node = up
    return visits, value


def made_up_trace(
    program: Program,
    place: str = "long_high",
    simulations: int = 24,
    seed: int = 0,
    planned: tuple[tuple[int, int, int], ...] = (),
) -> SearchTrace:
    """The game that keeps what it can but at every fourth move, with made-up thoughts."""
    rng = np.random.default_rng(seed)
    game = ReferenceGame(program, Rules(place=place, planned=planned))
    actions, legal, earned = [], [], []
    while not game.is_over:
        mask = game.legal()
        liked = (DROP, NO_COPY, COPY) if len(actions) % 4 == 3 else (NO_COPY, COPY, DROP)
        action = next(a for a in liked if mask[a])
        legal.append(mask)
        actions.append(action)
        earned.append(game.step(action) * program.all_slow_s / POINT_S)
    length = len(actions)
    par = np.zeros(length + 1, np.float32)
    par[:length] = np.cumsum(np.array(earned)[::-1])[::-1] * 0.9
    reward = (np.array(earned) - par[:-1] + par[1:]).astype(np.float32)
    mask = np.array(legal)
    prior = np.where(mask, rng.random(mask.shape) + 0.1, 0.0)
    policy = np.where(mask, rng.random(mask.shape) + 0.1, 0.0)
    trees = [_tree(rng, mask[m], simulations, length - m) for m in range(length)]
    columns = {name: np.stack([tree[name] for tree in trees]) for name in trees[0]}
    return SearchTrace(
        program=program.name,
        program_hash=content_hash(program),
        model="learned",
        point_s=POINT_S,
        par=par,
        action=np.array(actions, np.int32),
        legal=mask,
        reward=reward,
        prior=_shares(prior),
        policy=_shares(policy),
        raw_value=columns["tree_raw_value"][:, 0],
        value=columns["tree_value"][:, 0],
        imagined_reward=rng.normal(size=(length, STEPS)).astype(np.float32),
        imagined_value=rng.normal(size=(length, STEPS)).astype(np.float32),
        settings=dict(SETTINGS),
        place=place,
        planned=planned,
        **columns,
    )


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float32]:
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def _tree(
    rng: np.random.Generator, legal: NDArray[np.bool_], simulations: int, moves_left: int
) -> dict[str, NDArray[np.generic]]:
    size = simulations + 1
    parent, action = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    taken: set[tuple[int, int]] = set()
    for node in range(1, size):
        free = [
            (up, a)
            for up in range(node)
            for a in range(NUM_ACTIONS)
            if (up, a) not in taken and (up or legal[a])
        ]
        parent[node], action[node] = free[int(rng.integers(len(free)))]
        taken.add((int(parent[node]), int(action[node])))
    raw = rng.normal(size=size).astype(np.float32)
    reward = np.where(np.arange(size) > 0, 0.3 * rng.normal(size=size), 0.0).astype(np.float32)
    visits, value = grow(parent, raw, reward, moves_left, simulations)
    return {
        "tree_parent": parent,
        "tree_action": action,
        "tree_visits": visits.astype(np.int32),
        "tree_value": value.astype(np.float32),
        "tree_raw_value": raw,
        "tree_reward": reward,
        "tree_prior": rng.random(size).astype(np.float32),
    }

"""Search traces for tests: made by hand, or of a tiny agent on a teaching program."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from engine.agent.trace import trace_game
from engine.agent.trace_io import SearchTrace
from engine.agent.trainer import Trainer
from engine.game.moves import Rules
from engine.program.model import Program
from tests.agent.small import CONFIG, small_workload

POINT_S = 2e-6
"""Seconds in a point of the traces made by hand; two microseconds."""


def hand_made(reward: list[float], value: list[float], **columns: Any) -> SearchTrace:
    """A trace of that many moves; two simulations, both of action 0, and a prior that agrees.

    `columns` replace fields; the imagined columns are right unless they are given.
    """
    moves = len(reward)
    certain = np.tile(np.array([1.0, 0.0, 0.0], np.float32), (moves, 1))
    to_go = np.append(np.cumsum(reward[::-1])[::-1], 0.0)
    ahead = np.minimum(np.arange(moves)[:, None] + np.arange(3), moves)
    nodes: dict[str, Any] = {
        name: np.zeros((moves, 3), np.float32)
        for name in ("tree_value", "tree_raw_value", "tree_reward", "tree_prior")
    }
    body: dict[str, Any] = {
        "program": "by hand",
        "program_hash": "0",
        "model": "learned",
        "point_s": POINT_S,
        "par": np.zeros(moves + 1, np.float32),
        "action": np.zeros(moves, np.int32),
        "legal": np.ones((moves, 3), np.bool_),
        "reward": np.array(reward, np.float32),
        "prior": certain,
        "policy": certain,
        "raw_value": np.array(value, np.float32),
        "value": np.array(value, np.float32),
        **tree([[2, 0, 0]] * moves),
        **nodes,
        "imagined_reward": np.append(reward, 0.0)[ahead].astype(np.float32),
        "imagined_value": to_go[ahead].astype(np.float32),
    }
    return SearchTrace(**(body | columns))


def tree(visits: list[list[int]]) -> dict[str, Any]:
    """The tree columns of searches whose root children were visited so often, in all `N` times."""
    num_nodes = 1 + max((sum(v > 0 for v in row) for row in visits), default=0)
    parent = np.full((len(visits), num_nodes), -1, np.int32)
    action, counts = parent.copy(), np.zeros_like(parent)
    for move, row in enumerate(visits):
        counts[move, 0] = 1 + sum(row)
        for node, child in enumerate((a for a, v in enumerate(row) if v), start=1):
            parent[move, node], action[move, node], counts[move, node] = 0, child, row[child]
    return {"tree_parent": parent, "tree_action": action, "tree_visits": counts}


@cache
def real_run() -> tuple[Program, Rules, SearchTrace]:
    """The best game of a tiny agent after one round on a teaching program."""
    workload = small_workload(name="teach-evict-and-return")
    trainer = Trainer([workload], CONFIG, seed=0)
    trainer.show_demonstrations()
    trainer.play_round()
    actions = [int(a) for a in workload.replay.best[0].action]
    trace = trace_game(trainer.params, workload, actions, CONFIG.search)
    return workload.program, workload.rules, trace

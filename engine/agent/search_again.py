"""Positions searched again: one at a time, as deep as one likes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields

import jax
import numpy as np

from engine.agent.config import POLICY_ONLY, AgentConfig, SearchConfig
from engine.agent.network import Params, init_params
from engine.agent.search import search
from engine.agent.trace import along
from engine.agent.trace_io import SearchTrace
from engine.agent.workload import Workload
from engine.errors import ConfigError, UsageError
from engine.game.jaxgame.env import Position
from engine.program.io import content_hash


def trace_move(
    params: Params, workload: Workload, actions: Sequence[int], move: int, config: SearchConfig
) -> SearchTrace:
    """Search the position before `move` of the game with these actions, without noise.

    The trace has that one row, `par` of the moves `move` and `move + 1`, and no imagined steps
    (`U` is 0). Raises UsageError for a move that the game does not have, and ConfigError for
    settings that do not search.
    """
    if not 0 <= move < workload.num_moves:
        raise UsageError(f"move {move + 1}: the game has the moves 1 to {workload.num_moves}")
    if config.model == POLICY_ONLY:
        raise ConfigError("policy-only play does not search; choose another model")
    arena = workload.arena
    positions, rewards = along(arena, actions)
    batch: Position = jax.tree.map(lambda x: np.asarray(x)[move : move + 1], positions)
    decision, tree = search(params, arena, batch, jax.random.key(0), config)
    none = np.zeros((1, 0), np.float32)
    return SearchTrace(
        program=workload.program.name,
        program_hash=content_hash(workload.program),
        model=config.model,
        point_s=workload.point_s,
        par=np.asarray(arena.baseline)[move : move + 2],
        action=np.asarray(actions[move : move + 1], np.int32),
        legal=np.asarray(batch.options.mask),
        reward=np.asarray(rewards)[move : move + 1],
        prior=np.asarray(decision.prior),
        policy=np.asarray(decision.policy),
        raw_value=np.asarray(decision.raw_value),
        value=np.asarray(decision.value),
        imagined_reward=none,
        imagined_value=none,
        settings=asdict(config),
        place=workload.rules.place,
        planned=workload.rules.planned,
        **{f"tree_{f.name}": np.asarray(getattr(tree, f.name)) for f in fields(tree)},
    )


def untrained(config: AgentConfig, seed: int) -> Params:
    """Fresh weights, to compare with."""
    fresh: Params = init_params(jax.random.key(seed), config.network)
    return fresh

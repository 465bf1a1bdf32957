"""Making a `SearchTrace`: what the agent thinks at every move of a game, and what it imagines.

A trace is made after the game, by searching every position of it again without noise, many at a
time. Values and rewards are in points above the baseline (`par` in a trace); that and `point_s`
turn them into seconds. Letters: `L` moves, `A` actions, `N` simulations, `U` imagined steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from engine.agent.arena import Arena
from engine.agent.config import LEARNED, POLICY_ONLY, SearchConfig
from engine.agent.model import latent_of
from engine.agent.network import Params, dynamics_bias, from_logits, predict, react
from engine.agent.search import search
from engine.agent.trace_io import SearchTrace
from engine.agent.workload import Workload
from engine.game.jaxgame import env
from engine.game.jaxgame.env import Position
from engine.game.observation.dynamic import imagined_wish
from engine.game.observation.static import static_row
from engine.program.io import content_hash

IMAGINED = 5
"""`U`."""
TOGETHER = 32
"""Positions searched at once."""


def _ignore(num_moves: int) -> None:
    del num_moves


def trace_game(
    params: Params,
    workload: Workload,
    actions: Sequence[int],
    config: SearchConfig,
    progress: Callable[[int], object] = _ignore,
) -> SearchTrace:
    """Search along the game with these actions; policy-only settings trace the learned model.

    `progress` is called with the number of moves that have been searched so far.
    """
    if config.model == POLICY_ONLY:
        config = replace(config, model=LEARNED)
    arena, length = workload.arena, workload.num_moves
    padded = _padded(arena, actions)
    positions, reward = along(arena, actions)
    parts = []
    for start in range(0, length, TOGETHER):
        progress(start)
        some: Position = jax.tree.map(lambda x, a=start: x[a : a + TOGETHER], positions)
        ahead = jnp.asarray(_windows(padded, start))
        parts.append(jax.device_get(_look(params, arena, some, ahead, config)))
    columns = jax.tree.map(lambda *part: np.concatenate(part)[:length], *parts)
    return SearchTrace(
        program=workload.program.name,
        program_hash=content_hash(workload.program),
        model=config.model,
        point_s=workload.point_s,
        par=np.asarray(arena.baseline)[: length + 1],
        action=padded[:length],
        reward=np.asarray(reward)[:length],
        settings=asdict(config),
        place=workload.rules.place,
        planned=workload.rules.planned,
        **columns,
    )


def _windows(actions: NDArray[np.int32], start: int) -> NDArray[np.int32]:
    """The next `U` actions of each of `TOGETHER` moves."""
    wide = np.append(actions, np.zeros(IMAGINED, np.int32))
    return np.stack([wide[start + u : start + u + TOGETHER] for u in range(IMAGINED)], axis=1)


def along(arena: Arena, actions: Sequence[int]) -> tuple[Position, Array]:
    """Every position of a game, and the points above the baseline of its moves; more than it has.

    Shared by the trace of a game and by whoever searches one of its moves again.
    """
    start = env.reset(arena.encoded)
    found: tuple[Position, Array] = _along(arena, start, _padded(arena, actions))
    return found


def _padded(arena: Arena, actions: Sequence[int]) -> NDArray[np.int32]:
    """The actions of a game, and zeros up to a length that all games of a shape share."""
    padded = np.zeros(arena.encoded.moves.shape[0] + TOGETHER, np.int32)
    padded[: len(actions)] = actions
    return padded


@jax.jit
def _along(arena: Arena, start: Position, actions: Array) -> tuple[Position, Array]:
    def play(position: Position, action: Array) -> tuple[Position, tuple[Position, Array]]:
        following, reward = env.step(arena.encoded, position, action)
        move = position.state.move
        return following, (position, arena.relative(move, reward))

    seen: tuple[Position, Array] = jax.lax.scan(play, start, actions)[1]
    return seen


@partial(jax.jit, static_argnames="config")
def _look(
    params: Params, arena: Arena, positions: Position, ahead: Array, config: SearchConfig
) -> dict[str, Array]:
    """The columns of a trace for some positions; `ahead` `[B, U]`: the actions played from them."""
    decision, tree = search(params, arena, positions, jax.random.key(0), config)
    rewards, values = _imagine_line(params, arena, positions, ahead)
    return {
        "legal": positions.options.mask,
        "prior": decision.prior,
        "policy": decision.policy,
        "raw_value": decision.raw_value,
        "value": decision.value,
        **{f"tree_{f.name}": getattr(tree, f.name) for f in fields(tree)},
        "imagined_reward": rewards,
        "imagined_value": values,
    }


def _imagine_line(
    params: Params, arena: Arena, positions: Position, ahead: Array
) -> tuple[Array, Array]:
    """The learned model's rewards and values along the played actions, both `[B, U]`."""
    end = arena.encoded.num_moves
    latent = latent_of(params, arena, positions)
    move, rewards, values = positions.state.move, [], []
    for step in range(IMAGINED):
        is_on = move < end
        guess = predict(params, latent, imagined_wish(arena.known, move))
        values.append(jnp.where(is_on, guess.value, 0.0))
        move = jnp.minimum(move + 1, end)
        following = jax.vmap(lambda m: static_row(arena.known, m))(move)
        latent, logits = react(params, latent, ahead[:, step], dynamics_bias(params, following))
        rewards.append(jnp.where(is_on, from_logits(logits), 0.0))
    return jnp.stack(rewards, axis=1), jnp.stack(values, axis=1)

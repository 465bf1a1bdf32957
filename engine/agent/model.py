"""The models that a tree is grown with: the networks' learned one, and the real rules.

Each is what mctx asks for: the embedding of the root, and the `recurrent_fn` that takes an action
from a node and returns the next one. Letters as in `engine.agent.search`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import mctx
from jax import Array
from jax.flatten_util import ravel_pytree

from engine.agent.arena import Arena
from engine.agent.network import Params, dynamics_bias, from_logits, predict, react, represent
from engine.game.jaxgame import env
from engine.game.jaxgame.env import Position
from engine.game.observation.dynamic import imagined_wish, seen_wish, view
from engine.game.observation.static import static_row

IMPOSSIBLE = -1e9
"""Logit of an action that the real rules forbid."""
RecurrentFn = Callable[[Params, Array, Array, Any], tuple[mctx.RecurrentFnOutput, Any]]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Embedding:
    """A node of the learned model: its latent state and how many moves it is behind the root."""

    latent: Array  # [B, D]
    depth: Array  # [B]


def learned(
    params: Params, arena: Arena, move: Array, latent: Array, steps: int, in_step: bool
) -> tuple[Embedding, RecurrentFn]:
    """The networks as the model, from the moves `[B]` and latent states `[B, D]` on.

    It knows what comes in the next `steps` moves. `in_step`: all games are before the same move.
    """
    ahead = dynamics_bias(params, _rows_ahead(arena, move[0] if in_step else move, steps))
    root = Embedding(latent, jnp.zeros_like(move))
    return root, partial(_imagine, arena, move, ahead)


def real_rules(arena: Arena, positions: Position) -> tuple[Array, RecurrentFn]:
    """The game itself as the model, from `B` positions on."""
    root, unpack = _packed(positions)
    return root, partial(_really_play, arena, unpack)


def latent_of(params: Params, arena: Arena, positions: Position) -> Array:
    """The representation of `B` positions, `[B, D]`."""
    return represented(params, arena, positions, in_step=False)[1]


def represented(
    params: Params, arena: Arena, positions: Position, in_step: bool
) -> tuple[Array, Array]:
    """What is seen of `B` positions, `[B, NUM_VIEW]`, and their representation, `[B, D]`.

    `in_step`: all are before the same move.
    """
    seen = _seen(arena, positions)
    move = positions.state.move[0] if in_step else positions.state.move
    return seen, represent(params, arena.known.outlook[move], seen)


def _seen(arena: Arena, positions: Position) -> Array:
    """The part of the observations that depends on the position, `[B, NUM_VIEW]`."""
    views: Array = jax.vmap(lambda p: view(arena.encoded, arena.known, p))(positions)
    return views


def _rows_ahead(arena: Arena, move: Array, count: int) -> Array:
    """Static features of the `count` moves after `move`.

    `[N, F]` for a scalar `move`, `[N, B, F]` for `[B]`. Cut out once per search: a tree of N
    simulations is at most N deep, and the table of a long program fills the processor's cache.
    """
    last = arena.encoded.num_moves
    after = move + 1 + jnp.expand_dims(jnp.arange(count), tuple(range(1, move.ndim + 1)))
    flat = jax.vmap(partial(static_row, arena.known))(jnp.minimum(after, last).ravel())
    return flat.reshape(*after.shape, -1)


def _imagine(
    arena: Arena,
    root: Array,
    ahead: Array,
    params: Params,
    key: Array,
    action: Array,
    node: Embedding,
) -> tuple[mctx.RecurrentFnOutput, Embedding]:
    """One step of the learned model; `root` `[B]`: the moves from which it imagines."""
    del key
    left = arena.encoded.num_moves - root
    here = ahead[node.depth] if ahead.ndim == 2 else ahead[node.depth, jnp.arange(len(left))]
    latent, reward_logits = react(params, node.latent, action, here)
    depth = node.depth + 1
    guess = predict(params, latent, imagined_wish(arena.known, root + depth))
    step = mctx.RecurrentFnOutput(
        reward=jnp.where(depth <= left, from_logits(reward_logits), 0.0),
        discount=(depth < left).astype(jnp.float32),
        prior_logits=guess.policy,
        value=guess.value,
    )
    return step, Embedding(latent, depth)


def _packed(positions: Position) -> tuple[Array, Callable[[Array], Position]]:
    """`B` positions as one array of integers, `[B, K]`, and what makes positions of it again.

    A tree copies every array of a node once per simulation, and a position has a hundred. They hold
    whole numbers and flags: with a fraction among them the others would be rounded.
    """
    unpack = ravel_pytree(jax.tree.map(lambda x: x[0], positions))[1]
    packed = jax.vmap(lambda p: ravel_pytree(p)[0])(positions)
    assert packed.dtype == jnp.int32
    return packed, jax.vmap(unpack)


def _really_play(
    arena: Arena,
    unpack: Callable[[Array], Position],
    params: Params,
    key: Array,
    action: Array,
    packed: Array,
) -> tuple[mctx.RecurrentFnOutput, Array]:
    """One step of the real rules, judged by the networks."""
    del key
    positions = unpack(packed)
    following, reward = jax.vmap(env.step, in_axes=(None, 0, 0))(arena.encoded, positions, action)
    seen, latent = represented(params, arena, following, in_step=False)
    guess = predict(params, latent, seen_wish(arena.known, following.state.move, seen))
    move, end = positions.state.move, arena.encoded.num_moves
    relative = jax.vmap(arena.relative)(move, reward)
    step = mctx.RecurrentFnOutput(
        reward=jnp.where(move < end, relative, 0.0),
        discount=(following.state.move < end).astype(jnp.float32),
        prior_logits=jnp.where(following.options.mask, guess.policy, IMPOSSIBLE),
        value=guess.value,
    )
    return step, _packed(following)[0]

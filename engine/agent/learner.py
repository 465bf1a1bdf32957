"""The learner: one optimiser step on MuZero's losses (`engine.agent.losses`).

Pairs of games (`engine.agent.comparison`) teach the prior which of two actions won, and the model
what it gained. Letters: `B` positions.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax import Array

from engine.agent.categorical import from_logits
from engine.agent.config import LearnerConfig
from engine.agent.losses import Losses, losses_of, unroll
from engine.agent.network import Params, predict, react, represent
from engine.agent.types import Batch
from engine.game.features import Features, static_row


def optimiser(config: LearnerConfig) -> optax.GradientTransformation:
    """AdamW behind a clip of the global norm."""
    return optax.chain(
        optax.clip_by_global_norm(config.clip),
        optax.adamw(config.learning_rate, weight_decay=config.weight_decay),
    )


@partial(jax.jit, static_argnames="config", donate_argnames=("params", "state"))
def learn(
    params: Params,
    state: optax.OptState,
    known: Features,
    num_moves: Array,
    batch: Batch,
    pairs: dict[str, Array],
    config: LearnerConfig,
) -> tuple[Params, optax.OptState, Losses]:
    """One step on a batch and on `comparison` pairs.

    `known`, `num_moves`: of the arena, without the rules of the game, which would have it compiled
    for every place rule.
    """

    def objective(params: Params) -> tuple[Array, Losses]:
        losses = losses_of(unroll(params, known, num_moves, batch), batch, config)
        view = pairs["view"].astype(jnp.float32)
        latent = represent(params, known.outlook[pairs["move"]], view)
        compared = _compared(predict(params, latent).policy, pairs)
        gained = _gained(params, known, num_moves, latent, pairs)
        extra = config.pair_weight * compared + config.gain_weight * gained
        return losses.total + extra, losses

    gradients, losses = jax.grad(objective, has_aux=True)(params)
    updates, state = optimiser(config).update(gradients, state, params)
    return optax.apply_updates(params, updates), state, losses


def _compared(logits: Array, pairs: dict[str, Array]) -> Array:
    """How unlikely the prior holds it that the better action of each pair won (Bradley, Terry)."""
    rows = jnp.arange(len(logits))
    lead = logits[rows, pairs["better"]] - logits[rows, pairs["worse"]]
    return jnp.mean(jax.nn.softplus(-lead) * pairs["weight"])


def worth(
    params: Params, known: Features, num_moves: Array, move: Array, latent: Array, action: Array
) -> Array:
    """What the learned model says of the actions `[B]` before the moves `[B]`, in points, `[B]`.

    The reward and the value of what it imagines to follow; `latent` `[B, D]`.
    """
    after = jnp.minimum(move + 1, num_moves)
    following = jax.vmap(lambda m: static_row(known, m))(after)
    imagined, reward_logits = react(params, latent, action, following)
    value = predict(params, imagined).value
    return from_logits(reward_logits) + value * (after < num_moves)


def _gained(
    params: Params, known: Features, num_moves: Array, latent: Array, pairs: dict[str, Array]
) -> Array:
    """How far the model is from what the better action of each pair gained (Huber, in points)."""
    better, worse = (
        worth(params, known, num_moves, pairs["move"], latent, pairs[name])
        for name in ("better", "worse")
    )
    return jnp.mean(optax.huber_loss(better - worse, pairs["gain"]) * pairs["weight"])

"""The learner: MuZero's losses and one optimiser step.

Per unrolled step the policy is pulled to the search's improved policy, value and reward to their
targets (cross-entropy over atoms), and the imagined latent state to the one that the representation
makes of the real next observation (the consistency loss of EfficientZero, arXiv 2111.00210).
Pairs of games (`engine.agent.comparison`) teach the prior which of two actions won, and the model
what it gained. Letters: `B` positions, `U` unrolled steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax import Array

from engine.agent.network import Params, predict, react, represent
from engine.agent.search import IMPOSSIBLE
from engine.agent.support import from_logits, to_atoms
from engine.game.features import Features, static_row


@dataclass(frozen=True)
class LearnerConfig:
    """`unroll`: steps of the dynamics per position; 0 trains it by gains alone, if these weigh."""

    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    clip: float = 5.0
    unroll: int = 3
    value_weight: float = 0.5
    reward_weight: float = 1.0
    consistency_weight: float = 1.0
    pair_weight: float = 1.0
    gain_weight: float = 0.1


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Losses:
    """Means over a batch."""

    total: Array
    policy: Array
    value: Array
    reward: Array
    consistency: Array
    pairs: Array
    gains: Array


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
    batch: dict[str, Array],
    pairs: dict[str, Array],
    config: LearnerConfig,
) -> tuple[Params, optax.OptState, Losses]:
    """One step on a batch (the fields of `replay.Batch` by name) and on `comparison` pairs.

    `known`, `num_moves`: of the arena, without the rules of the game, which would have it compiled
    for every place rule.
    """
    gradients, losses = jax.grad(_loss, has_aux=True)(
        params, known, num_moves, batch, pairs, config
    )
    updates, state = optimiser(config).update(gradients, state, params)
    return optax.apply_updates(params, updates), state, losses


def _loss(
    params: Params,
    known: Features,
    num_moves: Array,
    batch: dict[str, Array],
    pairs: dict[str, Array],
    config: LearnerConfig,
) -> tuple[Array, Losses]:
    views = batch["view"].astype(jnp.float32)
    latent = represent(params, known.outlook[batch["move"]], views[:, 0])
    policy = value = reward = consistency = jnp.float32(0.0)
    for step in range(config.unroll + 1):
        guess = predict(params, latent)
        weight, choice = batch["weight"][:, step], batch["policy_weight"][:, step]
        # The real mask exists at the root only; in the tree the prior must know it by itself.
        logits = guess.policy
        if step == 0:
            logits = jnp.where(batch["legal"][:, 0], logits, IMPOSSIBLE)
        wanted = batch["policy"][:, step]
        log_prior = jnp.maximum(jax.nn.log_softmax(logits), -30.0)
        policy += jnp.mean(-jnp.sum(wanted * log_prior, -1) * (choice if step == 0 else weight))
        value += jnp.mean(_cross_entropy(guess.value_logits, batch["value"][:, step]) * weight)
        if step == config.unroll:
            break
        move = jnp.minimum(batch["move"] + step + 1, num_moves)
        following = jax.vmap(lambda m: static_row(known, m))(move)
        latent, reward_logits = react(params, latent, batch["action"][:, step], following)
        reward += jnp.mean(_cross_entropy(reward_logits, batch["reward"][:, step]) * weight)
        seen = represent(params, known.outlook[move], views[:, step + 1])
        real = jax.lax.stop_gradient(seen)
        apart = jnp.mean(jnp.square(latent - real), axis=-1) * batch["weight"][:, step + 1]
        consistency += jnp.mean(apart)
        latent = _halve_gradient(latent)
    total = (
        policy
        + config.value_weight * value
        + config.reward_weight * reward
        + config.consistency_weight * consistency
    ) / (config.unroll + 1)
    latent = represent(params, known.outlook[pairs["move"]], pairs["view"].astype(jnp.float32))
    compared = _compared(predict(params, latent).policy, pairs)
    total += config.pair_weight * compared
    gained = _gained(params, known, num_moves, latent, pairs)
    total += config.gain_weight * gained
    return total, Losses(total, policy, value, reward, consistency, compared, gained)


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


def _cross_entropy(logits: Array, scalar: Array) -> Array:
    return -jnp.sum(to_atoms(scalar) * jax.nn.log_softmax(logits), axis=-1)


def _halve_gradient(x: Array) -> Array:
    """MuZero's damping of the gradient through the unrolled dynamics."""
    return 0.5 * x + 0.5 * jax.lax.stop_gradient(x)

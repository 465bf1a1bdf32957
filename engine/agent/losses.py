"""MuZero's losses (policy, value, reward, consistency), and one training step on a batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax import Array

from engine.agent.config import LearnerConfig
from engine.agent.network import Params, dynamics_bias, predict, react, represent, to_atoms
from engine.agent.types import Batch, Cells
from engine.game.observation.dynamic import imagined_wish, seen_wish
from engine.game.observation.static import Features, static_row

FORBIDDEN = -1e9
"""Logit of an action that the real rules forbid at the root."""
LEAST_LOG = -30.0
"""Of a probability in the policy loss: a target may still be on what was forbidden."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Unrolled:
    """What the networks say of `B` positions and of `U` steps after each.

    `latent`: imagined, after each step. `observed`: what it should be, the representation of what
    was really seen there; no gradient passes.
    """

    policy_logits: Array  # [B, U + 1, A]
    value_logits: Array  # [B, U + 1, N]
    reward_logits: Array  # [B, U, N]
    latent: Array  # [B, U, D]
    observed: Array  # [B, U, D]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Losses:
    """Each loss `[]`: means over the batch, summed over the unrolled steps.

    `total`: their weighted sum (`LearnerConfig`), per prediction: over `U + 1`.
    """

    total: Array
    policy: Array
    value: Array
    reward: Array
    consistency: Array


def unroll(params: Params, known: Features, num_moves: Array | int, batch: Batch) -> Unrolled:
    """Run the networks: the root from what was seen, the steps from the actions played."""
    view, action = jnp.asarray(batch.view, jnp.float32), jnp.asarray(batch.action)
    latent = represent(params, known.outlook[batch.move], view[:, 0])
    roots = predict(params, latent, seen_wish(known, jnp.asarray(batch.move), view[:, 0]))
    policies, values = [roots.policy], [roots.value_logits]
    rewards, latents, observed = [], [], []
    for step in range(action.shape[1]):
        move = jnp.minimum(batch.move + step + 1, num_moves)
        following = jax.vmap(partial(static_row, known))(move)
        bias = dynamics_bias(params, following)
        latent, reward_logits = react(params, latent, action[:, step], bias)
        rewards.append(reward_logits)
        latents.append(latent)
        observed.append(represent(params, known.outlook[move], view[:, step + 1]))
        latent = halve_gradient(latent)
        guess = predict(params, latent, imagined_wish(known, move))
        policies.append(guess.policy)
        values.append(guess.value_logits)
    return Unrolled(
        policy_logits=jnp.stack(policies, axis=1),
        value_logits=jnp.stack(values, axis=1),
        reward_logits=_stacked(rewards, values[0]),
        latent=_stacked(latents, latent),
        observed=jax.lax.stop_gradient(_stacked(observed, latent)),
    )


def losses_of(said: Unrolled, batch: Batch, config: LearnerConfig) -> Losses:
    """The losses of what the networks say; what lies past the end of a game has no weight."""
    is_move, is_next = batch.weight[:, :-1], batch.weight[:, 1:]
    policy = _mean(policy_losses(said.policy_logits, batch))
    value = _mean(cross_entropy(said.value_logits, batch.value) * batch.weight)
    reward = _mean(cross_entropy(said.reward_logits, batch.reward) * is_move)
    apart = jnp.mean(jnp.square(said.latent - said.observed), axis=-1)
    consistency = _mean(apart * is_next)
    total = (
        policy
        + config.value_weight * value
        + config.reward_weight * reward
        + config.consistency_weight * consistency
    )
    return Losses(total / batch.weight.shape[1], policy, value, reward, consistency)


def policy_losses(logits: Array, batch: Batch) -> Array:
    """Cross-entropy with the improved policies, `[B, U + 1]`; a target of zeros teaches nothing.

    The rules' mask is applied at the root alone: in the tree the prior must know it by itself. So
    a root where only one action is legal teaches nothing, and an imagined one does.
    """
    is_imagined = jnp.arange(batch.legal.shape[1]) > 0
    allowed = batch.legal | is_imagined[:, None]
    log_prior = jax.nn.log_softmax(jnp.where(allowed, logits, FORBIDDEN))
    weight = jnp.concatenate([batch.policy_weight[:, :1], batch.weight[:, 1:]], axis=1)
    return -jnp.sum(batch.policy * jnp.maximum(log_prior, LEAST_LOG), axis=-1) * weight


def cross_entropy(logits: Array, scalar: Cells) -> Array:
    """Cross entropy of atoms `[..., N]` with the two-hot atoms of scalars in points `[...]`."""
    return -jnp.sum(to_atoms(jnp.asarray(scalar)) * jax.nn.log_softmax(logits), axis=-1)


def halve_gradient(x: Array) -> Array:
    """The value itself, its gradient halved, once per step of the dynamics.

    After the step, before what is predicted from it, as in muzero-general; the paper halves it
    where the step begins, so the root's latent enters the first step undamped here.
    """
    return 0.5 * x + 0.5 * jax.lax.stop_gradient(x)


def _mean(each: Array) -> Array:
    """Mean over positions and sum over steps of losses `[B, steps]`."""
    return jnp.sum(jnp.mean(each, axis=0))


def _stacked(steps: list[Array], like: Array) -> Array:
    """`U` arrays `[B, ...]` as `[B, U, ...]`, also where `U` is 0."""
    return jnp.stack(steps, axis=1) if steps else jnp.zeros((len(like), 0, *like.shape[1:]))


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
    num_moves: Array | int,
    batch: Batch,
    config: LearnerConfig,
) -> tuple[Params, optax.OptState, Losses]:
    """Weights and state of the optimiser after one step on a batch, and the losses before it.

    `known`, `num_moves`: of the arena, without the rules of the game, which would have it compiled
    for every place rule.
    """

    def objective(params: Params) -> tuple[Array, Losses]:
        losses = losses_of(unroll(params, known, num_moves, batch), batch, config)
        return losses.total, losses

    gradients, losses = jax.grad(objective, has_aux=True)(params)
    updates, state = optimiser(config).update(gradients, state, params)
    return optax.apply_updates(params, updates), state, losses

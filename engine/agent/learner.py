"""One training step: MuZero's losses on a batch, their gradient, and AdamW."""

from __future__ import annotations

from functools import partial

import jax
import optax
from jax import Array

from engine.agent.config import LearnerConfig
from engine.agent.losses import Losses, losses_of, unroll
from engine.agent.network import Params
from engine.agent.types import Batch
from engine.game.observation.static import Features


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

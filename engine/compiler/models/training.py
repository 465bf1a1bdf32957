"""One training step around any loss: gradients, an optimiser update, states given back.

Parameters and optimiser state are donated, so the compiler may write the new values over the old
ones, as a real training loop lets it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree
from engine.compiler.models.layers import tensor

Array = jax.Array
LossFn = Callable[..., Array]
"""From parameters and a batch of data to a scalar loss."""

LEARNING_RATE = 1e-3
MOMENTUM = 0.9
ADAM_DECAYS = (0.9, 0.999)
ADAM_EPSILON = 1e-8


def cross_entropy(logits: Array, labels: Array) -> Array:
    """Mean cross-entropy in float32 of `logits` `[..., classes]` and integer `labels` `[...]`."""
    log_probs = jax.nn.log_softmax(logits.astype(jnp.float32))
    # A one-hot product fuses on the TPU, where a gather along classes would not.
    hit = jax.nn.one_hot(labels, logits.shape[-1], dtype=jnp.float32)
    return -jnp.mean(jnp.sum(log_probs * hit, axis=-1))


def sgd_update(params: PyTree, velocity: PyTree, grads: PyTree) -> tuple[PyTree, PyTree]:
    """One step of gradient descent with momentum; returns new parameters and new velocity."""
    velocity = jax.tree.map(lambda v, g: (MOMENTUM * v + g).astype(v.dtype), velocity, grads)
    params = jax.tree.map(lambda p, v: (p - LEARNING_RATE * v).astype(p.dtype), params, velocity)
    return params, velocity


def adam_update(
    params: PyTree, first: PyTree, second: PyTree, grads: PyTree
) -> tuple[PyTree, PyTree, PyTree]:
    """One step of Adam without bias correction; returns parameters and both moments.

    The correction is a scalar that depends on the step number: it touches no tensor's placement.
    """
    fast, slow = ADAM_DECAYS

    def moment(decay: float, power: int) -> Callable[[Array, Array], Array]:
        return lambda m, g: (decay * m + (1 - decay) * g**power).astype(m.dtype)

    def move(p: Array, m: Array, v: Array) -> Array:
        return (p - LEARNING_RATE * m / (jnp.sqrt(v) + ADAM_EPSILON)).astype(p.dtype)

    first = jax.tree.map(moment(fast, 1), first, grads)
    second = jax.tree.map(moment(slow, 2), second, grads)
    return jax.tree.map(move, params, first, second), first, second


def sgd_program(loss_fn: LossFn, params: PyTree, data: tuple[PyTree, ...]) -> Program:
    """Wrap `loss_fn(params, *data)` into one donated step of momentum descent."""

    def step(params: PyTree, velocity: PyTree, *data: PyTree) -> tuple[Any, ...]:
        loss, grads = jax.value_and_grad(loss_fn)(params, *data)
        return (*sgd_update(params, velocity, grads), loss)

    return Program(step, (params, params, *data), donate_argnums=(0, 1))


def adam_program(loss_fn: LossFn, params: PyTree, data: tuple[PyTree, ...]) -> Program:
    """Wrap `loss_fn(params, *data)` into one donated step of Adam, second moment in float32."""

    def step(params: PyTree, first: PyTree, second: PyTree, *data: PyTree) -> tuple[Any, ...]:
        loss, grads = jax.value_and_grad(loss_fn)(params, *data)
        return (*adam_update(params, first, second, grads), loss)

    # bfloat16 has too few digits for a mean of squares with a decay of 0.999.
    second = jax.tree.map(lambda p: tensor(p.shape, jnp.float32), params)
    return Program(step, (params, params, second, *data), donate_argnums=(0, 1, 2))

"""Tune a training step with an Optax state, as it stands.

    python examples/optax_step.py [COMPILES]

Prints the best compiler options found, and their improvement in the compiler's own cycles.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import pairwise
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # Tuning needs no TPU.

import jax
import jax.numpy as jnp
import optax

from mallocmuzero import tune

BATCH, WIDTHS = 512, (1024, 4096, 4096, 1000)
OPTIMIZER = optax.adamw(1e-3)
Weights = list[jax.Array]


def loss(weights: Weights, x: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean cross entropy of a perceptron with three layers."""
    for matrix in weights:
        x = jax.nn.relu(x @ matrix)
    return optax.softmax_cross_entropy_with_integer_labels(x, labels).mean()


def train_step(
    weights: Weights, state: optax.OptState, x: jax.Array, labels: jax.Array
) -> tuple[Any, optax.OptState, jax.Array]:
    """One step of AdamW."""
    value, gradients = jax.value_and_grad(loss)(weights, x, labels)
    updates, state = OPTIMIZER.update(gradients, state, weights)
    return optax.apply_updates(weights, updates), state, value


def main(compiles: int) -> None:
    """Tune, and show what was found; shapes suffice, nothing is computed here."""
    weights = [jax.ShapeDtypeStruct(pair, jnp.float32) for pair in pairwise(WIDTHS)]
    state = jax.eval_shape(OPTIMIZER.init, weights)
    x = jax.ShapeDtypeStruct((BATCH, WIDTHS[0]), jnp.float32)
    labels = jax.ShapeDtypeStruct((BATCH,), jnp.int32)
    jitted = jax.jit(train_step, donate_argnums=(0, 1))
    args = (weights, state, x, labels)
    tuned = tune(jitted, *args, hardware="tpu-v6e", compiles=compiles, note=print)
    print(f"compiled improvement {tuned.verdict.improvement:.2%} with")
    print(json.dumps(dict(tuned.flags.compiler_options), indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)

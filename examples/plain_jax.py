"""Tune a training step of a model whose parameters are a dictionary, as Flax has them.

    python examples/plain_jax.py [COMPILES]

Prints the best compiler options found, and their improvement in the compiler's own cycles.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # Tuning needs no TPU.

import jax
import jax.numpy as jnp

from mallocmuzero import tune

BATCH, WIDTH, HIDDEN = 8192, 1024, 4096
Params = dict[str, dict[str, jax.Array]]


def apply(params: Params, x: jax.Array) -> jax.Array:
    """Two feed-forward layers with residuals."""
    for layer in params.values():
        x = x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]
    return x


def loss(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """Mean squared error."""
    return jnp.mean((apply(params, x) - y).astype(jnp.float32) ** 2)


def train_step(params: Params, x: jax.Array, y: jax.Array) -> tuple[Params, jax.Array]:
    """One step of plain gradient descent."""
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    updated = jax.tree.map(lambda p, g: p - jnp.asarray(1e-3, p.dtype) * g, params, gradients)
    return updated, value


def shape(*dimensions: int) -> Any:
    """Shapes suffice: nothing is computed here."""
    return jax.ShapeDtypeStruct(dimensions, jnp.bfloat16)


def main(compiles: int) -> None:
    """Tune, and show what was found."""
    params = {
        f"layer_{number}": {"up": shape(WIDTH, HIDDEN), "down": shape(HIDDEN, WIDTH)}
        for number in range(2)
    }
    jitted = jax.jit(train_step, donate_argnums=(0,))
    args = (params, shape(BATCH, WIDTH), shape(BATCH, WIDTH))
    tuned = tune(jitted, *args, hardware="tpu-v5e", compiles=compiles, note=print)
    options = dict(tuned.flags.compiler_options)
    print(f"compiled improvement {tuned.verdict.improvement:.2%} with")
    print(json.dumps(options, indent=1))
    # On a machine with that TPU:
    #     compiled = jitted.lower(*args).compile(compiler_options=options)
    #     params, value = compiled(params, x, y)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)

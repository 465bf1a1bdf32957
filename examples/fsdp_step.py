"""Tune a training step whose parameters are sharded over four chips (FSDP).

    python examples/fsdp_step.py [COMPILES]

Every chip holds a quarter of each matrix and of AdamW's state, and a quarter of the batch; the
compiler gathers what a layer needs and scatters its gradients. The mesh is abstract: neither chips
nor memory are needed to tune.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # Tuning needs no TPU.

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

from mallocmuzero import tune

MESH = AbstractMesh((4,), ("fsdp",))
LAYERS, WIDTH, BATCH = 4, 1024, 4096
OPTIMIZER = optax.adamw(1e-3)
Weights = dict[str, jax.Array]


def loss(weights: Weights, x: jax.Array) -> jax.Array:
    """Mean square error of a residual network that is to give back its input."""

    def layer(h: jax.Array, both: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        up, down = both
        return h + jax.nn.gelu(h @ up) @ down, None

    h, _ = jax.lax.scan(layer, x, (weights["up"], weights["down"]))
    return jnp.mean(jnp.square((h - x).astype(jnp.float32)))


def train_step(
    weights: Weights, state: optax.OptState, x: jax.Array
) -> tuple[Any, optax.OptState, jax.Array]:
    """One step of AdamW."""
    value, gradients = jax.value_and_grad(loss)(weights, x)
    updates, state = OPTIMIZER.update(gradients, state, weights)
    return optax.apply_updates(weights, updates), state, value


def sharded(shape: Any, *spec: str | None) -> jax.ShapeDtypeStruct:
    """An array of that shape and dtype, cut along the axes that `spec` names."""
    sharding = NamedSharding(MESH, P(*spec))
    return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=sharding)


def arguments() -> tuple[Any, Any, Any]:
    """Parameters, optimiser state and batch, as shapes with shardings."""
    shapes = {
        "up": jax.ShapeDtypeStruct((LAYERS, WIDTH, 4 * WIDTH), jnp.bfloat16),
        "down": jax.ShapeDtypeStruct((LAYERS, 4 * WIDTH, WIDTH), jnp.bfloat16),
    }
    state = jax.eval_shape(OPTIMIZER.init, shapes)

    def cut(shape: Any) -> jax.ShapeDtypeStruct:
        return sharded(shape, None, "fsdp") if shape.ndim == 3 else sharded(shape)

    x = jax.ShapeDtypeStruct((BATCH, WIDTH), jnp.bfloat16)
    return jax.tree.map(cut, shapes), jax.tree.map(cut, state), sharded(x, "fsdp")


def main(compiles: int) -> None:
    """Tune, and show what was found."""
    jitted = jax.jit(train_step, donate_argnums=(0, 1))
    tuned = tune(jitted, *arguments(), hardware="tpu-v5e", compiles=compiles, note=print)
    print(f"compiled improvement {tuned.verdict.improvement:.2%} with")
    print(json.dumps(dict(tuned.flags.compiler_options), indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)

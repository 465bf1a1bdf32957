"""Tune a decoding step whose heads and hidden units are spread over four chips (tensor parallel).

    python examples/tensor_parallel_decode.py [COMPILES]

One token per sequence goes through all layers; the cache of keys and values is donated, so that it
is updated in place. Each chip has a quarter of the heads. The mesh is abstract: neither chips nor
memory are needed to tune.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # Tuning needs no TPU.

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

from mallocmuzero import tune

MESH = AbstractMesh((4,), ("model",))
LAYERS, WIDTH, HEADS, BATCH, LENGTH = 4, 2048, 16, 32, 1024
HEAD = WIDTH // HEADS
Arrays = dict[str, Any]


def decode_step(
    weights: Arrays, cache: Arrays, x: jax.Array, position: jax.Array
) -> tuple[jax.Array, Arrays]:
    """The next activations `[BATCH, WIDTH]` and the cache with this token at `position`."""

    def layer(h: jax.Array, own: tuple[Arrays, Arrays]) -> tuple[jax.Array, Arrays]:
        matrices, kept = own
        query, key, value = jnp.einsum("bd,dchk->cbhk", h, matrices["qkv"])
        keys = jax.lax.dynamic_update_index_in_dim(kept["keys"], key, position, 1)
        values = jax.lax.dynamic_update_index_in_dim(kept["values"], value, position, 1)
        scores = jnp.einsum("bhk,bthk->bht", query, keys) / HEAD**0.5
        scores = jnp.where(jnp.arange(LENGTH) <= position, scores, -1e9)
        mixed = jnp.einsum("bht,bthk->bhk", jax.nn.softmax(scores), values)
        h = h + jnp.einsum("bhk,hkd->bd", mixed, matrices["out"])
        h = h + jax.nn.silu(h @ matrices["up"]) @ matrices["down"]
        return h, {"keys": keys, "values": values}

    return jax.lax.scan(layer, x, (weights, cache))


def sharded(sides: tuple[int, ...], *spec: str | None) -> jax.ShapeDtypeStruct:
    """A bfloat16 array of these sides, cut along the axes that `spec` names."""
    return jax.ShapeDtypeStruct(sides, jnp.bfloat16, sharding=NamedSharding(MESH, P(*spec)))


def arguments() -> tuple[Any, ...]:
    """Weights, cache, activations and position, as shapes with shardings."""
    weights = {
        "qkv": sharded((LAYERS, WIDTH, 3, HEADS, HEAD), None, None, None, "model"),
        "out": sharded((LAYERS, HEADS, HEAD, WIDTH), None, "model"),
        "up": sharded((LAYERS, WIDTH, 4 * WIDTH), None, None, "model"),
        "down": sharded((LAYERS, 4 * WIDTH, WIDTH), None, "model"),
    }
    sides = (LAYERS, BATCH, LENGTH, HEADS, HEAD)
    cache = {name: sharded(sides, None, None, None, "model") for name in ("keys", "values")}
    position = jax.ShapeDtypeStruct((), jnp.int32, sharding=NamedSharding(MESH, P()))
    return weights, cache, sharded((BATCH, WIDTH)), position


def main(compiles: int) -> None:
    """Tune, and show what was found."""
    jitted = jax.jit(decode_step, donate_argnums=(1,))
    tuned = tune(jitted, *arguments(), hardware="tpu-v6e", compiles=compiles, note=print)
    print(f"compiled improvement {tuned.verdict.improvement:.2%} with")
    print(json.dumps(dict(tuned.flags.compiler_options), indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)

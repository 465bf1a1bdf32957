"""Small programs as `jax.export` serialises them, for the tests that compile for real."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import export
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec


def serialised(fn: Any, *shapes: tuple[int, ...], platform: str = "tpu") -> bytes:
    """`fn` of bfloat16 arrays of the given shapes."""
    args = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes]
    return bytes(export.export(jax.jit(fn), platforms=[platform])(*args).serialize())


def layers(x: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
    """Two dense layers."""
    return jnp.tanh(jnp.tanh(x @ first) @ second)


def small() -> bytes:
    """A program that fits into any fast memory whole."""
    return serialised(layers, (256, 512), (512, 512), (512, 512))


def rivals(x: jax.Array, narrow: jax.Array, wide: jax.Array) -> jax.Array:
    """Four values of 40 MiB that are alive together: v5e's fast memory has room for two."""
    first = jnp.tanh(x @ narrow)
    second = jnp.sin(first @ wide)
    third = jnp.tanh(second @ wide)
    fourth = jnp.sin(third @ wide)
    return (first * second + third * fourth).sum(axis=1)


def contested() -> bytes:
    """A program that does not fit into the fast memory of a v5e."""
    return serialised(rivals, (16384, 128), (128, 1280), (1280, 1280))


def abstractly_meshed() -> bytes:
    """A sum over four devices of which its arguments say nothing: JAX exports it for one."""
    mesh = AbstractMesh((2, 2), ("x", "y"))
    whole = PartitionSpec()
    summed = jax.shard_map(
        lambda x: jax.lax.psum(x, ("x", "y")), mesh=mesh, in_specs=whole, out_specs=whole
    )
    return serialised(summed, (64, 128))


def meshed(devices: int) -> bytes:
    """A sum over an array that is cut over so many devices."""
    mesh = AbstractMesh((devices,), ("x",))
    cut = NamedSharding(mesh, PartitionSpec("x"))
    shape = jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=cut)
    return bytes(export.export(jax.jit(jnp.sum), platforms=["tpu"])(shape).serialize())

"""Layers that several hand-written families share, and the shapes of their parameters.

Matrices are bfloat16 and vectors float32. Letters: B batch, T and S sequence lengths, D model
width, H heads, K width of one head.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

Array = jax.Array
Shape = jax.ShapeDtypeStruct

LAYER_NORM_EPSILON = 1e-6


def tensor(shape: tuple[int, ...], dtype: Any) -> Shape:
    """Shape of any tensor."""
    return Shape(shape, dtype)


def weight(*shape: int) -> Shape:
    """Shape of a bfloat16 matrix or larger tensor."""
    return tensor(shape, jnp.bfloat16)


def vector(size: int) -> Shape:
    """Shape of a float32 bias or scale."""
    return tensor((size,), jnp.float32)


def indices(*shape: int) -> Shape:
    """Shape of a tensor of int32 tokens, labels or table rows."""
    return tensor(shape, jnp.int32)


def dense_shapes(width_in: int, width_out: int) -> dict[str, Shape]:
    """Parameters of `dense`."""
    return {"kernel": weight(width_in, width_out), "bias": vector(width_out)}


def dense(params: dict[str, Array], x: Array) -> Array:
    """Affine map of the last axis, result in bfloat16."""
    return x @ params["kernel"] + params["bias"].astype(x.dtype)


def norm_shapes(width: int) -> dict[str, Shape]:
    """Parameters of `layer_norm`."""
    return {"scale": vector(width), "bias": vector(width)}


def layer_norm(params: dict[str, Array], x: Array) -> Array:
    """Normalise the last axis in float32, result in the dtype of `x`."""
    wide = x.astype(jnp.float32)
    centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
    normed = centred * jax.lax.rsqrt(variance + LAYER_NORM_EPSILON)
    return (normed * params["scale"] + params["bias"]).astype(x.dtype)


def rms_norm(scale: Array, x: Array) -> Array:
    """Divide by the root mean square of the last axis, as T5 and Llama do."""
    wide = x.astype(jnp.float32)
    mean_square = jnp.mean(jnp.square(wide), axis=-1, keepdims=True)
    return (wide * jax.lax.rsqrt(mean_square + LAYER_NORM_EPSILON) * scale).astype(x.dtype)


def attend(query: Array, key: Array, value: Array, mask: Array | None = None) -> Array:
    """Softmax attention of `query` `[B, T, H, K]` over `key` and `value` `[B, S, H, K]`.

    `mask` broadcasts to `[B, H, T, S]` and is true where attention is allowed.
    """
    scale = 1.0 / math.sqrt(query.shape[-1])
    scores = jnp.einsum("bthk,bshk->bhts", query, key).astype(jnp.float32) * scale
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    probs = jax.nn.softmax(scores, axis=-1).astype(query.dtype)
    return jnp.einsum("bhts,bshk->bthk", probs, value)


def attention_shapes(width: int, inner: int | None = None) -> dict[str, Shape]:
    """Parameters of `attention`: projections without biases, heads side by side in `inner`."""
    inner = width if inner is None else inner
    return {
        "query": weight(width, inner),
        "key": weight(width, inner),
        "value": weight(width, inner),
        "out": weight(inner, width),
    }


def attention(
    params: dict[str, Array], x: Array, memory: Array, heads: int, mask: Array | None = None
) -> Array:
    """Multi-head attention of `x` `[B, T, D]` over `memory` `[B, S, D]`."""
    query = split_heads(x @ params["query"], heads)
    key = split_heads(memory @ params["key"], heads)
    value = split_heads(memory @ params["value"], heads)
    return merge_heads(attend(query, key, value, mask)) @ params["out"]


def split_heads(x: Array, heads: int) -> Array:
    """Reshape `[..., H * K]` to `[..., H, K]`."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)


def merge_heads(x: Array) -> Array:
    """Reshape `[..., H, K]` to `[..., H * K]`."""
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def mlp_shapes(width: int, hidden: int) -> dict[str, dict[str, Shape]]:
    """Parameters of `mlp`."""
    return {"up": dense_shapes(width, hidden), "down": dense_shapes(hidden, width)}


def mlp(params: dict[str, dict[str, Array]], x: Array) -> Array:
    """Two dense layers with a GELU between them."""
    return dense(params["down"], jax.nn.gelu(dense(params["up"], x)))


def causal_mask(length: int) -> Array:
    """Boolean `[1, 1, T, T]`, true where a position may look: at itself and back."""
    return jnp.tril(jnp.ones((1, 1, length, length), dtype=bool))

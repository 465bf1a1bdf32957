"""Language-model decoding: sixteen tokens, each through a scan over the layers.

The parameters of all layers are stacked, so one token is one inner loop, and the program is two
nested loops. The key-value cache is donated, carried through both and updated in place.
Letters: L layers, B batch, S cache length, H query heads, G key-value heads, K head width.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, UnsupportedModeError, workload
from engine.compiler.models.layers import (
    Array,
    dense,
    dense_shapes,
    indices,
    layer_norm,
    mlp,
    mlp_shapes,
    norm_shapes,
    rms_norm,
    split_heads,
    tensor,
    vector,
    weight,
)

NUM_TOKENS = 16


@dataclass(frozen=True)
class Config:
    """Sizes of a decoder and of its cache."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    cache_length: int
    vocabulary: int

    @property
    def head_width(self) -> int:
        """K, the width of one head."""
        return self.width // self.heads


GPT = Config(4, width=1024, heads=16, kv_heads=16, hidden=4096, cache_length=512, vocabulary=32000)
LLAMA = Config(
    4, width=1536, heads=12, kv_heads=4, hidden=4096, cache_length=1024, vocabulary=16000
)

Cache = tuple[Array, Array]
"""Keys and values, each `[L, B, S, G, K]`."""

LayerFn = Callable[[PyTree, Array, Cache, Array, Array], tuple[Array, Cache]]
"""From a layer's parameters, `x` `[B, D]`, the cache, layer index and position to both updated."""


def _cached_attention(
    qkv: tuple[Array, Array, Array], cache: Cache, layer: Array, position: Array
) -> tuple[Array, Cache]:
    """Write this token's key and value into the cache, then attend over what it holds.

    Query is `[B, H, K]`, key and value `[B, G, K]`; the result is `[B, H * K]`. Each key-value
    head serves `H / G` query heads.
    """
    query, key, value = qkv
    keys, values = cache
    start = (layer, 0, position, 0, 0)
    keys = jax.lax.dynamic_update_slice(keys, key[None, :, None], start)
    values = jax.lax.dynamic_update_slice(values, value[None, :, None], start)
    layer_keys = jax.lax.dynamic_index_in_dim(keys, layer, keepdims=False)
    layer_values = jax.lax.dynamic_index_in_dim(values, layer, keepdims=False)

    batch, heads, head_width = query.shape
    grouped = query.reshape(batch, key.shape[1], heads // key.shape[1], head_width)
    scores = jnp.einsum("bgrk,bsgk->bgrs", grouped, layer_keys).astype(jnp.float32)
    is_past = jnp.arange(keys.shape[2]) <= position
    scores = jnp.where(is_past, scores / math.sqrt(head_width), -1e9)
    probs = jax.nn.softmax(scores, axis=-1).astype(query.dtype)
    mixed = jnp.einsum("bgrs,bsgk->bgrk", probs, layer_values)
    return mixed.reshape(batch, heads * head_width), (keys, values)


def _gpt_layer(
    params: PyTree, x: Array, cache: Cache, layer: Array, position: Array
) -> tuple[Array, Cache]:
    """One GPT layer for one token: layer norms, one fused projection, GELU."""
    normed = layer_norm(params["attention_norm"], x)
    query, key, value = jnp.split(dense(params["qkv"], normed), 3, axis=-1)
    heads = tuple(split_heads(part, GPT.heads) for part in (query, key, value))
    mixed, cache = _cached_attention((heads[0], heads[1], heads[2]), cache, layer, position)
    x = x + dense(params["out"], mixed)
    return x + mlp(params["mlp"], layer_norm(params["mlp_norm"], x)), cache


def rotate(x: Array, position: Array) -> Array:
    """Rotary position embedding of `x` `[…, T, H, K]` at positions `[T]`, or `[…, H, K]` at one."""
    half = x.shape[-1] // 2
    rates = 10000.0 ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angle = position.astype(jnp.float32)[..., None, None] * rates
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    left, right = x[..., :half].astype(jnp.float32), x[..., half:].astype(jnp.float32)
    turned = jnp.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)
    return turned.astype(x.dtype)


def _llama_layer(
    params: PyTree, x: Array, cache: Cache, layer: Array, position: Array
) -> tuple[Array, Cache]:
    """One Llama layer for one token: RMS norms, grouped queries, rotary positions, SwiGLU."""
    normed = rms_norm(params["attention_norm"], x)
    query = rotate(split_heads(normed @ params["query"], LLAMA.heads), position)
    key = rotate(split_heads(normed @ params["key"], LLAMA.kv_heads), position)
    value = split_heads(normed @ params["value"], LLAMA.kv_heads)
    mixed, cache = _cached_attention((query, key, value), cache, layer, position)
    x = x + mixed @ params["out"]
    normed = rms_norm(params["mlp_norm"], x)
    gated = jax.nn.silu(normed @ params["gate"]) * (normed @ params["up"])
    return x + gated @ params["down"], cache


def _gpt_layer_shapes(config: Config) -> PyTree:
    return {
        "attention_norm": norm_shapes(config.width),
        "qkv": dense_shapes(config.width, 3 * config.width),
        "out": dense_shapes(config.width, config.width),
        "mlp_norm": norm_shapes(config.width),
        "mlp": mlp_shapes(config.width, config.hidden),
    }


def llama_layer_shapes(config: Config) -> PyTree:
    """Parameters of one Llama layer."""
    kv_width = config.kv_heads * config.head_width
    return {
        "attention_norm": vector(config.width),
        "query": weight(config.width, config.width),
        "key": weight(config.width, kv_width),
        "value": weight(config.width, kv_width),
        "out": weight(config.width, config.width),
        "mlp_norm": vector(config.width),
        "gate": weight(config.width, config.hidden),
        "up": weight(config.width, config.hidden),
        "down": weight(config.hidden, config.width),
    }


def _decode_fn(config: Config, layer_fn: LayerFn) -> Callable[..., Any]:
    """Greedy decoding of `NUM_TOKENS` tokens from `position` on."""

    def decode(params: PyTree, cache: Cache, token: Array, position: Array) -> Any:
        def through_layer(carry: Any, layer: tuple[PyTree, Array]) -> tuple[Any, None]:
            x, cache, position = carry
            x, cache = layer_fn(layer[0], x, cache, layer[1], position)
            return (x, cache, position), None

        def next_token(carry: Any, _: None) -> tuple[Any, Array]:
            token, cache, position = carry
            layers = (params["layers"], jnp.arange(config.layers))
            start = (params["tokens"][token], cache, position)
            (x, cache, _), _ = jax.lax.scan(through_layer, start, layers)
            logits = rms_norm(params["norm"], x) @ params["tokens"].T
            token = jnp.argmax(logits, axis=-1).astype(token.dtype)
            return (token, cache, position + 1), token

        carry, tokens = jax.lax.scan(next_token, (token, cache, position), length=NUM_TOKENS)
        return tokens, carry[1]

    return decode


def _program(config: Config, layer_fn: LayerFn, layer: PyTree, batch: int) -> Program:
    """The decoding program of one architecture; the cache is its second argument."""
    stacked = jax.tree.map(lambda s: tensor((config.layers, *s.shape), s.dtype), layer)
    params = {
        "tokens": weight(config.vocabulary, config.width),
        "layers": stacked,
        "norm": vector(config.width),
    }
    half = weight(config.layers, batch, config.cache_length, config.kv_heads, config.head_width)
    args = (params, (half, half), indices(batch), indices())
    return Program(_decode_fn(config, layer_fn), args, donate_argnums=(1,))


def _refuse_training(name: str, train: bool) -> None:
    if train:
        raise UnsupportedModeError(f"{name} only decodes; train its family with 'gpt'")


@workload("gptdecode", "GPT-like decoding of 16 tokens, 4 scanned layers of width 1024")
def gpt_decode(batch: int, train: bool) -> Program:
    """One key-value head per query head; a cache of 512 tokens."""
    _refuse_training("gptdecode", train)
    return _program(GPT, _gpt_layer, _gpt_layer_shapes(GPT), batch)


@workload("llamadecode", "Llama-like decoding of 16 tokens, grouped queries and SwiGLU")
def llama_decode(batch: int, train: bool) -> Program:
    """Four query heads share a key-value head; a cache of 1,024 tokens."""
    _refuse_training("llamadecode", train)
    return _program(LLAMA, _llama_layer, llama_layer_shapes(LLAMA), batch)

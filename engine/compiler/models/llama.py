"""Llama over a prompt: 32 layers, one after another without a scan; `decode.py` has its decoding.

Letters: B batch, T tokens, D model width, H query heads, G key-value heads, K head width.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, UnsupportedModeError, workload
from engine.compiler.models.decode import Config, llama_layer_shapes, rotate
from engine.compiler.models.layers import (
    Array,
    attend,
    causal_mask,
    indices,
    merge_heads,
    rms_norm,
    split_heads,
    vector,
    weight,
)

CONFIG = Config(
    layers=32, width=2048, heads=32, kv_heads=8, hidden=5632, cache_length=1024, vocabulary=32000
)


def _attention(params: PyTree, x: Array, mask: Array) -> Array:
    """Causal attention of `x` `[B, T, D]`, each key-value head for `H / G` query heads."""
    positions = jnp.arange(x.shape[1])
    query = rotate(split_heads(x @ params["query"], CONFIG.heads), positions)
    key = rotate(split_heads(x @ params["key"], CONFIG.kv_heads), positions)
    value = split_heads(x @ params["value"], CONFIG.kv_heads)
    served = CONFIG.heads // CONFIG.kv_heads
    keys, values = (jnp.repeat(part, served, axis=2) for part in (key, value))
    out: Array = merge_heads(attend(query, keys, values, mask)) @ params["out"]
    return out


def _layer(params: PyTree, x: Array, mask: Array) -> Array:
    x = x + _attention(params, rms_norm(params["attention_norm"], x), mask)
    normed = rms_norm(params["mlp_norm"], x)
    gated = jax.nn.silu(normed @ params["gate"]) * (normed @ params["up"])
    out: Array = x + gated @ params["down"]
    return out


@workload("llama", "Llama-like prefill: 32 layers of width 2,048, 8 key-value heads, 1,024 tokens")
def llama(batch: int, train: bool) -> Program:
    """The logits of the last token of each prompt."""
    if train:
        raise UnsupportedModeError("llama only reads a prompt; train its family with 'gpt2'")
    params = {
        "tokens": weight(CONFIG.vocabulary, CONFIG.width),
        "layers": [llama_layer_shapes(CONFIG) for _ in range(CONFIG.layers)],
        "norm": vector(CONFIG.width),
    }

    def prefill(params: PyTree, tokens: Array) -> Array:
        x = params["tokens"][tokens]
        mask = causal_mask(tokens.shape[1])
        for layer in params["layers"]:
            x = _layer(layer, x, mask)
        scores: Array = rms_norm(params["norm"], x[:, -1]) @ params["tokens"].T
        return scores

    return Program(prefill, (params, indices(batch, CONFIG.cache_length)))

"""Recurrence: a stack of LSTM layers, each a scan over time.

Letters: B batch, T time steps, D width. The inputs of all steps are projected before the scan,
so that the loop holds only the recurrent product, as every fast LSTM does.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, workload
from engine.compiler.models.layers import Array, indices, vector, weight
from engine.compiler.models.training import adam_program, cross_entropy

NUM_LAYERS = 3
WIDTH = 1024
LENGTH = 64
VOCABULARY = 16000


def _layer_shapes(width: int) -> PyTree:
    """Parameters of one layer; the four gates lie side by side in the last axis."""
    return {"input": weight(width, 4 * width), "state": weight(width, 4 * width),
            "bias": vector(4 * width)}  # fmt: skip


def _lstm_layer(params: PyTree, x: Array) -> Array:
    """Hidden states `[T, B, D]` of inputs `[T, B, D]`."""
    projected = x @ params["input"] + params["bias"].astype(x.dtype)
    zeros = jnp.zeros(x.shape[1:], jnp.float32)

    def step(carry: tuple[Array, Array], gates_in: Array) -> tuple[tuple[Array, Array], Array]:
        hidden, cell = carry
        gates = (gates_in + hidden @ params["state"]).astype(jnp.float32)
        keep, write, show, new = jnp.split(gates, 4, axis=-1)
        cell = jax.nn.sigmoid(keep) * cell + jax.nn.sigmoid(write) * jnp.tanh(new)
        hidden = (jax.nn.sigmoid(show) * jnp.tanh(cell)).astype(x.dtype)
        return (hidden, cell), hidden

    _, hidden_states = jax.lax.scan(step, (zeros.astype(x.dtype), zeros), projected)
    return hidden_states


def _lstm(params: PyTree, tokens: Array) -> Array:
    """Logits `[T, B, vocabulary]` of the next token for `tokens` `[T, B]`."""
    x = params["tokens"][tokens]
    for layer in params["layers"]:
        x = x + _lstm_layer(layer, x)
    logits: Array = x @ params["logits"]
    return logits


@workload("lstm", "LSTM language model: 3 layers of width 1024, scanned over 64 steps")
def lstm(batch: int, train: bool) -> Program:
    """Word-level language model with residual connections between its layers."""
    params = {
        "tokens": weight(VOCABULARY, WIDTH),
        "layers": [_layer_shapes(WIDTH) for _ in range(NUM_LAYERS)],
        "logits": weight(WIDTH, VOCABULARY),
    }
    tokens = indices(LENGTH, batch)
    if not train:
        return Program(_lstm, (params, tokens))

    def loss_fn(params: PyTree, tokens: Array, labels: Array) -> Array:
        return cross_entropy(_lstm(params, tokens), labels)

    return adam_program(loss_fn, params, (tokens, tokens))

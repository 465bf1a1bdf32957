"""A selective state-space language model, as Mamba: a gated convolution and a scan per layer.

Letters: B batch, T tokens, D model width, E inner width, N states per channel.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, workload
from engine.compiler.models.layers import Array, indices, rms_norm, tensor, vector, weight
from engine.compiler.models.training import adam_program, cross_entropy

LAYERS = 4
WIDTH = 768
INNER = 1536
STATES = 16
KERNEL = 4
LENGTH = 256
VOCABULARY = 32000


def _layer_shapes() -> PyTree:
    """Parameters of one layer; the step width is projected with full rank."""
    return {
        "norm": vector(WIDTH),
        "inputs": weight(WIDTH, 2 * INNER),
        "kernel": weight(KERNEL, 1, INNER),
        "selection": weight(INNER, 2 * STATES),
        "step": weight(INNER, INNER),
        "decay": tensor((INNER, STATES), jnp.float32),
        "skip": vector(INNER),
        "out": weight(INNER, WIDTH),
    }


def _scan(decay: Array, step: Array, x: Array, selection: Array) -> Array:
    """Outputs `[T, B, E]` of the state-space recurrence (Gu and Dao 2023, equation 2).

    `decay` `[E, N]`, `step` and `x` `[T, B, E]`, `selection` `[T, B, 2 N]`: what enters the state
    and what is read from it.
    """

    def advance(state: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        step, x, selection = inputs
        enters, leaves = jnp.split(selection.astype(jnp.float32), 2, axis=-1)
        kept = jnp.exp(step[..., None] * decay) * state
        state = kept + (step * x)[..., None] * enters[:, None, :]
        return state, jnp.sum(state * leaves[:, None, :], axis=-1).astype(jnp.bfloat16)

    state = jnp.zeros((*x.shape[1:], STATES), jnp.float32)
    outputs: Array = jax.lax.scan(advance, state, (step, x, selection))[1]
    return outputs


def _layer(params: PyTree, x: Array) -> Array:
    """One block over `x` `[T, B, D]`."""
    mixed, gate = jnp.split(rms_norm(params["norm"], x) @ params["inputs"], 2, axis=-1)
    mixed = jax.lax.conv_general_dilated(
        mixed, params["kernel"], (1,), ((KERNEL - 1, 0),),
        dimension_numbers=("WNC", "WIO", "WNC"), feature_group_count=INNER,
    )  # fmt: skip
    mixed = jax.nn.silu(mixed)
    step = jax.nn.softplus((mixed @ params["step"]).astype(jnp.float32))
    out = _scan(-jnp.exp(params["decay"]), step, mixed, mixed @ params["selection"])
    out = out + (mixed * params["skip"]).astype(out.dtype)
    mixed_in: Array = x + (out * jax.nn.silu(gate)) @ params["out"]
    return mixed_in


def _mamba(params: PyTree, tokens: Array) -> Array:
    """Logits `[T, B, vocabulary]` of the next token for `tokens` `[T, B]`."""
    x = params["tokens"][tokens]
    for layer in params["layers"]:
        x = _layer(layer, x)
    logits: Array = rms_norm(params["norm"], x) @ params["tokens"].T
    return logits


@workload("mamba", "Mamba-like language model: 4 selective state-space layers of width 768")
def mamba(batch: int, train: bool) -> Program:
    """Scanned over 256 tokens, layer by layer."""
    params = {
        "tokens": weight(VOCABULARY, WIDTH),
        "layers": [_layer_shapes() for _ in range(LAYERS)],
        "norm": vector(WIDTH),
    }
    tokens = indices(LENGTH, batch)
    if not train:
        return Program(_mamba, (params, tokens))

    def loss_fn(params: PyTree, tokens: Array, labels: Array) -> Array:
        return cross_entropy(_mamba(params, tokens), labels)

    return adam_program(loss_fn, params, (tokens, tokens))

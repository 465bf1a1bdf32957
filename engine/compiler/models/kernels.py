"""Programs with kernels of their own, written in Pallas: XLA knows neither their time nor inside.

Letters: B batch, T tokens, H heads, K width of one head, D model width, F hidden width.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

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
    vector,
    weight,
)
from engine.compiler.models.training import cross_entropy, sgd_program

WIDTH, HEADS, LENGTH = 1024, 8, 512
HEAD = WIDTH // HEADS
CLASSES = 1024
TOKENS = 256
NUM_LAYERS = 2


def _attend_block(query: Any, key: Any, value: Any, out: Any) -> None:
    """Softmax attention of one block of queries over all keys of one head."""
    scores = jnp.dot(query[0], key[0].T, preferred_element_type=jnp.float32) / HEAD**0.5
    weights = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
    mixed = jnp.dot(weights.astype(value.dtype), value[0], preferred_element_type=jnp.float32)
    out[0] = mixed.astype(out.dtype)


@jax.custom_vjp
def _attend(query: Array, key: Array, value: Array) -> Array:
    """Attention of `[B * H, T, K]`, a kernel over heads and blocks of 256 queries."""
    heads, length, width = query.shape
    block = 256
    some = pl.BlockSpec((1, block, width), lambda head, row: (head, row, 0))
    every = pl.BlockSpec((1, length, width), lambda head, _: (head, 0, 0))
    cost = pl.CostEstimate(
        flops=4 * heads * length * length * width,
        bytes_accessed=8 * query.size,
        transcendentals=heads * length * length,
    )
    kernel = pl.pallas_call(
        _attend_block,
        grid=(heads, length // block),
        in_specs=[some, every, every],
        out_specs=some,
        out_shape=jax.ShapeDtypeStruct(query.shape, query.dtype),
        cost_estimate=cost,
    )
    mixed: Array = kernel(query, key, value)
    return mixed


def _attend_forward(query: Array, key: Array, value: Array) -> tuple[Array, tuple[Array, ...]]:
    return _attend(query, key, value), (query, key, value)


def _attend_backward(kept: tuple[Array, ...], grad: Array) -> tuple[Array, ...]:
    """The gradient without a kernel: scores are made again."""

    def plain(query: Array, key: Array, value: Array) -> Array:
        scores = jnp.einsum("htk,hsk->hts", query, key).astype(jnp.float32) / HEAD**0.5
        return jnp.einsum("hts,hsk->htk", jax.nn.softmax(scores).astype(query.dtype), value)

    return tuple(jax.vjp(plain, *kept)[1](grad))


_attend.defvjp(_attend_forward, _attend_backward)


@workload("flash", "Transformer of 2 layers whose attention is a Pallas kernel")
def flash(batch: int, train: bool) -> Program:
    """The kernel has a gradient of its own; everything else is XLA's."""

    def forward(params: PyTree, x: Array) -> Array:
        for layer in params["layers"]:
            normed = layer_norm(layer["norm"], x)
            parts = (normed @ layer["qkv"]).reshape(batch, LENGTH, 3, HEADS, HEAD)
            heads = parts.transpose(2, 0, 3, 1, 4).reshape(3, batch * HEADS, LENGTH, HEAD)
            mixed = _attend(*heads).reshape(batch, HEADS, LENGTH, HEAD).transpose(0, 2, 1, 3)
            x = x + mixed.reshape(x.shape) @ layer["out"]
            x = x + mlp(layer["mlp"], x)
        return dense(params["classifier"], jnp.mean(x, axis=1))

    layer = {
        "norm": norm_shapes(WIDTH),
        "qkv": weight(WIDTH, 3 * WIDTH),
        "out": weight(WIDTH, WIDTH),
        "mlp": mlp_shapes(WIDTH, 4 * WIDTH),
    }
    params = {"layers": [layer] * NUM_LAYERS, "classifier": dense_shapes(WIDTH, CLASSES)}
    data = weight(batch, LENGTH, WIDTH)
    if not train:
        return Program(forward, (params, data))

    def loss_fn(params: PyTree, x: Array, labels: Array) -> Array:
        return cross_entropy(forward(params, x), labels)

    return sgd_program(loss_fn, params, (data, indices(batch)))


def _gate_block(x: Any, gate: Any, up: Any, out: Any) -> None:
    """`silu(x @ gate) * (x @ up)` of one tile."""
    left = jnp.dot(x[...], gate[...], preferred_element_type=jnp.float32)
    right = jnp.dot(x[...], up[...], preferred_element_type=jnp.float32)
    out[...] = (left / (1 + jnp.exp(-left)) * right).astype(out.dtype)


def _gated(x: Array, gate: Array, up: Array) -> Array:
    """Both products of a gated MLP in one kernel, which asks for 48 MiB of its own."""
    rows, width = x.shape
    tall, wide = TOKENS, 512
    matrix = pl.BlockSpec((width, wide), lambda _, column: (0, column))
    kernel = pl.pallas_call(
        _gate_block,
        grid=(rows // tall, gate.shape[1] // wide),
        in_specs=[pl.BlockSpec((tall, width), lambda row, _: (row, 0)), matrix, matrix],
        out_specs=pl.BlockSpec((tall, wide), lambda row, column: (row, column)),
        out_shape=jax.ShapeDtypeStruct((rows, gate.shape[1]), x.dtype),
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=48 * 2**20),
    )
    hidden: Array = kernel(x, gate, up)
    return hidden


@workload("gatedkernel", "Gated MLPs of 3 layers whose first two products are one Pallas kernel")
def gated_kernel(batch: int, train: bool) -> Program:
    """The kernel brings no estimate, and more scratch than the compiler's region has."""
    if train:
        raise UnsupportedModeError("gatedkernel is for inference only")

    def forward(params: PyTree, x: Array) -> Array:
        for layer in params["layers"]:
            hidden = _gated(rms_norm(layer["norm"], x), layer["gate"], layer["up"])
            x = x + hidden @ layer["down"]
            x = x + dense(layer["mix"], layer_norm(layer["mix_norm"], x))
        return dense(params["classifier"], x)

    layer = {
        "norm": vector(WIDTH),
        "gate": weight(WIDTH, 4 * WIDTH),
        "up": weight(WIDTH, 4 * WIDTH),
        "down": weight(4 * WIDTH, WIDTH),
        "mix_norm": norm_shapes(WIDTH),
        "mix": dense_shapes(WIDTH, WIDTH),
    }
    params = {"layers": [layer] * 3, "classifier": dense_shapes(WIDTH, CLASSES)}
    return Program(forward, (params, weight(TOKENS * batch, WIDTH)))

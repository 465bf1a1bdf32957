"""Recommendation: a DLRM with looked-up features, a low-rank cross network, and dense stacks.

The second generation (DLRM-DCNv2): cross layers multiply the features with themselves in place of
pairwise inner products, so the first features stay alive to the last cross layer.
Letters: B batch, F looked-up features, E width of an embedding.
"""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, workload
from engine.compiler.models.layers import Array, dense, dense_shapes, indices, vector, weight
from engine.compiler.models.training import sgd_program

NUM_TABLES = 26
TABLE_ROWS = 40_000
EMBEDDING_WIDTH = 128
NUM_NUMBERS = 13
BOTTOM_WIDTHS = (NUM_NUMBERS, 512, 256, EMBEDDING_WIDTH)
FEATURE_WIDTH = (NUM_TABLES + 1) * EMBEDDING_WIDTH
NUM_CROSS_LAYERS = 4
CROSS_RANK = 512
TOP_WIDTHS = (FEATURE_WIDTH, 1024, 1024, 512, 256, 1)


def _stack_shapes(widths: tuple[int, ...]) -> PyTree:
    return [dense_shapes(width_in, width_out) for width_in, width_out in pairwise(widths)]


def _stack(params: PyTree, x: Array) -> Array:
    """Dense layers with a ReLU between them, none after the last."""
    for layer in params[:-1]:
        x = jax.nn.relu(dense(layer, x))
    return dense(params[-1], x)


def _cross_shapes() -> PyTree:
    """Parameters of one cross layer: a matrix of rank 512, and a bias."""
    return {
        "down": weight(FEATURE_WIDTH, CROSS_RANK),
        "up": dense_shapes(CROSS_RANK, FEATURE_WIDTH),
    }


def _cross(params: PyTree, first: Array, x: Array) -> Array:
    """Multiply the first features `[B, F * E]` with a low-rank map of `x`, and add `x`."""
    return first * dense(params["up"], x @ params["down"]) + x


def _dlrm(params: PyTree, numbers: Array, rows: Array) -> Array:
    """Click logits `[B]` of numeric features `[B, 13]` and table rows `[B, 26]`."""
    bottom = jax.nn.relu(_stack(params["bottom"], numbers))
    looked_up = [table[rows[:, i]] for i, table in enumerate(params["tables"])]
    first = jnp.concatenate([bottom, *looked_up], axis=-1)
    x = first
    for layer in params["cross"]:
        x = _cross(layer, first, x)
    return _stack(params["top"], x)[:, 0]


@workload("dlrm", "Deep learning recommendation model: 26 tables, a cross network")
def dlrm(batch: int, train: bool) -> Program:
    """Click prediction; training updates the tables densely, as plain momentum does."""
    params = {
        "bottom": _stack_shapes(BOTTOM_WIDTHS),
        "tables": [weight(TABLE_ROWS, EMBEDDING_WIDTH) for _ in range(NUM_TABLES)],
        "cross": [_cross_shapes() for _ in range(NUM_CROSS_LAYERS)],
        "top": _stack_shapes(TOP_WIDTHS),
    }
    data = (weight(batch, NUM_NUMBERS), indices(batch, NUM_TABLES))
    if not train:
        return Program(_dlrm, (params, *data))

    def loss_fn(params: PyTree, numbers: Array, rows: Array, clicks: Array) -> Array:
        logits = _dlrm(params, numbers, rows).astype(jnp.float32)
        return jnp.mean(jax.nn.softplus(logits) - clicks * logits)

    return sgd_program(loss_fn, params, (*data, vector(batch)))

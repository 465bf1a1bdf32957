"""Message passing over a graph: every edge mixes the features of its two ends.

Letters: N nodes, E edges, D width. The batch is the number of nodes in units of 1,024.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, workload
from engine.compiler.models.layers import (
    Array,
    dense,
    dense_shapes,
    indices,
    layer_norm,
    mlp,
    norm_shapes,
    weight,
)
from engine.compiler.models.training import adam_program, cross_entropy

LAYERS = 4
WIDTH = 256
FEATURES = 128
CLASSES = 40
NODES_PER_BATCH = 1024
EDGES_PER_NODE = 8


def _mlp_shapes() -> PyTree:
    """Parameters of an MLP over the features of two nodes."""
    return {"up": dense_shapes(2 * WIDTH, WIDTH), "down": dense_shapes(WIDTH, WIDTH)}


def _layer_shapes() -> PyTree:
    return {
        "message": _mlp_shapes(),
        "update": _mlp_shapes(),
        "norm": norm_shapes(WIDTH),
    }


def _pass_messages(params: PyTree, nodes: Array, edges: Array) -> Array:
    """Nodes `[N, D]` after one exchange along `edges` `[2, E]`, from row 0 to row 1."""
    sources, targets = edges
    messages = mlp(params["message"], jnp.concatenate([nodes[sources], nodes[targets]], axis=-1))
    heard = jax.ops.segment_sum(messages, targets, num_segments=nodes.shape[0])
    update = mlp(params["update"], jnp.concatenate([nodes, heard.astype(nodes.dtype)], axis=-1))
    return layer_norm(params["norm"], nodes + update)


def _gnn(params: PyTree, graph: tuple[Array, Array]) -> Array:
    """Logits `[N, classes]` of the nodes of a graph `(features [N, F], edges [2, E])`."""
    features, edges = graph
    nodes = dense(params["inputs"], features)
    for layer in params["layers"]:
        nodes = _pass_messages(layer, nodes, edges)
    return dense(params["classes"], nodes)


@workload("gnn", "Message-passing graph network: 4 layers of width 256, 8 edges per node")
def gnn(batch: int, train: bool) -> Program:
    """Classifies every node of one graph of `batch` times 1,024 nodes."""
    nodes = batch * NODES_PER_BATCH
    params = {
        "inputs": dense_shapes(FEATURES, WIDTH),
        "layers": [_layer_shapes() for _ in range(LAYERS)],
        "classes": dense_shapes(WIDTH, CLASSES),
    }
    graph = (weight(nodes, FEATURES), indices(2, nodes * EDGES_PER_NODE))
    if not train:
        return Program(_gnn, (params, graph))

    def loss_fn(params: PyTree, graph: tuple[Array, Array], labels: Array) -> Array:
        return cross_entropy(_gnn(params, graph), labels)

    return adam_program(loss_fn, params, (graph, indices(nodes)))

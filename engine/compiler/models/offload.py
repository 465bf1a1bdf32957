"""Programs that keep tensors in the host's memory and fetch them when they are needed.

Letters: B batch, D model width.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

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
    weight,
)
from engine.compiler.models.training import cross_entropy, sgd_program

WIDTH, HIDDEN, CLASSES = 1024, 4096, 1024


def _layer_shapes() -> PyTree:
    return {"norm": norm_shapes(WIDTH), "mlp": mlp_shapes(WIDTH, HIDDEN)}


def _layer(params: PyTree, x: Array) -> Array:
    return x + mlp(params["mlp"], layer_norm(params["norm"], x))


@workload("offloadtrain", "Residual MLPs of 3 layers, activations kept in the host's memory")
def offload_train(batch: int, train: bool) -> Program:
    """What goes from layer to layer waits on the host for the backward pass; the rest is redone."""
    if not train:
        raise UnsupportedModeError("offloadtrain is a training step only")
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["between"],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def loss_fn(params: PyTree, x: Array, labels: Array) -> Array:
        def body(params: PyTree, x: Array) -> Array:
            for layer in params:
                x = checkpoint_name(_layer(layer, x), "between")
            return x

        h = jax.checkpoint(body, policy=policy)(params["layers"], x)
        return cross_entropy(dense(params["classifier"], h), labels)

    params = {
        "layers": [_layer_shapes() for _ in range(3)],
        "classifier": dense_shapes(WIDTH, CLASSES),
    }
    return sgd_program(loss_fn, params, (weight(batch, WIDTH), indices(batch)))


@workload("skiphost", "Hourglass of residual MLPs whose long skips wait in the host's memory")
def skip_host(batch: int, train: bool) -> Program:
    """Every layer of the way down is added again on the way up, the first one last."""
    if train:
        raise UnsupportedModeError("skiphost is for inference only")
    depth = 2

    def forward(params: PyTree, x: Array) -> Array:
        skips = []
        for layer in params["down"]:
            x = _layer(layer, x)
            skips.append(jax.device_put(x, jax.memory.Space.Host))
        x = jnp.tanh(_layer(params["middle"], x))
        for layer, skip in zip(params["up"], reversed(skips), strict=True):
            x = _layer(layer, x + jax.device_put(skip, jax.memory.Space.Device))
        return dense(params["classifier"], x)

    params = {
        "down": [_layer_shapes() for _ in range(depth)],
        "middle": _layer_shapes(),
        "up": [_layer_shapes() for _ in range(depth)],
        "classifier": dense_shapes(WIDTH, CLASSES),
    }
    return Program(forward, (params, weight(batch, WIDTH)))

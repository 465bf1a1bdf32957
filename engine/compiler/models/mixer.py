"""MLP-Mixer: dense layers across patches, then across channels, and nothing else.

Letters: B batch, P patches, C channels.
"""

from __future__ import annotations

import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, workload
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

# Mixer-B/16 with its twelve layers cut to eight.
NUM_LAYERS = 8
CHANNELS = 768
PATCH_SIDE = 16
IMAGE_SIDE = 224
NUM_PATCHES = (IMAGE_SIDE // PATCH_SIDE) ** 2
TOKEN_HIDDEN = 384
CHANNEL_HIDDEN = 3072
NUM_CLASSES = 1000


def _layer_shapes() -> PyTree:
    """Parameters of one mixing layer."""
    return {
        "token_norm": norm_shapes(CHANNELS),
        "token_mlp": mlp_shapes(NUM_PATCHES, TOKEN_HIDDEN),
        "channel_norm": norm_shapes(CHANNELS),
        "channel_mlp": mlp_shapes(CHANNELS, CHANNEL_HIDDEN),
    }


def _patches(images: Array) -> Array:
    """Cut images `[B, 224, 224, 3]` into patches `[B, P, 16 * 16 * 3]`."""
    batch, side = images.shape[0], IMAGE_SIDE // PATCH_SIDE
    grid = images.reshape(batch, side, PATCH_SIDE, side, PATCH_SIDE, 3)
    return grid.transpose(0, 1, 3, 2, 4, 5).reshape(batch, NUM_PATCHES, -1)


def _mixer(params: PyTree, images: Array) -> Array:
    """Logits `[B, 1000]` of images."""
    x = dense(params["patches"], _patches(images))
    for layer in params["layers"]:
        turned = layer_norm(layer["token_norm"], x).transpose(0, 2, 1)
        x = x + mlp(layer["token_mlp"], turned).transpose(0, 2, 1)
        x = x + mlp(layer["channel_mlp"], layer_norm(layer["channel_norm"], x))
    return dense(params["classifier"], jnp.mean(layer_norm(params["norm"], x), axis=1))


@workload("mixer", "MLP-Mixer-B/16 cut to 8 layers")
def mixer(batch: int, train: bool) -> Program:
    """Image classifier without convolution or attention."""
    params = {
        "patches": dense_shapes(PATCH_SIDE * PATCH_SIDE * 3, CHANNELS),
        "layers": [_layer_shapes() for _ in range(NUM_LAYERS)],
        "norm": norm_shapes(CHANNELS),
        "classifier": dense_shapes(CHANNELS, NUM_CLASSES),
    }
    images = weight(batch, IMAGE_SIDE, IMAGE_SIDE, 3)
    if not train:
        return Program(_mixer, (params, images))

    def loss_fn(params: PyTree, images: Array, labels: Array) -> Array:
        return cross_entropy(_mixer(params, images), labels)

    return sgd_program(loss_fn, params, (images, indices(batch)))

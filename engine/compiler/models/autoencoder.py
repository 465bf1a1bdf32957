"""Autoencoders: one of convolutions over images, one of dense layers over vectors.

Letters: B batch, C channels. Both are trained to give back what they are shown.
"""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, workload
from engine.compiler.models.layers import Array, dense, dense_shapes, vector, weight
from engine.compiler.models.training import LossFn, adam_program

SIDE = 128
CHANNELS = (3, 64, 128, 256, 512)
"""Channels at each level of the convolutional one; every level halves the side."""

WIDTHS = (4096, 3072, 2048, 1024, 256)
"""Widths of the dense one down to its code."""


def _squared_error(infer: LossFn) -> LossFn:
    """Mean squared error of what `infer(params, x)` gives back of `x`."""

    def loss_fn(params: PyTree, x: Array) -> Array:
        return jnp.mean(jnp.square((infer(params, x) - x).astype(jnp.float32)))

    return loss_fn


def _program(infer: LossFn, params: PyTree, x: PyTree, train: bool) -> Program:
    if not train:
        return Program(infer, (params, x))
    return adam_program(_squared_error(infer), params, (x,))


def _conv_shapes(channels_in: int, channels_out: int) -> PyTree:
    return {"kernel": weight(3, 3, channels_in, channels_out), "bias": vector(channels_out)}


def _convolve(params: PyTree, x: Array, stride: int) -> Array:
    """3x3 convolution of `x` `[B, H, W, C]`."""
    y = jax.lax.conv_general_dilated(
        x, params["kernel"], (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    shifted: Array = y + params["bias"].astype(y.dtype)
    return shifted


def _double(x: Array) -> Array:
    """Images `[B, 2 H, 2 W, C]`, every pixel four times."""
    return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)


def _conv_autoencoder(params: PyTree, images: Array) -> Array:
    """Images `[B, 128, 128, 3]` given back."""
    x = images
    for layer in params["encoder"]:
        x = jax.nn.relu(_convolve(layer, x, 2))
    for layer in params["decoder"][:-1]:
        x = jax.nn.relu(_convolve(layer, _double(x), 1))
    return _convolve(params["decoder"][-1], _double(x), 1)


@workload("convae", "Convolutional autoencoder of 128 x 128 images, four levels")
def convae(batch: int, train: bool) -> Program:
    """Strided convolutions down to 8 x 8 x 512 and back."""
    params = {
        "encoder": [_conv_shapes(i, o) for i, o in pairwise(CHANNELS)],
        "decoder": [_conv_shapes(i, o) for i, o in pairwise(reversed(CHANNELS))],
    }
    return _program(_conv_autoencoder, params, weight(batch, SIDE, SIDE, 3), train)


def _dense_autoencoder(params: PyTree, x: Array) -> Array:
    """Vectors `[B, 4096]` given back."""
    for layer in params[:-1]:
        x = jax.nn.gelu(dense(layer, x))
    return dense(params[-1], x)


@workload("mlpae", "Autoencoder of eight dense layers, from 4,096 down to 256 and back")
def mlpae(batch: int, train: bool) -> Program:
    """An autoencoder of dense layers only."""
    widths = [*WIDTHS, *reversed(WIDTHS[:-1])]
    params = [dense_shapes(i, o) for i, o in pairwise(widths)]
    return _program(_dense_autoencoder, params, weight(batch, WIDTHS[0]), train)

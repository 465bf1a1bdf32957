"""Speech: a stack of strided convolutions over the sound wave, then a transformer, as wav2vec 2.0.

Letters: B batch, N samples of the wave, T frames, D model width.
"""

from __future__ import annotations

import jax

from engine.compiler.models.base import Program, PyTree, workload
from engine.compiler.models.layers import (
    Array,
    attention,
    attention_shapes,
    dense,
    dense_shapes,
    indices,
    layer_norm,
    mlp,
    mlp_shapes,
    norm_shapes,
    weight,
)
from engine.compiler.models.training import adam_program, cross_entropy

SAMPLES = 48_000
"""Three seconds at 16 kHz: 149 frames."""

CHANNELS = 512
CONVOLUTIONS = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))
"""Kernel width and stride of each convolution (Baevski et al. 2020, section 4.2)."""

LAYERS = 4
WIDTH = 768
HEADS = 12
LETTERS = 32


def _block_shapes() -> PyTree:
    return {
        "attention": attention_shapes(WIDTH),
        "attention_norm": norm_shapes(WIDTH),
        "mlp": mlp_shapes(WIDTH, 4 * WIDTH),
        "mlp_norm": norm_shapes(WIDTH),
    }


def _shapes() -> PyTree:
    """Parameters of the whole network."""
    widths = [1] + [CHANNELS] * len(CONVOLUTIONS)
    return {
        "convolutions": [
            {"kernel": weight(kernel, channels, CHANNELS), "norm": norm_shapes(CHANNELS)}
            for (kernel, _), channels in zip(CONVOLUTIONS, widths, strict=False)
        ],
        "projection": dense_shapes(CHANNELS, WIDTH),
        "blocks": [_block_shapes() for _ in range(LAYERS)],
        "letters": dense_shapes(WIDTH, LETTERS),
    }


def _convolve(kernel: Array, x: Array, stride: int) -> Array:
    """Convolution along time of `x` `[B, N, C]`, without padding."""
    return jax.lax.conv_general_dilated(
        x, kernel, (stride,), "VALID", dimension_numbers=("NWC", "WIO", "NWC")
    )


def _wav2vec(params: PyTree, wave: Array) -> Array:
    """Scores `[B, T, letters]` of the letters at each frame of `wave` `[B, N]`."""
    x = wave[..., None]
    for layer, (_, stride) in zip(params["convolutions"], CONVOLUTIONS, strict=True):
        x = jax.nn.gelu(layer_norm(layer["norm"], _convolve(layer["kernel"], x, stride)))
    x = dense(params["projection"], x)
    for block in params["blocks"]:
        x = layer_norm(block["attention_norm"], x + attention(block["attention"], x, x, HEADS))
        x = layer_norm(block["mlp_norm"], x + mlp(block["mlp"], x))
    return dense(params["letters"], x)


@workload("wav2vec", "wav2vec 2.0-like speech recogniser: 7 convolutions, 4 layers of width 768")
def wav2vec(batch: int, train: bool) -> Program:
    """Three seconds of sound per example; trained on one letter per frame."""
    params = _shapes()
    wave = weight(batch, SAMPLES)
    if not train:
        return Program(_wav2vec, (params, wave))
    frames = jax.eval_shape(_wav2vec, params, wave).shape[1]

    def loss_fn(params: PyTree, wave: Array, letters: Array) -> Array:
        return cross_entropy(_wav2vec(params, wave), letters)

    return adam_program(loss_fn, params, (wave, indices(batch, frames)))

"""Diffusion: a U-Net over latents, with residual blocks, attention and a time embedding.

Letters: B batch, H height, W width, C channels. Tensors are bfloat16 `[B, H, W, C]`.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, workload
from engine.compiler.models.layers import (
    Array,
    Shape,
    attention,
    attention_shapes,
    dense,
    dense_shapes,
    norm_shapes,
    vector,
    weight,
)
from engine.compiler.models.training import adam_program

LATENT_SIDE = 64
LATENT_CHANNELS = 4
LEVEL_CHANNELS = (128, 256, 512)
"""Channels at sides 64, 32 and 16; attention from the second level on."""
FIRST_ATTENTION_LEVEL = 1
TIME_WIDTH = 512
HEAD_WIDTH = 64
NORM_GROUPS = 32


def _conv_shapes(channels_in: int, channels_out: int, side: int = 3) -> dict[str, Shape]:
    return {"kernel": weight(side, side, channels_in, channels_out), "bias": vector(channels_out)}


def _conv(params: PyTree, x: Array, stride: int = 1) -> Array:
    """Convolution with padding that keeps the side, or halves it where `stride` is two."""
    out: Array = jax.lax.conv_general_dilated(
        x, params["kernel"], (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    shifted: Array = out + params["bias"].astype(x.dtype)
    return shifted


def _group_norm(params: PyTree, x: Array) -> Array:
    """Normalise over space within each of 32 groups of channels, in float32."""
    grouped = x.astype(jnp.float32).reshape(*x.shape[:3], NORM_GROUPS, -1)
    mean = jnp.mean(grouped, axis=(1, 2, 4), keepdims=True)
    variance = jnp.mean(jnp.square(grouped - mean), axis=(1, 2, 4), keepdims=True)
    normed = ((grouped - mean) * jax.lax.rsqrt(variance + 1e-5)).reshape(x.shape)
    out: Array = (normed * params["scale"] + params["bias"]).astype(x.dtype)
    return out


def _residual_shapes(channels_in: int, channels_out: int) -> PyTree:
    shapes = {
        "norm_in": norm_shapes(channels_in),
        "conv_in": _conv_shapes(channels_in, channels_out),
        "time": dense_shapes(TIME_WIDTH, channels_out),
        "norm_out": norm_shapes(channels_out),
        "conv_out": _conv_shapes(channels_out, channels_out),
    }
    if channels_in != channels_out:
        shapes["shortcut"] = _conv_shapes(channels_in, channels_out, side=1)
    return shapes


def _residual(params: PyTree, x: Array, time: Array) -> Array:
    """Two convolutions around the time embedding `[B, TIME_WIDTH]`, and a shortcut."""
    hidden = _conv(params["conv_in"], jax.nn.silu(_group_norm(params["norm_in"], x)))
    hidden = hidden + dense(params["time"], time)[:, None, None, :]
    hidden = _conv(params["conv_out"], jax.nn.silu(_group_norm(params["norm_out"], hidden)))
    shortcut = _conv(params["shortcut"], x) if "shortcut" in params else x
    return shortcut + hidden


def _spatial_shapes(channels: int) -> PyTree:
    return {"norm": norm_shapes(channels), "attention": attention_shapes(channels)}


def _spatial_attention(params: PyTree, x: Array) -> Array:
    """Self-attention over all positions of `x`."""
    tokens = _group_norm(params["norm"], x).reshape(x.shape[0], -1, x.shape[-1])
    heads = x.shape[-1] // HEAD_WIDTH
    return x + attention(params["attention"], tokens, tokens, heads).reshape(x.shape)


def _stage_shapes(channels_in: int, channels_out: int, level: int) -> PyTree:
    shapes = {"residual": _residual_shapes(channels_in, channels_out)}
    if level >= FIRST_ATTENTION_LEVEL:
        shapes["spatial"] = _spatial_shapes(channels_out)
    return shapes


def _stage(params: PyTree, x: Array, time: Array) -> Array:
    """A residual block, and attention where this level has it."""
    x = _residual(params["residual"], x, time)
    return _spatial_attention(params["spatial"], x) if "spatial" in params else x


def _down_shapes() -> list[PyTree]:
    """Parameters of the way down: two stages a level, then halving but for the last level."""
    levels = []
    channels = LEVEL_CHANNELS[0]
    for level, width in enumerate(LEVEL_CHANNELS):
        shapes: dict[str, PyTree] = {
            "stages": [_stage_shapes(channels, width, level), _stage_shapes(width, width, level)]
        }
        if level < len(LEVEL_CHANNELS) - 1:
            shapes["shrink"] = _conv_shapes(width, width)
        levels.append(shapes)
        channels = width
    return levels


def _up_shapes() -> list[PyTree]:
    """Parameters of the way up: two stages a level, each joined by a skip, then doubling."""
    levels = []
    channels = LEVEL_CHANNELS[-1]
    for level, width in reversed(list(enumerate(LEVEL_CHANNELS))):
        inputs = (channels + width, width + width)
        shapes: dict[str, PyTree] = {
            "stages": [_stage_shapes(size, width, level) for size in inputs]
        }
        if level > 0:
            shapes["grow"] = _conv_shapes(width, width)
        levels.append(shapes)
        channels = width
    return levels


def _unet_shapes() -> PyTree:
    """Parameters of the whole network."""
    first, last = LEVEL_CHANNELS[0], LEVEL_CHANNELS[-1]
    return {
        "time": [dense_shapes(first, TIME_WIDTH), dense_shapes(TIME_WIDTH, TIME_WIDTH)],
        "stem": _conv_shapes(LATENT_CHANNELS, first),
        "down": _down_shapes(),
        "middle": _stage_shapes(last, last, FIRST_ATTENTION_LEVEL),
        "up": _up_shapes(),
        "norm": norm_shapes(first),
        "head": _conv_shapes(first, LATENT_CHANNELS),
    }


def _time_embedding(params: PyTree, time: Array) -> Array:
    """Sines and cosines of the diffusion time `[B]`, through two dense layers."""
    half = LEVEL_CHANNELS[0] // 2
    rates = jnp.exp(-math.log(10000.0) * jnp.arange(half, dtype=jnp.float32) / half)
    angles = time[:, None] * rates
    waves = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1).astype(jnp.bfloat16)
    first, second = params
    return jax.nn.silu(dense(second, jax.nn.silu(dense(first, waves))))


def _double(x: Array) -> Array:
    """Nearest-neighbour upsampling to twice the side."""
    return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)


def _unet(params: PyTree, latents: Array, time: Array) -> Array:
    """Predicted noise of noisy `latents` `[B, 64, 64, 4]` at diffusion times `[B]`."""
    embedding = _time_embedding(params["time"], time)
    x = _conv(params["stem"], latents)
    skips = []
    for level in params["down"]:
        for stage in level["stages"]:
            x = _stage(stage, x, embedding)
            skips.append(x)
        x = _conv(level["shrink"], x, stride=2) if "shrink" in level else x
    x = _stage(params["middle"], x, embedding)
    for level in params["up"]:
        for stage in level["stages"]:
            x = _stage(stage, jnp.concatenate([x, skips.pop()], axis=-1), embedding)
        x = _conv(level["grow"], _double(x)) if "grow" in level else x
    return _conv(params["head"], jax.nn.silu(_group_norm(params["norm"], x)))


@workload("unet", "Diffusion U-Net over 64 x 64 latents, three levels, attention in two")
def unet(batch: int, train: bool) -> Program:
    """One denoising pass, or one Adam step that fits the noise."""
    params = _unet_shapes()
    latents = weight(batch, LATENT_SIDE, LATENT_SIDE, LATENT_CHANNELS)
    if not train:
        return Program(_unet, (params, latents, vector(batch)))

    def loss_fn(params: PyTree, latents: Array, time: Array, noise: Array) -> Array:
        error = _unet(params, latents, time).astype(jnp.float32) - noise
        return jnp.mean(jnp.square(error))

    return adam_program(loss_fn, params, (latents, vector(batch), latents))

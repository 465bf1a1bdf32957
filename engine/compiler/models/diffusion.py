"""Diffusion: a U-Net over latents, with residual blocks, attention and a time embedding.

Letters: B batch, H height, W width, C channels, L words of the prompt. Tensors are bfloat16
`[B, H, W, C]`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
    layer_norm,
    mlp,
    mlp_shapes,
    norm_shapes,
    vector,
    weight,
)
from engine.compiler.models.training import adam_program

LATENT_SIDE = 64
LATENT_CHANNELS = 4
TIME_WIDTH = 512
HEAD_WIDTH = 64
NORM_GROUPS = 32


@dataclass(frozen=True)
class Config:
    """Sizes of a U-Net.

    `channels`: of each level; the side halves from one to the next. `attention`: for each level,
    whether its stages attend. `prompt`: words and width of a text that they attend to as well;
    then each has a feed-forward too, as the transformer blocks of Stable Diffusion do.
    """

    channels: tuple[int, ...]
    attention: tuple[bool, ...]
    prompt: tuple[int, int] | None = None


SMALL = Config(channels=(128, 256, 512), attention=(False, True, True))
FULL = Config(
    channels=(320, 640, 1280, 1280), attention=(True, True, True, False), prompt=(77, 768)
)


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
    shapes: PyTree = {
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


def _spatial_shapes(channels: int, config: Config) -> PyTree:
    shapes: PyTree = {"norm": norm_shapes(channels), "attention": attention_shapes(channels)}
    if config.prompt is not None:
        shapes["cross_norm"] = norm_shapes(channels)
        shapes["cross"] = attention_shapes(channels)
        shapes["words"] = dense_shapes(config.prompt[1], channels)
        shapes["mlp_norm"] = norm_shapes(channels)
        shapes["mlp"] = mlp_shapes(channels, 4 * channels)
    return shapes


def _spatial_attention(params: PyTree, x: Array, prompt: Array | None) -> Array:
    """Self-attention over all positions of `x`; then over `prompt` `[B, L, width]`, if any."""
    heads = x.shape[-1] // HEAD_WIDTH
    normed = _group_norm(params["norm"], x).reshape(x.shape[0], -1, x.shape[-1])
    tokens = x.reshape(normed.shape) + attention(params["attention"], normed, normed, heads)
    if prompt is not None:
        words = dense(params["words"], prompt)
        normed = layer_norm(params["cross_norm"], tokens)
        tokens = tokens + attention(params["cross"], normed, words, heads)
        tokens = tokens + mlp(params["mlp"], layer_norm(params["mlp_norm"], tokens))
    return tokens.reshape(x.shape)


def _stage_shapes(channels_in: int, channels_out: int, attends: bool, config: Config) -> PyTree:
    shapes = {"residual": _residual_shapes(channels_in, channels_out)}
    if attends:
        shapes["spatial"] = _spatial_shapes(channels_out, config)
    return shapes


def _stage(params: PyTree, x: Array, time: Array, prompt: Array | None) -> Array:
    """A residual block, and attention where this level has it."""
    x = _residual(params["residual"], x, time)
    return _spatial_attention(params["spatial"], x, prompt) if "spatial" in params else x


def _down_shapes(config: Config) -> list[PyTree]:
    """Parameters of the way down: two stages a level, then halving but for the last level."""
    levels = []
    channels = config.channels[0]
    for level, (width, attends) in enumerate(zip(config.channels, config.attention, strict=True)):
        stages = [_stage_shapes(size, width, attends, config) for size in (channels, width)]
        shapes: dict[str, PyTree] = {"stages": stages}
        if level < len(config.channels) - 1:
            shapes["shrink"] = _conv_shapes(width, width)
        levels.append(shapes)
        channels = width
    return levels


def _up_shapes(config: Config) -> list[PyTree]:
    """Parameters of the way up: two stages a level, each joined by a skip, then doubling."""
    levels = []
    channels = config.channels[-1]
    rows = list(enumerate(zip(config.channels, config.attention, strict=True)))
    for level, (width, attends) in reversed(rows):
        inputs = (channels + width, width + width)
        shapes: dict[str, PyTree] = {
            "stages": [_stage_shapes(size, width, attends, config) for size in inputs]
        }
        if level > 0:
            shapes["grow"] = _conv_shapes(width, width)
        levels.append(shapes)
        channels = width
    return levels


def _unet_shapes(config: Config) -> PyTree:
    """Parameters of the whole network."""
    first, last = config.channels[0], config.channels[-1]
    return {
        "time": [dense_shapes(first, TIME_WIDTH), dense_shapes(TIME_WIDTH, TIME_WIDTH)],
        "stem": _conv_shapes(LATENT_CHANNELS, first),
        "down": _down_shapes(config),
        "middle": _stage_shapes(last, last, True, config),
        "up": _up_shapes(config),
        "norm": norm_shapes(first),
        "head": _conv_shapes(first, LATENT_CHANNELS),
    }


def _time_embedding(params: PyTree, time: Array) -> Array:
    """Sines and cosines of the diffusion time `[B]`, through two dense layers."""
    half = params[0]["kernel"].shape[0] // 2
    rates = jnp.exp(-math.log(10000.0) * jnp.arange(half, dtype=jnp.float32) / half)
    angles = time[:, None] * rates
    waves = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1).astype(jnp.bfloat16)
    first, second = params
    return jax.nn.silu(dense(second, jax.nn.silu(dense(first, waves))))


def _double(x: Array) -> Array:
    """Nearest-neighbour upsampling to twice the side."""
    return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)


def _unet(params: PyTree, latents: Array, time: Array, prompt: Array | None = None) -> Array:
    """Predicted noise of noisy `latents` `[B, 64, 64, 4]` at diffusion times `[B]`."""
    embedding = _time_embedding(params["time"], time)
    x = _conv(params["stem"], latents)
    skips = []
    for level in params["down"]:
        for stage in level["stages"]:
            x = _stage(stage, x, embedding, prompt)
            skips.append(x)
        x = _conv(level["shrink"], x, stride=2) if "shrink" in level else x
    x = _stage(params["middle"], x, embedding, prompt)
    for level in params["up"]:
        for stage in level["stages"]:
            x = _stage(stage, jnp.concatenate([x, skips.pop()], axis=-1), embedding, prompt)
        x = _conv(level["grow"], _double(x)) if "grow" in level else x
    return _conv(params["head"], jax.nn.silu(_group_norm(params["norm"], x)))


def _program(config: Config, batch: int, train: bool) -> Program:
    """One denoising pass, or one Adam step that fits the noise."""
    params = _unet_shapes(config)
    latents = weight(batch, LATENT_SIDE, LATENT_SIDE, LATENT_CHANNELS)
    data = (latents, vector(batch)) + ((weight(batch, *config.prompt),) if config.prompt else ())
    if not train:
        return Program(_unet, (params, *data))

    def loss_fn(params: PyTree, noise: Array, *data: Array) -> Array:
        error = _unet(params, *data).astype(jnp.float32) - noise
        return jnp.mean(jnp.square(error))

    return adam_program(loss_fn, params, (latents, *data))


@workload("unet", "Diffusion U-Net over 64 x 64 latents, three levels, attention in two")
def unet(batch: int, train: bool) -> Program:
    """A U-Net that denoises without a prompt."""
    return _program(SMALL, batch, train)


@workload("unetfull", "Diffusion U-Net of Stable Diffusion's sizes: four levels, attends to a text")
def unet_full(batch: int, train: bool) -> Program:
    """Channels 320 to 1,280, and a prompt of 77 words."""
    return _program(FULL, batch, train)

"""Random networks, for training only: layers of many kinds in random order, depth and size.

`random_workload(seed)` is the same network for the same seed, with this version of the module. A
network works on tokens `[B, T, D]` or on images `[B, S, S, C]`; sizes are drawn so that some tens
of activations do not fit into a fast memory of 128 MiB together while most fit alone. None of them
is a network of the zoo, and none looks up tables or keeps a cache: the families that training never
sees are not approached.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from engine.compiler.models.base import Program, PyTree, Workload
from engine.compiler.models.layers import (
    Array,
    attention,
    attention_shapes,
    causal_mask,
    dense,
    dense_shapes,
    indices,
    layer_norm,
    mlp,
    mlp_shapes,
    norm_shapes,
    rms_norm,
    tensor,
    vector,
    weight,
)
from engine.compiler.models.training import LossFn, adam_program, cross_entropy, sgd_program

CLASSES = 256
ACTIVATION_MIB = (1, 48)
"""Least and most MiB of one activation, drawn log-uniformly."""
TRAIN_SHARE = 0.45

Apply = Callable[[PyTree, Array], Any]
"""From parameters and an activation to an activation of the same shape."""


@dataclass(frozen=True)
class Layer:
    """A layer that keeps the shape of its activation: its parameters' shapes, and its function."""

    name: str
    shapes: PyTree
    apply: Apply


LayerMaker = Callable[[np.random.Generator, tuple[int, ...]], Layer]
"""From a random generator and the activation's shape to a layer."""


def random_workload(seed: int) -> Workload:
    """The network number `seed`: inference, or a training step."""
    rng = np.random.default_rng([20_261_128, seed])
    is_image = bool(rng.random() < 0.35)
    shape = _image_shape(rng) if is_image else _token_shape(rng)
    makers = IMAGE_LAYERS if is_image else TOKEN_LAYERS
    layers = [_random_layer(rng, shape, makers) for _ in range(int(rng.integers(2, 7)))]
    is_residual = bool(rng.random() < 0.7)
    skips = _skips(rng, len(layers))
    params = {"layers": [layer.shapes for layer in layers], "out": dense_shapes(shape[-1], CLASSES)}

    def network(params: PyTree, x: Array) -> Array:
        outputs: list[Array] = []
        for layer, own, skip in zip(layers, params["layers"], skips, strict=True):
            changed = layer.apply(own, x)
            x = x + changed if is_residual else changed
            if skip is not None:
                x = x + outputs[skip]
            outputs.append(x)
        return dense(params["out"], jnp.mean(x, axis=1) if is_image or len(x) > 1 else x)

    name = f"random-{seed:04d}"
    words = ", ".join(layer.name for layer in layers)
    data = weight(*shape)
    if rng.random() >= TRAIN_SHARE:
        text = f"Random network on {list(shape)}: {words}"
        return Workload(name, text, network, (params, data))

    def loss_fn(params: PyTree, x: Array, labels: Array) -> Array:
        return cross_entropy(network(params, x), labels)

    labels = indices(*jax.eval_shape(network, params, data).shape[:-1])
    step = _optimiser(rng)(loss_fn, params, (data, labels))
    text = f"Training step of a random network on {list(shape)}: {words}"
    return Workload(name, text, step.fn, step.args, step.donate_argnums)


def _optimiser(rng: np.random.Generator) -> Callable[[LossFn, PyTree, tuple[PyTree, ...]], Program]:
    return adam_program if rng.random() < 0.5 else sgd_program


def _skips(rng: np.random.Generator, count: int) -> list[int | None]:
    """For each layer, an earlier one whose output is added to its own, or None."""
    chosen: list[int | None] = []
    for number in range(count):
        is_one = number > 1 and rng.random() < 0.35
        chosen.append(int(rng.integers(0, number - 1)) if is_one else None)
    return chosen


def _elements(rng: np.random.Generator) -> float:
    """bfloat16 elements of one activation."""
    low, high = ACTIVATION_MIB
    return float(math.exp(rng.uniform(math.log(low), math.log(high))) * 2**20 / 2)


def _token_shape(rng: np.random.Generator) -> tuple[int, int, int]:
    width = int(rng.choice([256, 384, 512, 768, 1024, 1536, 2048]))
    length = int(rng.choice([32, 64, 128, 196, 256, 512, 1024]))
    batch = max(1, round(_elements(rng) / (width * length)))
    return batch, length, width


def _image_shape(rng: np.random.Generator) -> tuple[int, int, int, int]:
    channels = int(rng.choice([32, 64, 96, 128, 256]))
    side = int(rng.choice([14, 28, 32, 56, 64]))
    batch = max(1, round(_elements(rng) / (channels * side * side)))
    return batch, side, side, channels


def _random_layer(
    rng: np.random.Generator, shape: tuple[int, ...], makers: tuple[LayerMaker, ...]
) -> Layer:
    """A layer, alone or inside a loop or a branch."""
    layer = makers[int(rng.integers(len(makers)))](rng, shape)
    kind = rng.random()
    if kind < 0.12:
        return _stacked(layer, int(rng.integers(2, 9)))
    if kind < 0.18:
        return _repeated(layer, int(rng.integers(2, 7)))
    if kind < 0.24:
        return _branched(layer, makers[int(rng.integers(len(makers)))](rng, shape))
    return layer


def _stacked(layer: Layer, depth: int) -> Layer:
    """A scan over `depth` copies of the layer, each with weights of its own."""
    shapes = jax.tree.map(lambda s: tensor((depth, *s.shape), s.dtype), layer.shapes)

    def apply(params: PyTree, x: Array) -> Any:
        return lax.scan(lambda x, own: (x + layer.apply(own, x), None), x, params)[0]

    return Layer(f"{depth} scanned ({layer.name})", shapes, apply)


def _repeated(layer: Layer, times: int) -> Layer:
    """The same layer `times` over, in a loop that gradients can pass."""

    def apply(params: PyTree, x: Array) -> Any:
        return lax.scan(lambda x, _: (x + layer.apply(params, x), None), x, None, length=times)[0]

    return Layer(f"{times} times ({layer.name})", layer.shapes, apply)


def _branched(first: Layer, second: Layer) -> Layer:
    """One of two layers, by the sign of the activation's first element."""

    def apply(params: PyTree, x: Array) -> Any:
        return lax.cond(
            x.ravel()[0] > 0,
            lambda x: first.apply(params[0], x),
            lambda x: second.apply(params[1], x),
            x,
        )

    return Layer(f"either ({first.name}) or ({second.name})", (first.shapes, second.shapes), apply)


def _heads(width: int) -> int:
    return width // 64


def _attention(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    _, length, width = shape
    is_causal = bool(rng.random() < 0.5)

    def apply(params: PyTree, x: Array) -> Any:
        normed = layer_norm(params["norm"], x)
        mask = causal_mask(length) if is_causal else None
        return attention(params["attention"], normed, normed, _heads(width), mask)

    shapes = {"norm": norm_shapes(width), "attention": attention_shapes(width)}
    return Layer("causal attention" if is_causal else "attention", shapes, apply)


def _mlp(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    width = shape[-1]
    hidden = width * int(rng.integers(1, 5))

    def apply(params: PyTree, x: Array) -> Any:
        return mlp(params["mlp"], layer_norm(params["norm"], x))

    return Layer("mlp", {"norm": norm_shapes(width), "mlp": mlp_shapes(width, hidden)}, apply)


def _gated(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    width = shape[-1]
    hidden = width * int(rng.integers(1, 4))

    def apply(params: PyTree, x: Array) -> Any:
        normed = rms_norm(params["scale"], x)
        return (jax.nn.silu(normed @ params["gate"]) * (normed @ params["up"])) @ params["down"]

    shapes = {
        "scale": vector(width),
        "gate": weight(width, hidden),
        "up": weight(width, hidden),
        "down": weight(hidden, width),
    }
    return Layer("gated mlp", shapes, apply)


def _token_mixing(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    _, length, width = shape
    hidden = length * int(rng.integers(1, 4))

    def apply(params: PyTree, x: Array) -> Any:
        turned = layer_norm(params["norm"], x).swapaxes(1, 2)
        return mlp(params["mlp"], turned).swapaxes(1, 2)

    return Layer(
        "token mixing", {"norm": norm_shapes(width), "mlp": mlp_shapes(length, hidden)}, apply
    )


def _short_convolution(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    width, taps = shape[-1], int(rng.integers(2, 8))

    def apply(params: PyTree, x: Array) -> Any:
        mixed = sum(
            jnp.pad(x, ((0, 0), (tap, 0), (0, 0)))[:, : x.shape[1]] * params["taps"][tap]
            for tap in range(taps)
        )
        return jax.nn.silu(mixed) @ params["out"]

    return Layer(
        "short convolution", {"taps": weight(taps, width), "out": weight(width, width)}, apply
    )


def _recurrence(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    """A gated recurrence over chunks of the sequence."""
    batch, length, width = shape
    steps = next(s for s in (8, 4, 2, 1) if length % s == 0)

    def apply(params: PyTree, x: Array) -> Any:
        chunks = x.reshape(batch, steps, length // steps, width).swapaxes(0, 1)

        def step(state: Array, chunk: Array) -> tuple[Array, Array]:
            gate = jax.nn.sigmoid(chunk @ params["gate"])
            state = gate * state + (1 - gate) * jnp.tanh(chunk @ params["value"])
            return state, state

        _, outputs = lax.scan(step, jnp.zeros_like(chunks[0]), chunks)
        return outputs.swapaxes(0, 1).reshape(x.shape)

    return Layer("recurrence", {"gate": weight(width, width), "value": weight(width, width)}, apply)


def _experts(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    """A mixture of experts that all compute, weighted by a router."""
    width, count = shape[-1], int(rng.integers(2, 5))

    def apply(params: PyTree, x: Array) -> Any:
        weights = jax.nn.softmax((x @ params["router"]).astype(jnp.float32)).astype(x.dtype)
        hidden = jax.nn.gelu(jnp.einsum("btd,edh->ebth", x, params["up"]))
        return jnp.einsum("ebth,ehd,bte->btd", hidden, params["down"], weights)

    shapes = {
        "router": weight(width, count),
        "up": weight(count, width, width),
        "down": weight(count, width, width),
    }
    return Layer(f"{count} experts", shapes, apply)


def _sorted_pooling(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    """Tokens gathered in the order of a score, mixed, and added to their mean."""
    del rng
    width = shape[-1]

    def apply(params: PyTree, x: Array) -> Any:
        order = jnp.argsort((x @ params["score"])[..., 0], axis=1)
        gathered = jnp.take_along_axis(x, order[..., None], axis=1)
        return jax.nn.gelu(gathered @ params["mix"]) + jnp.mean(x, axis=1, keepdims=True)

    return Layer("sorted pooling", {"score": weight(width, 1), "mix": weight(width, width)}, apply)


def _convolution(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    channels = shape[-1]
    kernel = int(rng.choice([1, 3, 5]))
    groups = channels if rng.random() < 0.35 else 1

    def apply(params: PyTree, x: Array) -> Any:
        return jax.nn.relu(_convolve(x, params["kernel"], groups) + params["bias"].astype(x.dtype))

    shapes = {
        "kernel": weight(kernel, kernel, channels // groups, channels),
        "bias": vector(channels),
    }
    kind = "depthwise convolution" if groups > 1 else "convolution"
    return Layer(f"{kernel}x{kernel} {kind}", shapes, apply)


def _bottleneck(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    channels = shape[-1]
    inner = max(8, int(channels * rng.choice([0.25, 0.5, 2, 4])))

    def apply(params: PyTree, x: Array) -> Any:
        x = jax.nn.relu(_convolve(x, params["reduce"]))
        x = jax.nn.relu(_convolve(x, params["mix"]))
        return _convolve(x, params["expand"])

    shapes = {
        "reduce": weight(1, 1, channels, inner),
        "mix": weight(3, 3, inner, inner),
        "expand": weight(1, 1, inner, channels),
    }
    return Layer("bottleneck", shapes, apply)


def _squeeze(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    channels = shape[-1]
    inner = max(8, channels // int(rng.choice([2, 4, 8])))

    def apply(params: PyTree, x: Array) -> Any:
        scale = dense(params["up"], jax.nn.relu(dense(params["down"], jnp.mean(x, axis=(1, 2)))))
        return x * jax.nn.sigmoid(scale)[:, None, None]

    shapes = {"down": dense_shapes(channels, inner), "up": dense_shapes(inner, channels)}
    return Layer("squeeze and excitation", shapes, apply)


def _pyramid(rng: np.random.Generator, shape: tuple[int, ...]) -> Layer:
    """Half the side, a convolution, and back by repetition."""
    del rng
    channels = shape[-1]

    def apply(params: PyTree, x: Array) -> Any:
        small = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        small = jax.nn.relu(_convolve(small, params["kernel"]))
        large = jnp.repeat(jnp.repeat(small, 2, axis=1), 2, axis=2)
        return large[:, : x.shape[1], : x.shape[2]]

    return Layer("pyramid", {"kernel": weight(3, 3, channels, channels)}, apply)


def _convolve(x: Array, kernel: Array, groups: int = 1) -> Array:
    out: Array = lax.conv_general_dilated(
        x,
        kernel,
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )
    return out


TOKEN_LAYERS: tuple[LayerMaker, ...] = (
    _attention,
    _attention,
    _mlp,
    _mlp,
    _gated,
    _token_mixing,
    _short_convolution,
    _recurrence,
    _experts,
    _sorted_pooling,
)
IMAGE_LAYERS: tuple[LayerMaker, ...] = (
    _convolution,
    _convolution,
    _bottleneck,
    _squeeze,
    _pyramid,
    _mlp,
)

"""Loops of unknown length and branches: what runs how often is decided while the program runs.

Letters: B batch, T tokens, D model width, N unknowns, R right-hand sides, K drafted tokens.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, UnsupportedModeError, workload
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
    rms_norm,
    tensor,
    vector,
    weight,
)
from engine.compiler.models.training import cross_entropy, sgd_update

WIDTH, HIDDEN, HEADS, LENGTH = 768, 3072, 12, 256
CLASSES = 1024
END, MOST_TOKENS = 2, 64
TOLERANCE = 1e-3


def _block_shapes() -> PyTree:
    return {
        "attention_norm": norm_shapes(WIDTH),
        "attention": attention_shapes(WIDTH),
        "mlp_norm": norm_shapes(WIDTH),
        "mlp": mlp_shapes(WIDTH, HIDDEN),
    }


def _block(params: PyTree, x: Array) -> Array:
    """Self-attention and MLP over `x` `[B, T, D]`, norms before each."""
    normed = layer_norm(params["attention_norm"], x)
    x = x + attention(params["attention"], normed, normed, HEADS)
    return x + mlp(params["mlp"], layer_norm(params["mlp_norm"], x))


def _only_inference(name: str, train: bool) -> None:
    if train:
        raise UnsupportedModeError(f"{name} is for inference only")


@workload("equilibrium", "Deep equilibrium model: one transformer block until it changes nothing")
def equilibrium(batch: int, train: bool) -> Program:
    """One loop of unknown length, which carries the whole state `[B, T, D]`."""
    _only_inference("equilibrium", train)

    def fixed_point(params: PyTree, x: Array) -> Array:
        def goes_on(carry: tuple[Array, Array, Array]) -> Array:
            _, change, step = carry
            return (change > TOLERANCE) & (step < MOST_TOKENS)

        def again(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            z, _, step = carry
            new = layer_norm(params["norm"], _block(params["block"], z) + x)
            difference = (new - z).astype(jnp.float32)
            return new, jnp.sqrt(jnp.mean(jnp.square(difference))), step + 1

        z, _, _ = jax.lax.while_loop(goes_on, again, (x, jnp.float32(1.0), jnp.int32(0)))
        return dense(params["classifier"], jnp.mean(z, axis=1))

    params = {
        "block": _block_shapes(),
        "norm": norm_shapes(WIDTH),
        "classifier": dense_shapes(WIDTH, CLASSES),
    }
    return Program(fixed_point, (params, weight(batch, LENGTH, WIDTH)))


@workload("conjugate", "Conjugate gradients for ridge regression on 4,096 features")
def conjugate(batch: int, train: bool) -> Program:
    """`batch` right-hand sides at once, solved until the largest residual is small."""
    _only_inference("conjugate", train)
    unknowns = 4096

    def solve(data: Array, wanted: Array, damping: Array) -> Array:
        def normal(x: Array) -> Array:
            seen = (data @ x.astype(data.dtype)).astype(data.dtype)
            return (data.T @ seen).astype(jnp.float32) + damping * x

        def goes_on(carry: Any) -> Array:
            _, _, _, square = carry
            return jnp.max(square) > TOLERANCE

        def again(carry: Any) -> Any:
            x, rest, way, square = carry
            image = normal(way)
            step = square / jnp.sum(way * image, axis=0)
            x, rest = x + step * way, rest - step * image
            new = jnp.sum(jnp.square(rest), axis=0)
            return x, rest, rest + new / square * way, new

        right = (data.T @ wanted.astype(data.dtype)).astype(jnp.float32)
        start = (jnp.zeros_like(right), right, right, jnp.sum(jnp.square(right), axis=0))
        solution: Array = jax.lax.while_loop(goes_on, again, start)[0]
        return solution

    wanted = tensor((2 * unknowns, batch), jnp.float32)
    return Program(solve, (weight(2 * unknowns, unknowns), wanted, tensor((), jnp.float32)))


def _gated(params: PyTree, x: Array) -> Any:
    """Gated MLP with a norm before it."""
    normed = rms_norm(params["norm"], x)
    hidden: Array = jax.nn.silu(normed @ params["gate"]) * (normed @ params["up"])
    return x + hidden @ params["down"]


def _gated_shapes(width: int, hidden: int) -> PyTree:
    return {
        "norm": vector(width),
        "gate": weight(width, hidden),
        "up": weight(width, hidden),
        "down": weight(hidden, width),
    }


@workload("speculative", "Speculative decoding: a small model drafts 4 tokens, a larger one judges")
def speculative(batch: int, train: bool) -> Program:
    """A loop of unknown length around two of known length; both models are gated recurrences.

    A draft counts as far as the larger model would have said the same.
    """
    _only_inference("speculative", train)
    drafted, vocabulary = 4, 8192

    def step(params: PyTree, state: Array, token: Array) -> tuple[Array, Array]:
        x = state + params["tokens"][token]
        for layer in params["layers"]:
            x = _gated(layer, x)
        return x, x @ params["tokens"].T

    def decode(small: PyTree, large: PyTree, states: tuple[Array, Array], token: Array) -> Array:
        def goes_on(carry: Any) -> Any:
            _, _, token, written, _ = carry
            return (written < MOST_TOKENS) & ~jnp.all(token == END)

        def again(carry: Any) -> Any:
            low, high, token, written, text = carry

            def draft(inner: Any, _: None) -> Any:
                state, before = inner
                state, logits = step(small, state, before)
                new = jnp.argmax(logits, axis=-1).astype(token.dtype)
                return (state, new), new

            (low, _), guess = jax.lax.scan(draft, (low, token), length=drafted)

            def judge(state: Array, before: Array) -> tuple[Array, tuple[Array, Array]]:
                state, logits = step(large, state, before)
                return state, (state, jnp.argmax(logits, axis=-1).astype(token.dtype))

            given = jnp.concatenate([token[None], guess[:-1]])
            _, (states, wanted) = jax.lax.scan(judge, high, given)
            agreed = jnp.cumprod(wanted == guess, axis=0)
            taken = jnp.maximum(1, jnp.min(jnp.sum(agreed, axis=0)))
            high = jax.lax.dynamic_index_in_dim(states, taken - 1, keepdims=False)
            text = jax.lax.dynamic_update_slice(text, guess, (written, 0))
            return low, high, wanted[taken - 1], written + taken, text

        text = jnp.zeros((MOST_TOKENS + drafted, batch), jnp.int32)
        return jax.lax.while_loop(goes_on, again, (*states, token, jnp.int32(0), text))[4]

    def model(width: int, layers: int) -> PyTree:
        shapes = [_gated_shapes(width, 4 * width) for _ in range(layers)]
        return {"tokens": weight(vocabulary, width), "layers": shapes}

    states = (weight(batch, 512), weight(batch, 1024))
    return Program(decode, (model(512, 1), model(1024, 2), states, indices(batch)))


@workload("earlyexit", "Encoder that leaves out later layers where the first ones are sure enough")
def early_exit(batch: int, train: bool) -> Program:
    """After each layer a head classifies; a `cond` around the next one asks how sure it is."""
    _only_inference("earlyexit", train)
    layers = 2

    def classify(params: PyTree, x: Array) -> Array:
        x = _block(params["layers"][0], x)
        logits = dense(params["heads"][0], jnp.mean(x, axis=1))
        for layer, head in zip(params["layers"][1:], params["heads"][1:], strict=True):
            sure = jnp.min(jnp.max(jax.nn.softmax(logits.astype(jnp.float32)), axis=-1))

            def deeper(x: Array, layer: PyTree = layer, head: PyTree = head) -> Any:
                x = _block(layer, x)
                return x, dense(head, jnp.mean(x, axis=1))

            def enough(x: Array, logits: Array = logits) -> Any:
                return x, logits

            x, logits = jax.lax.cond(sure < 0.9, deeper, enough, x)
        return logits

    params = {
        "layers": [_block_shapes() for _ in range(layers)],
        "heads": [dense_shapes(WIDTH, CLASSES) for _ in range(layers)],
    }
    return Program(classify, (params, weight(batch, LENGTH, WIDTH)))


@workload("modalities", "A trunk behind one of three encoders, by what the input is (a switch)")
def modalities(batch: int, train: bool) -> Program:
    """Text, image and sound have branches of their own size; a shared block comes after."""
    _only_inference("modalities", train)

    def encode(params: PyTree, x: Array, kind: Array) -> Array:
        def text(x: Array) -> Array:
            return _block(params["text"], x)

        def image(x: Array) -> Array:
            turned = jax.nn.gelu(jnp.einsum("btd,ts->bsd", x, params["image"]["mix"]))
            return mlp(params["image"]["mlp"], turned) + x

        def sound(x: Array) -> Any:
            return _gated(params["sound"], x)

        x = jax.lax.switch(kind, (text, image, sound), x)
        x = _block(params["trunk"], x)
        return dense(params["classifier"], jnp.mean(x, axis=1))

    params = {
        "text": _block_shapes(),
        "image": {"mix": weight(LENGTH, LENGTH), "mlp": mlp_shapes(WIDTH, HIDDEN)},
        "sound": _gated_shapes(WIDTH, HIDDEN),
        "trunk": _block_shapes(),
        "classifier": dense_shapes(WIDTH, CLASSES),
    }
    return Program(encode, (params, weight(batch, LENGTH, WIDTH), indices()))


@workload("lossscale", "Residual MLP with a dynamic loss scale: a step with overflow is left out")
def loss_scale(batch: int, train: bool) -> Program:
    """A `cond` around the update, as mixed precision has it; its branches carry all parameters."""
    if not train:
        raise UnsupportedModeError("lossscale is a training step only")
    layers, width = 2, 1024

    def loss_fn(params: PyTree, x: Array, labels: Array) -> Array:
        for layer in params["layers"]:
            x = _gated(layer, x)
        return cross_entropy(dense(params["classifier"], x), labels)

    def step(params: PyTree, velocity: PyTree, scale: Array, x: Array, labels: Array) -> Any:
        def scaled(params: PyTree) -> Array:
            return loss_fn(params, x, labels) * scale

        loss, grads = jax.value_and_grad(scaled)(params)
        grads = jax.tree.map(lambda g: (g / scale).astype(g.dtype), grads)
        sums = [jnp.sum(jnp.abs(g.astype(jnp.float32))) for g in jax.tree.leaves(grads)]
        is_finite = jnp.isfinite(sum(sums, jnp.float32(0.0)))

        def update(state: tuple[PyTree, PyTree]) -> tuple[PyTree, PyTree]:
            return sgd_update(*state, grads)

        def leave(state: tuple[PyTree, PyTree]) -> tuple[PyTree, PyTree]:
            return state

        params, velocity = jax.lax.cond(is_finite, update, leave, (params, velocity))
        scale = jnp.where(is_finite, scale * 1.0005, scale * 0.5)
        return params, velocity, scale, loss / scale

    params = {
        "layers": [_gated_shapes(width, 4 * width) for _ in range(layers)],
        "classifier": dense_shapes(width, CLASSES),
    }
    data = (weight(batch, width), indices(batch))
    args = (params, params, tensor((), jnp.float32), *data)
    return Program(step, args, donate_argnums=(0, 1, 2))

"""The AlphaTensor network: torso of attentive modes, autoregressive policy, value by quantiles.

Written from the description in the paper (Fawzi et al. 2022, supplement A) and of its
re-implementations. It plays at writing a tensor as a sum of few rank-one terms: the state is the
tensor that is left, with the last actions; an action is one term, spelt as a word of tokens.
Letters: B batch, S side of the tensor, T tensors in the state, C torso width, D policy width,
N tokens of an action, Q quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, workload
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
    vector,
    weight,
)
from engine.compiler.models.training import adam_program, cross_entropy


@dataclass(frozen=True)
class Config:
    """Sizes of the network; S = 16 is the product of two 4 x 4 matrices."""

    side: int = 16
    history: int = 7
    width: int = 512
    torso_layers: int = 3
    torso_heads: int = 16
    policy_layers: int = 2
    policy_heads: int = 32
    policy_width: int = 2048
    action_length: int = 16
    action_vocabulary: int = 125
    value_width: int = 512
    value_layers: int = 3
    quantiles: int = 8

    @property
    def tensors(self) -> int:
        """T: the current tensor and the past actions as rank-one tensors."""
        return self.history + 1


CONFIG = Config()
PUBLISHED = replace(CONFIG, torso_layers=8)
"""As published; the smaller one has three of its eight layers of attentive modes."""

# The three grids are the tensor seen along each pair of its modes; each pair of grids that shares
# a mode attends along it.
GRID_PAIRS = ((0, 1), (2, 0), (1, 2))


def _attention_block_shapes(width: int) -> PyTree:
    return {
        "norm": norm_shapes(width),
        "attention": attention_shapes(width),
        "mlp_norm": norm_shapes(width),
        "mlp": mlp_shapes(width, 4 * width),
    }


def _policy_layer_shapes(config: Config) -> PyTree:
    width = config.policy_width
    return {
        "self_norm": norm_shapes(width),
        "self": attention_shapes(width),
        "cross_norm": norm_shapes(width),
        "cross": attention_shapes(width),
        "mlp_norm": norm_shapes(width),
        "mlp": mlp_shapes(width, 4 * width),
    }


def _network_shapes(config: Config) -> PyTree:
    """Parameters of the whole network."""
    plane = config.side * config.side
    value_widths = [config.policy_width] + [config.value_width] * config.value_layers
    steps = zip(value_widths, [*value_widths[1:], config.quantiles], strict=True)
    return {
        "scalars": [dense_shapes(1, plane) for _ in range(3)],
        "grids": [dense_shapes(config.side * config.tensors + 1, config.width) for _ in range(3)],
        "torso": [
            [_attention_block_shapes(config.width) for _ in GRID_PAIRS]
            for _ in range(config.torso_layers)
        ],
        "memory": dense_shapes(config.width, config.policy_width),
        "tokens": weight(config.action_vocabulary + 1, config.policy_width),
        "positions": weight(config.action_length, config.policy_width),
        "policy": [_policy_layer_shapes(config) for _ in range(config.policy_layers)],
        "policy_norm": norm_shapes(config.policy_width),
        "logits": dense_shapes(config.policy_width, config.action_vocabulary),
        "value": [dense_shapes(i, o) for i, o in steps],
    }


def _initial_grids(params: PyTree, state: Array, scalar: Array) -> list[Array]:
    """Three grids `[B, S, S, C]` from the state `[B, T, S, S, S]` and a scalar `[B, 1]`."""
    batch, _, side = state.shape[:3]
    grids = []
    for mode in range(3):
        turned = jnp.moveaxis(state, 2 + mode, 4)  # the mode that is not a side of this grid
        channels = turned.transpose(0, 2, 3, 4, 1).reshape(batch, side, side, -1)
        plane = dense(params["scalars"][mode], scalar).reshape(batch, side, side, 1)
        joined = jnp.concatenate([channels, plane], axis=-1)
        grids.append(dense(params["grids"][mode], joined))
    return grids


def _attentive_modes(layer: list[PyTree], grids: list[Array], heads: int) -> list[Array]:
    """For each pair of grids, attend along the rows of the two laid side by side.

    A row is `[2S, C]`: one line of the first grid and the line of the second that shares its mode.
    """
    grids = list(grids)
    for params, (first, second) in zip(layer, GRID_PAIRS, strict=True):
        batch, side, _, width = grids[first].shape
        turned = grids[second].transpose(0, 2, 1, 3)
        rows = jnp.concatenate([grids[first], turned], axis=2).reshape(-1, 2 * side, width)
        normed = layer_norm(params["norm"], rows)
        rows = rows + attention(params["attention"], normed, normed, heads)
        rows = rows + mlp(params["mlp"], layer_norm(params["mlp_norm"], rows))
        left, right = jnp.split(rows.reshape(batch, side, 2 * side, width), 2, axis=2)
        grids[first], grids[second] = left, right.transpose(0, 2, 1, 3)
    return grids


def _torso(params: PyTree, state: Array, scalar: Array, config: Config) -> Array:
    """Features `[B, 3 S S, C]`."""
    grids = _initial_grids(params, state, scalar)
    for layer in params["torso"]:
        grids = _attentive_modes(layer, grids, config.torso_heads)
    flat = [grid.reshape(grid.shape[0], -1, grid.shape[-1]) for grid in grids]
    return jnp.concatenate(flat, axis=1)


def _policy_features(params: PyTree, memory: Array, words: Array, config: Config) -> Array:
    """Features `[B, N, D]` that predict each token of `words` `[B, N]` from those before it."""
    start = jnp.full_like(words[:, :1], config.action_vocabulary)
    shifted = jnp.concatenate([start, words[:, :-1]], axis=1)
    x = params["tokens"][shifted] + params["positions"]
    mask = causal_mask(words.shape[1])
    for layer in params["policy"]:
        normed = layer_norm(layer["self_norm"], x)
        x = x + attention(layer["self"], normed, normed, config.policy_heads, mask)
        normed = layer_norm(layer["cross_norm"], x)
        x = x + attention(layer["cross"], normed, memory, config.policy_heads)
        x = x + mlp(layer["mlp"], layer_norm(layer["mlp_norm"], x))
    return layer_norm(params["policy_norm"], x)


def _value(params: PyTree, features: Array) -> Array:
    """Quantiles `[B, Q]` of the return, from the policy's features of the first token `[B, D]`."""
    x = features
    for layer in params["value"][:-1]:
        x = jax.nn.relu(dense(layer, x))
    return dense(params["value"][-1], x)


def _network(
    params: PyTree, state: Array, scalar: Array, words: Array, config: Config
) -> tuple[Array, Array]:
    """Token logits `[B, N, vocabulary]` of given action words, and value quantiles `[B, Q]`."""
    memory = dense(params["memory"], _torso(params, state, scalar, config))
    features = _policy_features(params, memory, words, config)
    return dense(params["logits"], features), _value(params, features[:, 0])


def _quantile_loss(quantiles: Array, returns: Array) -> Array:
    """Quantile Huber loss of `quantiles` `[B, Q]` against one return `[B]` each."""
    count = quantiles.shape[-1]
    middles = (jnp.arange(count, dtype=jnp.float32) + 0.5) / count
    error = returns[:, None] - quantiles.astype(jnp.float32)
    huber = jnp.where(jnp.abs(error) < 1, 0.5 * error**2, jnp.abs(error) - 0.5)
    return jnp.mean(jnp.abs(middles - (error < 0)) * huber)


def _program(config: Config, batch: int, train: bool) -> Program:
    """Inference scores one candidate action for each state; training fits policy and value."""
    params = _network_shapes(config)
    state = weight(batch, config.tensors, config.side, config.side, config.side)
    words = indices(batch, config.action_length)
    data = (state, weight(batch, 1), words)

    def network(params: PyTree, state: Array, scalar: Array, words: Array) -> tuple[Array, Array]:
        return _network(params, state, scalar, words, config)

    if not train:
        return Program(network, (params, *data))

    def loss_fn(params: PyTree, *data: Array) -> Array:
        logits, quantiles = network(params, *data[:3])
        return cross_entropy(logits, data[2]) + _quantile_loss(quantiles, data[3])

    return adam_program(loss_fn, params, (*data, vector(batch)))


@workload("alphatensor", "AlphaTensor network: attentive modes, action decoder, value quantiles")
def alphatensor(batch: int, train: bool) -> Program:
    """Three layers of attentive modes."""
    return _program(CONFIG, batch, train)


@workload("alphatensorfull", "AlphaTensor network at its published size, 8 layers of modes")
def alphatensor_full(batch: int, train: bool) -> Program:
    """All layers of attentive modes."""
    return _program(PUBLISHED, batch, train)

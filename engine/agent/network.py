"""The networks: representation, dynamics, prediction, with categorical values and rewards.

MuZero's transform `h(x) = sign(x) (√(|x| + 1) - 1) + ε x` (arXiv 1911.08265, appendix F, after
Pohlen et al.) makes rare large numbers tame; a transformed scalar is split over its two
neighbouring atoms. Scalars are in points (`engine.game.observation.layout`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from engine.agent.config import NetworkConfig
from engine.game.moves import NUM_ACTIONS
from engine.game.observation import layout

NUM_ATOMS = 41
LIMIT = 10.0
"""Atoms reach from -LIMIT to LIMIT after the transform: scalars within about ±99 points."""
EPSILON = 0.01
WISH_LOGIT = 4.0
"""What the draft's wish adds to the logit of its action: fresh networks play it at 93 %."""


def transform(scalar: Array) -> Array:
    """MuZero's value transform `h`."""
    return jnp.sign(scalar) * (jnp.sqrt(jnp.abs(scalar) + 1.0) - 1.0) + EPSILON * scalar


def inverse(transformed: Array) -> Array:
    """`h⁻¹`, in closed form."""
    size = jnp.abs(transformed)
    root = (jnp.sqrt(1.0 + 4.0 * EPSILON * (size + 1.0 + EPSILON)) - 1.0) / (2.0 * EPSILON)
    return jnp.sign(transformed) * (jnp.square(root) - 1.0)


def to_atoms(scalar: Array) -> Array:
    """Two-hot distribution of a scalar, `[...] -> [..., NUM_ATOMS]`."""
    place = (jnp.clip(transform(scalar), -LIMIT, LIMIT) + LIMIT) * (NUM_ATOMS - 1) / (2 * LIMIT)
    low = jnp.clip(jnp.floor(place), 0, NUM_ATOMS - 2)
    share = (place - low)[..., None]
    atoms = low.astype(jnp.int32)
    here = jax.nn.one_hot(atoms, NUM_ATOMS)
    above = jax.nn.one_hot(atoms + 1, NUM_ATOMS)
    return (1.0 - share) * here + share * above


def from_logits(logits: Array) -> Array:
    """The scalar that a predicted distribution means, `[..., NUM_ATOMS] -> [...]`."""
    atoms = jnp.linspace(-LIMIT, LIMIT, NUM_ATOMS)
    return inverse(jnp.sum(jax.nn.softmax(logits) * atoms, axis=-1))


Params = dict[str, dict[str, Array]]
"""Weights by layer: `w` `[in, out]` and `b` `[out]`."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Prediction:
    """What the networks say of a latent state: policy logits, value in points (and its logits)."""

    policy: Array  # [B, A]
    value: Array  # [B]
    value_logits: Array  # [B, NUM_ATOMS]


@partial(jax.jit, static_argnames="config")
def init_params(key: Array, config: NetworkConfig) -> Params:
    """Fresh weights; the output layers begin near zero, so that nothing is preferred."""
    shapes = _shapes(config)
    params: Params = {}
    for (name, (fan_in, fan_out)), layer_key in zip(
        shapes.items(), jax.random.split(key, len(shapes)), strict=True
    ):
        scale = 0.01 if name.endswith("out") else 1.0
        weights = jax.random.normal(layer_key, (fan_in, fan_out)) * scale / fan_in**0.5
        params[name] = {"w": weights, "b": jnp.zeros(fan_out)}
    return params


def _shapes(config: NetworkConfig) -> dict[str, tuple[int, int]]:
    width, latent = config.width, config.latent
    shapes = {"represent_in": (layout.SIZE, width), "represent_latent": (width, latent)}
    for block in range(config.num_blocks):
        shapes[f"represent_{block}a"] = (width, width)
        shapes[f"represent_{block}b"] = (width, width)
    shapes |= {
        "react_in": (latent + NUM_ACTIONS + layout.NUM_STATIC, width),
        "react_latent": (width, latent),
        "reward_in": (latent + NUM_ACTIONS, width // 2),
        "reward_out": (width // 2, NUM_ATOMS),
        "predict_in": (latent, width),
        "policy_out": (width, NUM_ACTIONS),
        "value_out": (width, NUM_ATOMS),
    }
    return shapes


def _linear(params: Params, name: str, x: Array) -> Array:
    layer = params[name]
    return x @ layer["w"] + layer["b"]


def _norm(x: Array) -> Array:
    """Layer normalisation without weights."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred), axis=-1, keepdims=True) + 1e-5)


def represent(params: Params, outlook: Array, view: Array) -> Array:
    """The two parts of the observations to latent `[B, D]`.

    `view` is `[B, NUM_VIEW]`; `outlook` is `[B, NUM_OUTLOOK]`, or `[NUM_OUTLOOK]` where all
    positions are before the same move (the larger half of the first layer is then computed once).
    """
    first = params["represent_in"]
    known = outlook @ first["w"][: layout.NUM_OUTLOOK] + first["b"]
    x = jax.nn.relu(known + view @ first["w"][layout.NUM_OUTLOOK :])
    block = 0
    while f"represent_{block}a" in params:
        inner = jax.nn.relu(_linear(params, f"represent_{block}a", _norm(x)))
        x = x + _linear(params, f"represent_{block}b", inner)
        block += 1
    return _norm(_linear(params, "represent_latent", jax.nn.relu(_norm(x))))


def predict(params: Params, latent: Array, wish: Array) -> Prediction:
    """Policy and value of latent states `[B, D]`.

    `wish` `[B, A]`: 1 at the action that the draft wants, if there is one. The networks add to its
    logit (residual policy learning, arXiv 1812.06298), so that fresh ones play as the draft wants.
    """
    x = jax.nn.relu(_linear(params, "predict_in", latent))
    logits = _linear(params, "value_out", x)
    policy = _linear(params, "policy_out", x) + WISH_LOGIT * wish
    return Prediction(policy, from_logits(logits), logits)


def is_drafts_own(params: Params) -> bool:
    """Whether the policy is the draft's alone, since the networks add nothing to it.

    Who plays with such weights and grows no tree need not look at the memory.
    """
    return not any(np.any(part) for part in params["policy_out"].values())


def dynamics_bias(params: Params, following: Array) -> Array:
    """The bias of the dynamics' first layer, `[..., H]`, by the next move's features `[..., F]`.

    It does not depend on the latent state, so a search works it out once for every move ahead, not
    for every node. `H`: width of that layer; `F`: static features (`engine.game.observation`).
    """
    first = params["react_in"]
    return following @ first["w"][-following.shape[-1] :] + first["b"]


def react(params: Params, latent: Array, action: Array, bias: Array) -> tuple[Array, Array]:
    """The latent state after `action` `[B]`, and the logits of the reward `[B, NUM_ATOMS]`.

    `bias`: `dynamics_bias` of the next move, `[B, H]`.
    """
    known = jnp.concatenate([latent, jax.nn.one_hot(action, NUM_ACTIONS)], axis=-1)
    x = jax.nn.relu(known @ params["react_in"]["w"][: known.shape[-1]] + bias)
    reward = jax.nn.relu(_linear(params, "reward_in", known))
    new = _norm(latent + _linear(params, "react_latent", x))
    return new, _linear(params, "reward_out", reward)

"""Categorical scalars: how values and rewards are predicted as distributions over fixed atoms.

MuZero's transform `h(x) = sign(x) (√(|x| + 1) - 1) + ε x` (arXiv 1911.08265, appendix F, after
Pohlen et al.) makes rare large numbers tame; a transformed scalar is split over its two
neighbouring atoms. Scalars are in points (`engine.game.observation.layout`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

NUM_ATOMS = 41
LIMIT = 10.0
"""Atoms reach from -LIMIT to LIMIT after the transform: scalars within about ±99 points."""
EPSILON = 0.01


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

"""Categorical scalars: the transform, its inverse, and the two-hot distributions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.agent import network

SCALARS = st.floats(-95.0, 95.0, width=32)


@given(SCALARS)
def test_the_inverse_undoes_the_transform(scalar: float) -> None:
    back = float(network.inverse(network.transform(jnp.float32(scalar))))
    assert abs(back - scalar) <= 2e-3 + 1e-3 * abs(scalar)


@given(SCALARS)
def test_a_distribution_means_its_scalar(scalar: float) -> None:
    atoms = network.to_atoms(jnp.float32(scalar))
    assert atoms.shape == (network.NUM_ATOMS,)
    assert float(atoms.min()) >= 0.0
    assert abs(float(atoms.sum()) - 1.0) < 1e-5
    logits = jnp.log(jnp.maximum(atoms, 1e-30))
    assert abs(float(network.from_logits(logits)) - scalar) <= 2e-2 + 2e-3 * abs(scalar)


def test_scalars_beyond_the_atoms_are_clipped() -> None:
    far = network.to_atoms(jnp.array([-1e6, 1e6]))
    assert np.allclose(far[0, 0], 1.0)
    assert np.allclose(far[1, -1], 1.0)

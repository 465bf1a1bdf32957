"""Settings that must stand before jax is imported anywhere in a test process."""

import os

# With libtpu installed jax would look for a TPU first, and warn at length that there is none.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

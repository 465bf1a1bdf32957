"""Tune the forward pass of a Keras model on the JAX backend.

    python examples/keras_model.py [COMPILES]

Keras keeps its variables in the model; `stateless_call` makes a function of them, which can be
jitted with the weights as arguments.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # Tuning needs no TPU.

import jax
import jax.numpy as jnp
import keras

from mallocmuzero import tune

BATCH = 64


def main(compiles: int) -> None:
    """Tune, and show what was found."""
    keras.config.set_dtype_policy("bfloat16")
    model = keras.applications.MobileNetV2(weights=None)

    def predict(weights: list[jax.Array], state: list[jax.Array], images: jax.Array) -> Any:
        return model.stateless_call(weights, state, images, training=False)[0]

    def shapes(variables: list[Any]) -> list[Any]:
        return [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in variables]

    jitted = jax.jit(predict)
    args = (
        shapes(model.trainable_variables),
        shapes(model.non_trainable_variables),
        jax.ShapeDtypeStruct((BATCH, 224, 224, 3), jnp.bfloat16),
    )
    tuned = tune(jitted, *args, hardware="tpu-v5e", compiles=compiles, note=print)
    options = dict(tuned.flags.compiler_options)
    print(f"compiled improvement {tuned.verdict.improvement:.2%} with")
    print(json.dumps(options, indent=1))
    # On a machine with that TPU:
    #     compiled = jitted.lower(*args).compile(compiler_options=options)
    #     scores = compiled(model.trainable_variables, model.non_trainable_variables, images)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)

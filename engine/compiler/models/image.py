"""Image classifiers: networks of `keras.applications`, and AlexNet written out in JAX.

Images are bfloat16 `[B, height, width, 3]`; logits are `[B, 1000]`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp

from engine.compiler.models.base import Program, PyTree, workload
from engine.compiler.models.layers import (
    Array,
    Shape,
    dense,
    dense_shapes,
    indices,
    tensor,
    vector,
    weight,
)
from engine.compiler.models.training import cross_entropy, sgd_program, sgd_update
from engine.errors import MissingDependencyError, install_line

NUM_CLASSES = 1000


@dataclass(frozen=True)
class _KerasNet:
    """A network of `keras.applications`: our name, its name there, the image side in pixels."""

    name: str
    application: str
    side: int
    description: str


_KERAS_NETS = (
    _KerasNet("resnet50", "ResNet50", 224, "ResNet-50 image classifier"),
    _KerasNet("resnet101", "ResNet101", 224, "ResNet-101 image classifier"),
    _KerasNet("resnet152", "ResNet152", 224, "ResNet-152 image classifier"),
    _KerasNet("resnet50v2", "ResNet50V2", 224, "ResNet-50 v2, norms before convolutions"),
    _KerasNet("vgg16", "VGG16", 224, "VGG-16 image classifier"),
    _KerasNet("mobilenetv2", "MobileNetV2", 224, "MobileNetV2, inverted residual bottlenecks"),
    _KerasNet("efficientnetb0", "EfficientNetB0", 224, "EfficientNet-B0, squeeze and excitation"),
    _KerasNet("efficientnetb7", "EfficientNetB7", 600, "EfficientNet-B7, images of 600 x 600"),
    _KerasNet("densenet121", "DenseNet121", 224, "DenseNet-121, every layer sees all before it"),
    _KerasNet("inceptionv3", "InceptionV3", 299, "Inception v3, parallel branches"),
    _KerasNet("xception", "Xception", 299, "Xception, depthwise separable convolutions"),
    _KerasNet("nasnetmobile", "NASNetMobile", 224, "NASNet Mobile, a searched cell of branches"),
    _KerasNet("convnexttiny", "ConvNeXtTiny", 224, "ConvNeXt-Tiny, 7x7 depthwise and layer norm"),
)


@contextmanager
def _environment(**given: str) -> Iterator[None]:
    """Variables in the environment until the end of the block; then all is as it was before."""
    before = dict(os.environ)
    os.environ.update(given)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


def _keras_network(net: _KerasNet) -> Any:
    """Build a Keras model that computes in bfloat16, on the JAX backend."""
    # Only when a model is asked for; Keras has no type hints.
    try:
        with _environment(KERAS_BACKEND="jax"):
            keras: Any = import_module("keras")
    except ImportError as error:
        raise MissingDependencyError(
            f"the image networks need keras: {install_line('compiler')}"
        ) from error

    previous = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        application = getattr(keras.applications, net.application)
        return application(
            weights=None,
            input_shape=(net.side, net.side, 3),
            classes=NUM_CLASSES,
            classifier_activation=None,
        )
    finally:
        keras.config.set_dtype_policy(previous)


def _variable_shape(variable: Any) -> Shape:
    """Shape of a Keras variable; matrices and kernels in bfloat16, the rest as Keras has it."""
    shape = tuple(variable.shape)
    is_matrix = len(shape) >= 2 and "float" in str(variable.dtype)
    return tensor(shape, jnp.bfloat16 if is_matrix else variable.dtype)


def _keras_program(net: _KerasNet, batch: int, train: bool) -> Program:
    """Inference or one training step of a Keras network."""
    model = _keras_network(net)
    params = [_variable_shape(v) for v in model.trainable_variables]
    state = [_variable_shape(v) for v in model.non_trainable_variables]
    images = weight(batch, net.side, net.side, 3)

    def infer(params: PyTree, state: PyTree, images: Array) -> Any:
        return model.stateless_call(params, state, images, training=False)[0]

    def loss_fn(params: PyTree, state: PyTree, images: Array, labels: Array) -> tuple[Array, Any]:
        logits, state = model.stateless_call(params, state, images, training=True)
        return cross_entropy(logits, labels), state

    def step(params: PyTree, velocity: PyTree, state: PyTree, *data: Array) -> tuple[Any, ...]:
        grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
        (loss, state), grads = grad_fn(params, state, *data)
        return (*sgd_update(params, velocity, grads), state, loss)

    if not train:
        return Program(infer, (params, state, images))
    # The moving statistics are state as well: given back, and written over the old ones.
    args = (params, params, state, images, indices(batch))
    return Program(step, args, donate_argnums=(0, 1, 2))


for _net in _KERAS_NETS:
    workload(_net.name, _net.description)(partial(_keras_program, _net))


# AlexNet (Krizhevsky, Sutskever, Hinton 2012), the two halves of the original joined into one.
# Each row: kernel side, channels out, stride, whether response norm and max pooling follow.
_ALEXNET_CONVS = (
    (11, 96, 4, True, True),
    (5, 256, 1, True, True),
    (3, 384, 1, False, False),
    (3, 384, 1, False, False),
    (3, 256, 1, False, True),
)
_ALEXNET_SIDE = 227
_ALEXNET_DENSE = (6 * 6 * 256, 4096, 4096, NUM_CLASSES)


def _alexnet_shapes() -> dict[str, list[dict[str, Shape]]]:
    """Parameters of AlexNet."""
    convs = []
    channels_in = 3
    for side, channels, *_ in _ALEXNET_CONVS:
        convs.append(
            {"kernel": weight(side, side, channels_in, channels), "bias": vector(channels)}
        )
        channels_in = channels
    pairs = pairwise(_ALEXNET_DENSE)
    return {"convs": convs, "denses": [dense_shapes(i, o) for i, o in pairs]}


def _response_norm(x: Array) -> Array:
    """Local response normalisation across five neighbouring channels (section 3.3)."""
    squares = jnp.square(x.astype(jnp.float32))
    window = jax.lax.reduce_window(squares, 0.0, jax.lax.add, (1, 1, 1, 5), (1, 1, 1, 1), "SAME")
    return (x * jax.lax.pow(2.0 + 1e-4 * window, -0.75)).astype(x.dtype)


def _max_pool(x: Array) -> Array:
    """Overlapping 3x3 maximum with stride two (section 3.4)."""
    pooled: Array = jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID"
    )
    return pooled


def _alexnet(params: PyTree, images: Array) -> Array:
    """Logits `[B, 1000]` of images `[B, 227, 227, 3]`."""
    x = images
    for layer, (_, _, stride, norms, pools) in zip(params["convs"], _ALEXNET_CONVS, strict=True):
        padding = "VALID" if stride > 1 else "SAME"
        x = jax.lax.conv_general_dilated(
            x, layer["kernel"], (stride, stride), padding,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )  # fmt: skip
        x = jax.nn.relu(x + layer["bias"].astype(x.dtype))
        x = _response_norm(x) if norms else x
        x = _max_pool(x) if pools else x
    x = x.reshape(x.shape[0], -1)
    for layer in params["denses"][:-1]:
        x = jax.nn.relu(dense(layer, x))
    return dense(params["denses"][-1], x)


@workload("alexnet", "AlexNet image classifier")
def alexnet(batch: int, train: bool) -> Program:
    """AlexNet without dropout: its mask is made on the fly and needs no memory of note."""
    params = _alexnet_shapes()
    images = weight(batch, _ALEXNET_SIDE, _ALEXNET_SIDE, 3)
    if not train:
        return Program(_alexnet, (params, images))

    def loss_fn(params: PyTree, images: Array, labels: Array) -> Array:
        return cross_entropy(_alexnet(params, images), labels)

    return sgd_program(loss_fn, params, (images, indices(batch)))

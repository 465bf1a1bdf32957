"""The contract of a workload, and the registry that every family module fills.

A family module decorates one builder per model. A builder takes the batch size and whether to
train, and returns a `Program`; the registry adds the name and the description. Nothing is built
at import: a builder runs when `build` is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.errors import EngineError, UnknownNameError, UsageError

PyTree = Any
"""A nested container of arrays or, here, of `jax.ShapeDtypeStruct`."""


@dataclass(frozen=True)
class Workload:
    """One jittable program and the shapes it is compiled for.

    `args` are pytrees of `jax.ShapeDtypeStruct` without sharding: the capture adds the device.
    Every parameter of the model is among them, so that no weight becomes a constant.
    """

    name: str
    description: str
    fn: Callable[..., Any]
    args: tuple[PyTree, ...]
    donate_argnums: tuple[int, ...] = ()


class Program(NamedTuple):
    """What a builder returns: a `Workload` that has no name yet."""

    fn: Callable[..., Any]
    args: tuple[PyTree, ...]
    donate_argnums: tuple[int, ...] = ()


BuilderFn = Callable[[int, bool], Program]
"""From the batch size, and whether to take a training step, to a program."""


@dataclass(frozen=True)
class _Entry:
    description: str
    builder_fn: BuilderFn


_REGISTRY: dict[str, _Entry] = {}


class UnsupportedModeError(EngineError):
    """A model was asked to train that only does inference, or the reverse."""


def workload(name: str, description: str) -> Callable[[BuilderFn], BuilderFn]:
    """Register the decorated builder under `name`."""

    def register(builder_fn: BuilderFn) -> BuilderFn:
        if name in _REGISTRY:
            raise ValueError(f"two builders are registered as {name!r}; rename one of them")
        _REGISTRY[name] = _Entry(description, builder_fn)
        return builder_fn

    return register


def known_models() -> tuple[str, ...]:
    """Return the registered names in alphabetical order."""
    return tuple(sorted(_REGISTRY))


def build(name: str, batch: int, train: bool) -> Workload:
    """Build the workload `name` for `batch` examples, one training step of it if `train`.

    Raises UnknownNameError for another name, UsageError for a batch that the model cannot have,
    UnsupportedModeError.
    """
    if name not in _REGISTRY:
        known = ", ".join(known_models())
        raise UnknownNameError(f"no model is called {name!r}; the known models are {known}")
    if batch < 1:
        raise UsageError(f"a batch of {batch}; give a positive number of examples")
    entry = _REGISTRY[name]
    program = entry.builder_fn(batch, train)
    return Workload(name, entry.description, program.fn, program.args, program.donate_argnums)

"""Programs as `jax.export` serialises them: their StableHLO, without Python code or weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.compiler import toolchain
from engine.compiler.models import build
from engine.compiler.samples import Sample

_FRAMES = "jax_traceback_in_locations_limit"
"""JAX's setting: how many frames of the Python stack an operation's location has."""


def exported(jitted: Any, *args: Any, **kwargs: Any) -> bytes:
    """A jitted function for arguments of these shapes, exported for the TPU and serialised.

    Without the source files that its operations stand in: a program that is passed on names no
    paths of the machine, and equal models give equal bytes wherever they are exported.
    """
    toolchain.prepare_environment()
    import jax
    from jax import export

    before = getattr(jax.config, _FRAMES)
    jax.config.update(_FRAMES, 0)
    try:
        return _serialized(export.export(jitted, platforms=["tpu"])(*args, **kwargs))
    finally:
        jax.config.update(_FRAMES, before)


def _serialized(program: Any) -> bytes:
    """The bytes of an `Exported`.

    JAX refuses containers that it has no name for, such as an Optax state. How arguments and
    results are nested is nothing to the compiler, so they are listed flat then.
    """
    import jax

    try:
        return bytes(program.serialize())
    except ValueError:
        arguments = tuple(range(program.in_tree.num_leaves))
        results = tuple(range(program.out_tree.num_leaves))
        flat = replace(
            program,
            in_tree=jax.tree.structure((arguments, {})),
            out_tree=jax.tree.structure(results),
        )
        return bytes(flat.serialize())


def sample_source(sample: Sample) -> tuple[bytes, dict[str, Any]]:
    """The serialised StableHLO of a sample, and what there is to know of it."""
    toolchain.prepare_environment()
    import jax

    workload = build(sample.model, sample.batch, sample.train)
    shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), workload.args)
    jitted = jax.jit(workload.fn, donate_argnums=workload.donate_argnums)
    facts = {
        "model": sample.model,
        "description": workload.description,
        "hardware": sample.hardware,
        "batch": sample.batch,
        "train": sample.train,
        "versions": toolchain.versions(),
    }
    return exported(jitted, *shapes), facts

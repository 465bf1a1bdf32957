"""Programs as `jax.export` serialises them: their StableHLO, without Python code or weights."""

from __future__ import annotations

from typing import Any

from engine.compiler import toolchain
from engine.compiler.models import build
from engine.compiler.samples import Sample


def exported(jitted: Any, *args: Any, **kwargs: Any) -> bytes:
    """A jitted function for arguments of these shapes, exported for the TPU and serialised."""
    toolchain.prepare_environment()
    from jax import export

    return bytes(export.export(jitted, platforms=["tpu"])(*args, **kwargs).serialize())


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

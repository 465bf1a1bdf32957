"""Programs as `jax.export` serialises them: their StableHLO, without Python code or arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.errors import UsageError

_FRAMES = "jax_traceback_in_locations_limit"
"""JAX's setting: how many frames of the Python stack an operation's location has."""

_OTHER_BACKEND = "platform for the specified backend"
"""What JAX says of a callback, which it can make for the machine's own backend alone."""


def exported(jitted: Any, *args: Any, **kwargs: Any) -> bytes:
    """A jitted function for arguments of these shapes, exported for the TPU and serialised.

    Without the source files that its operations stand in: a program that is passed on names no
    paths of the machine, and equal models give equal bytes wherever they are exported. Raises
    UsageError for what `jax.jit` did not make, for compiler options of its own, which no export
    holds, and for calls back to Python.
    """
    import jax
    from jax import export

    if not isinstance(jitted, jax.stages.Wrapped):
        raise UsageError(
            f"{jitted!r:.80} is not what jax.jit returns; give jax.jit of a function of arrays"
            " (of an Equinox model, its arrays: eqx.partition)"
        )
    own = ", ".join(_own_options(jitted))
    if own:
        raise UsageError(
            f"jax.jit was given compiler_options ({own:.80}), which an exported program does not"
            " hold; leave them out there, and give them as compiler_options to tune, or with"
            " --compiler-options"
        )
    before = getattr(jax.config, _FRAMES)
    jax.config.update(_FRAMES, 0)
    try:
        return _serialized(export.export(jitted, platforms=["tpu"])(*args, **kwargs))
    except ValueError as error:
        if _OTHER_BACKEND not in str(error):
            raise
        raise UsageError(
            "the function calls back to Python (jax.debug.print or another callback), which cannot"
            " be compiled here for the TPU; leave it out for the export"
        ) from error
    finally:
        jax.config.update(_FRAMES, before)


def _own_options(jitted: Any) -> list[str]:
    """The names of the compiler options given to `jax.jit`.

    JAX tells of them nowhere in public but in an error when the function is traced once more; where
    another version has none of this record, none is found.
    """
    kept = getattr(getattr(jitted, "_jit_info", None), "compiler_options_kvs", ())
    return [str(name) for name, _ in kept]


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


def num_devices(serialised: bytes) -> int:
    """For how many devices a program was exported; 1 for bytes that are no export.

    Reads one number of JAX's table, and nothing that the number could point to.
    """
    from jax._src.export.serialization_generated import Exported

    try:
        return max(1, int(Exported.GetRootAs(serialised).NrDevices()))
    except Exception:  # noqa: BLE001 - bytes of unknown origin lead anywhere
        return 1

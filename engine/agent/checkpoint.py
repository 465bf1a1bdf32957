"""A trained agent as files: `manifest.json` says what it is, `arrays.npz` has its weights.

Nothing is ever unpickled. The manifest names the version of the game's observations, so that
weights never meet inputs that mean something else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from engine.agent import config as settings
from engine.agent.arrays import pack, unpack
from engine.agent.config import AgentConfig
from engine.agent.network import Params, init_params
from engine.errors import CheckpointError, ConfigError
from engine.files import json_of, write_bytes
from engine.folders import locked
from engine.game.observation import layout

KIND = "mallocmuzero-checkpoint"
VERSION = 1
MANIFEST, ARRAYS = "manifest.json", "arrays.npz"
NEXT = "arrays.next.npz"
"""The weights of a save that is under way, or was killed."""
MAX_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Checkpoint:
    """Weights, their settings, and how they came to be (`training`: plain values)."""

    params: Params
    config: AgentConfig
    training: Mapping[str, Any] = field(default_factory=dict)


def save_checkpoint(checkpoint: Checkpoint, folder: Path) -> None:
    """Write both files. If it is killed, the folder holds the earlier checkpoint or this one.

    The manifest names the weights by their hash, so they are written beside the earlier ones before
    it, and over them after it. Of two saves at once the second waits, where the folder above can be
    read. Raises CheckpointError for weights that are not finite, and leaves the earlier ones.
    """
    _refuse_not_finite(checkpoint.params, folder)
    arrays = _packed(checkpoint.params)
    manifest = {
        "kind": KIND,
        "version": VERSION,
        "observation_version": layout.VERSION,
        "observation_size": layout.SIZE,
        "arrays_sha256": hashlib.sha256(arrays).hexdigest(),
        "config": settings.to_json(checkpoint.config),
        "training": dict(checkpoint.training),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        with suppress(OSError):
            # Not the folder itself: one that is temporary is locked for as long as it lives.
            held.enter_context(locked(folder.resolve().parent))
        _finish_earlier(folder)
        write_bytes(folder / NEXT, arrays)
        write_bytes(folder / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
        write_bytes(folder / ARRAYS, arrays)
        (folder / NEXT).unlink(missing_ok=True)


def _refuse_not_finite(params: Params, folder: Path) -> None:
    for layer, parts in params.items():
        for part, array in parts.items():
            if not np.isfinite(array).all():
                raise CheckpointError(
                    f"{folder}: {layer}.{part} is not finite; not saved, and what was there before"
                    " stays: train anew with a smaller learner.learning_rate"
                )


def _finish_earlier(folder: Path) -> None:
    """Put the weights of a save that was killed after its manifest into their place: the next
    save's are written over them.
    """
    if (folder / NEXT).exists():
        with suppress(OSError, CheckpointError):  # Nothing can be finished.
            write_bytes(folder / ARRAYS, _named(folder, _manifest(folder).get("arrays_sha256")))


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a checkpoint. Raises CheckpointError if it is damaged or not of this version."""
    manifest = _manifest(folder)
    try:
        config = settings.from_json(manifest["config"])
    except (KeyError, ValueError, ConfigError) as error:
        raise CheckpointError(
            f"{folder / MANIFEST}: settings of another version ({error}); train it again"
        ) from error
    return Checkpoint(_params(folder, manifest, config), config, manifest["training"])


def _packed(params: Params) -> bytes:
    flat = {
        f"{layer}.{part}": np.asarray(x) for layer, p in params.items() for part, x in p.items()
    }
    return pack(flat)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json_of(path.read_bytes())
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be read ({error.strerror}); is it a checkpoint?"
        ) from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: is not JSON; copy the checkpoint again") from error
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise CheckpointError(
            f"{path}: is not the manifest of a checkpoint (kind must be {KIND!r})"
        )
    wanted = {
        "version": VERSION,
        "observation_version": layout.VERSION,
        "observation_size": layout.SIZE,
    }
    for name, value in wanted.items():
        if manifest.get(name) != value:
            raise CheckpointError(
                f"{path}: {name} is {manifest.get(name)!r}, needed is {value}; train it again"
            )
    if not isinstance(manifest.setdefault("training", {}), dict):
        raise CheckpointError(f"{path}: training must be an object; copy the checkpoint again")
    return manifest


def _named(folder: Path, digest: Any) -> bytes:
    """The weights of that hash. Raises CheckpointError if there are none, or too many bytes."""
    for path in (folder / ARRAYS, folder / NEXT):
        if not path.exists():
            continue
        if path.stat().st_size > MAX_BYTES:
            raise CheckpointError(f"{path}: is larger than {MAX_BYTES} bytes")
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() == digest:
            return data
    raise CheckpointError(
        f"{folder / ARRAYS}: is not the file that the manifest names; copy it again"
    )


def _params(folder: Path, manifest: dict[str, Any], config: AgentConfig) -> Params:
    path = folder / ARRAYS
    try:
        flat = unpack(_named(folder, manifest.get("arrays_sha256")), MAX_BYTES)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read; copy the checkpoint again") from error
    shapes = jax.eval_shape(lambda: init_params(jax.random.key(0), config.network))
    params: Params = {}
    for layer, parts in shapes.items():
        for part, wanted in parts.items():
            array = flat.pop(f"{layer}.{part}", None)
            if array is None or array.shape != wanted.shape or array.dtype != np.float32:
                raise CheckpointError(
                    f"{path}: {layer}.{part} must be float32 of shape {wanted.shape};"
                    " train it again"
                )
            if not np.isfinite(array).all():
                raise CheckpointError(f"{path}: {layer}.{part} is not finite; train it again")
            params.setdefault(layer, {})[part] = jnp.asarray(array)
    if flat:
        raise CheckpointError(f"{path}: unknown array {min(flat)}; train it again")
    return params

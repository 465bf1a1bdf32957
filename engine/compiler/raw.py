"""Raw captures: one folder per program with the compiler's answers at several placements.

Compiling is slow and fitting is fast, so the answers are kept and `calibrate` can be run again
at will. A capture that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.compiler import toolchain
from engine.compiler.models import build
from engine.compiler.samples import Sample

SLOW = "slow"
DEFAULT = "default"

# Placements are varied by moving a random part of the buffers to the front of the compiler's own
# order. The last ones are kept out of the fit, to measure it.
_RANGES = ((0.0, 0.5), (0.5, 1.0), (0.25, 0.75), (0.0, 0.3), (0.7, 1.0), (0.4, 0.6))


def sort_override(seed: int, begin: float, end: float, option: str = "assign_first") -> str:
    """The text proto that handles a random part of the buffers first (or last)."""
    chosen = (
        f"hlo_random_filter {{ seed: {seed} selection_range_begin: {begin}"
        f" selection_range_end: {end} }}"
    )
    return (
        f"overrides {{ hlo_position_matcher {{ {chosen} }}"
        f" override_options {{ {option}: true }} }}"
    )


def placements(count: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Name and compiler options of `count` placements: all-slow, the default, then varied ones."""
    yield SLOW, {"xla_msa_enable": "DISABLED"}
    yield DEFAULT, {}
    for index in range(count - 2):
        begin, end = _RANGES[index % len(_RANGES)]
        option = "assign_last" if index % 3 == 2 else "assign_first"
        override = sort_override(index + 1, begin, end, option)
        yield f"varied-{index + 1}", {"xla_tpu_msa_sort_order_overrides": override}


def capture_raw(sample: Sample, folder: Path, count: int = 8) -> None:
    """Compile `sample` at `count` placements into `folder/<name>/`; skips what is there."""
    target = folder / sample.name
    target.mkdir(parents=True, exist_ok=True)
    toolchain.prepare_environment()
    missing = [(n, o) for n, o in placements(count) if not _path(target, n).exists()]
    if not missing:
        return
    workload = build(sample.model, sample.batch, sample.train)
    lowered = toolchain.lower(
        workload.fn, workload.args, workload.donate_argnums, sample.hardware
    )
    _write_source(target, sample, workload)
    for name, options in missing:
        begun = time.perf_counter()
        compiled = toolchain.compile_lowered(lowered, options)
        answer = {
            "options": options,
            "seconds": round(time.perf_counter() - begun, 2),
            "hlo": toolchain.strip_paths(compiled.hlo),
            "buffers": compiled.buffers,
            "live_ranges": compiled.live_ranges,
        }
        _write(_path(target, name), json.dumps(answer).encode())


def read_raw(folder: Path, name: str) -> dict[str, Any]:
    """One stored answer: options, seconds, hlo, buffers, live_ranges."""
    loaded: dict[str, Any] = json.loads(gzip.decompress(_path(folder, name).read_bytes()))
    return loaded


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json.gz"


def _write(path: Path, data: bytes) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(gzip.compress(data, mtime=0))
    part.rename(path)


def _write_source(target: Path, sample: Sample, workload: Any) -> None:
    """Keep the serialised StableHLO, so that the program can be compiled again without Python."""
    import jax
    from jax import export

    shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), workload.args)
    jitted = jax.jit(workload.fn, donate_argnums=workload.donate_argnums)
    exported = export.export(jitted, platforms=["tpu"])(*shapes)
    _write(target / "stablehlo.gz", bytes(exported.serialize()))
    facts = {
        "model": sample.model,
        "description": workload.description,
        "hardware": sample.hardware,
        "batch": sample.batch,
        "train": sample.train,
        "versions": toolchain.versions(),
    }
    (target / "facts.json").write_text(json.dumps(facts, indent=1))

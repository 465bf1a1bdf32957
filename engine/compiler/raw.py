"""Raw captures: one folder per program with the compiler's answers at several placements.

Compiling is slow and fitting is fast, so the answers are kept and `calibrate` can be run again
at will. A capture that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.compiler.compile import compile_full
from engine.compiler.toolchain import strip_paths

SLOW = "slow"
DEFAULT = "default"

MIN_PLACEMENTS = 8
MAX_PLACEMENTS = 24
MIN_DISTINCT = 6
"""Placements that differ, the all-slow one included: so many tell most accesses apart."""

# Placements are varied by moving a random part of the buffers to the front of the compiler's own
# order. The last ones are kept out of the fit, to measure it.
_RANGES = ((0.0, 0.5), (0.5, 1.0), (0.25, 0.75), (0.0, 0.3), (0.7, 1.0), (0.4, 0.6))

EARLY_FILLS = frozenset({"tpu-v5p"})
"""Hardware on which one cross-program prefetch can fill the fast memory (a 47 MiB table of the 48
MiB that v5p has beside its scoped region). Then no other order changes anything."""

_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')


def sort_override(seed: int, begin: float, end: float, option: str = "assign_first") -> str:
    """The text proto that handles a random part of the buffers first (or last)."""
    chosen = (
        f"hlo_random_filter {{ seed: {seed} selection_range_begin: {begin}"
        f" selection_range_end: {end} }}"
    )
    return (
        f"overrides {{ hlo_position_matcher {{ {chosen} }} override_options {{ {option}: true }} }}"
    )


def placements(count: int, hardware: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Name and compiler options of `count` placements: all-slow, the default, then varied ones.

    On `hardware` in `EARLY_FILLS` every other varied one goes without a cross-program prefetch.
    """
    yield SLOW, {"xla_msa_enable": "DISABLED"}
    yield DEFAULT, {}
    for index in range(count - 2):
        begin, end = _RANGES[index % len(_RANGES)]
        option = "assign_last" if index % 3 == 2 else "assign_first"
        override = sort_override(index + 1, begin, end, option)
        options = {"xla_tpu_msa_sort_order_overrides": override}
        if hardware in EARLY_FILLS and index % 2 == 0:
            options["xla_msa_max_cross_program_prefetches"] = "0"
        yield f"varied-{index + 1}", options


def compile_placements(target: Path, at_least: int = MIN_PLACEMENTS) -> None:
    """Compile the source that `target` holds until its placements are varied enough.

    `at_least` placements, and on until `MIN_DISTINCT` of them differ, at most `MAX_PLACEMENTS`.
    Goes on where an earlier capture stopped. Raises CompilerError, UnknownNameError.
    """
    hardware = read_facts(target)["hardware"]
    stablehlo = read_source(target)
    for name, options in placements(MAX_PLACEMENTS, hardware):
        if is_complete(target, at_least):
            break
        if _path(target, name).exists():
            continue
        begun = time.perf_counter()
        compiled = compile_full(stablehlo, hardware, options)
        answer = {
            "options": options,
            "seconds": round(time.perf_counter() - begun, 2),
            "hlo": strip_paths(compiled.hlo),
            "buffers": compiled.buffers,
            "live_ranges": compiled.live_ranges,
        }
        _write(_path(target, name), json.dumps(answer).encode())


def is_complete(target: Path, at_least: int = MIN_PLACEMENTS) -> bool:
    """Whether a raw capture holds enough placements that differ."""
    names = placement_names(target)
    if len(names) < at_least or not {SLOW, DEFAULT} <= set(names):
        return False
    if len(names) >= MAX_PLACEMENTS:
        return True
    costs = {tuple(_CYCLES.findall(read_raw(target, n)["hlo"])) for n in names}
    return len(costs) >= MIN_DISTINCT


def placement_names(target: Path) -> list[str]:
    """Names of the placements that a raw capture holds."""
    return sorted(p.name.removesuffix(".json.gz") for p in target.glob("*.json.gz"))


def read_raw(folder: Path, name: str) -> dict[str, Any]:
    """One stored answer: options, seconds, hlo, buffers, live_ranges."""
    loaded: dict[str, Any] = json.loads(gzip.decompress(_path(folder, name).read_bytes()))
    return loaded


def write_source(target: Path, stablehlo: bytes, facts: Mapping[str, Any]) -> None:
    """Begin a raw capture: the serialised StableHLO, and what is known of it."""
    target.mkdir(parents=True, exist_ok=True)
    _write(_source_path(target), stablehlo)
    (target / "facts.json").write_text(json.dumps(facts, indent=1))


def read_source(target: Path) -> bytes:
    """The serialised StableHLO of a raw capture."""
    return gzip.decompress(_source_path(target).read_bytes())


def read_facts(target: Path) -> dict[str, Any]:
    """What is known of a raw capture: `hardware`, `versions`, `model` …."""
    facts: dict[str, Any] = json.loads((target / "facts.json").read_text())
    return facts


def _source_path(target: Path) -> Path:
    return target / "stablehlo.gz"


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json.gz"


def _write(path: Path, data: bytes) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(gzip.compress(data, mtime=0))
    part.rename(path)

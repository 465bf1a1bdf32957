"""Raw captures to sample programs: schedule, fitted costs, XLA's plan and provenance."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.compiler.calibrate import Fit, calibrate, pools
from engine.compiler.observations import (
    Compile,
    Observations,
    observations_path,
    save_observations,
    structure_hash,
)
from engine.compiler.observe import Observation, observe
from engine.compiler.raw import (
    DEFAULT,
    MAX_PLACEMENTS,
    MIN_PLACEMENTS,
    SLOW,
    compile_placements,
    is_complete,
    placement_names,
    read_facts,
    read_raw,
    read_source,
    write_source,
)
from engine.compiler.repair import repaired
from engine.compiler.samples import HELD_OUT, SAMPLES, Sample
from engine.compiler.source import exported, sample_source
from engine.compiler.toolchain import require_compiler, versions
from engine.compiler.writable import with_unwritable
from engine.compiler.xla_plan import read_plan
from engine.errors import ProgramFormatError
from engine.hardware.presets import DEVICES
from engine.plan.io import plan_to_json
from engine.program import library
from engine.program.hlo.build import Imported, build_program
from engine.program.hlo.flow import Flow
from engine.program.hlo.parse import parse_hlo
from engine.program.io import content_hash, save
from engine.program.model import Program

MAX_ERROR = 0.03
"""No placement kept out of the fit may take longer than foretold by more, relatively."""

MAX_LEFT_OUT = 0.01
"""Largest share of the saving of XLA's plan that may be lost when it is read."""

MORE_PLACEMENTS = 4
"""How many placements are added at a time where the fit is not good enough."""

MAX_HELD_OUT = 2
"""Varied placements kept out of the fit, to measure it: at most so many, and at most a third."""


def assemble(folder: Path) -> Program:
    """The sample program of one raw capture. Raises ProgramFormatError if it is incomplete."""
    facts = read_facts(folder)
    names = placement_names(folder)
    if len(names) < MIN_PLACEMENTS or SLOW not in names or DEFAULT not in names:
        raise ProgramFormatError(
            f"{folder}: only {len(names)} placements of {MIN_PLACEMENTS}; run the capture again"
        )
    answers = {name: read_raw(folder, name) for name in names}
    imported = _imported(folder, answers[SLOW])
    flows = {n: _flow(a, f"{folder.name}/{n}") for n, a in answers.items() if n != SLOW}
    program, fit, held_out = _calibrated(imported, flows)
    scoped = DEVICES[facts["hardware"]].scoped_bytes
    plan = read_plan(imported, flows[DEFAULT], answers[DEFAULT]["buffers"], scoped)
    plan = replace(plan, program_hash=content_hash(program))
    seen = observe(imported, flows[DEFAULT])
    plan = repaired(program, plan, seen.is_fast.tolist())
    source = read_source(folder)
    provenance = {
        **facts,
        "kind": "captured",
        "placements": {n: a["options"] for n, a in answers.items()},
        "fit": _fit_record(fit, held_out),
        "xla_plan": plan_to_json(plan),
        "default_compile": _default_record(program, seen, imported, flows[DEFAULT]),
        "stablehlo_gzip_base64": base64.b64encode(gzip.compress(source, mtime=0)).decode(),
    }
    return replace(program, provenance=provenance)


def _default_record(
    program: Program, seen: Observation, imported: Imported, flow: Flow
) -> dict[str, Any]:
    """What tells whether XLA's plan was read right, from files that are not kept.

    `compute_s`: the compiler's own cycles, loops multiplied out. `left_out_without_offsets`: the
    share of the plan's saving that is lost where it is read without the buffer assignment.
    """
    times = np.array([program.multiplicity(i.level) for i in program.instructions])
    plan = replace(read_plan(imported, flow, None, 0), program_hash=content_hash(program))
    packed = repaired(program, plan, seen.is_fast.tolist())
    return {
        "compute_s": float(np.nansum(seen.cycles * times)) / program.hardware.clock_hz,
        "left_out_without_offsets": packed.notes["left_out_saving_share"],
    }


def observations(folder: Path, program: Program) -> Observations:
    """What the compiles in a raw capture said, of the program that was assembled from it."""
    answers = {name: read_raw(folder, name) for name in placement_names(folder)}
    imported = _imported(folder, answers[SLOW])
    compiles = {
        name: Compile(name, answer["options"], observe(imported, _flow(answer, name)))
        for name, answer in answers.items()
    }
    slow = compiles.pop(SLOW)
    return Observations(
        program=program.name,
        structure=structure_hash(program),
        versions=read_facts(folder)["versions"],
        pools=pools(imported, slow.seen),
        slow=slow,
        compiles=tuple(compiles.values()),
    )


def _imported(folder: Path, slow: dict[str, Any]) -> Imported:
    """The program of the all-slow compile, its costs still a prior."""
    device = DEVICES[read_facts(folder)["hardware"]]
    imported = build_program(
        parse_hlo(slow["hlo"].encode(), f"{folder.name}/{SLOW}"),
        name=folder.name,
        hardware=device.hardware,
        where=folder.name,
        reserved_bytes=device.fixed_scratch_bytes,
    )
    return with_unwritable(imported)


def _flow(answer: dict[str, Any], where: str) -> Flow:
    return Flow(parse_hlo(answer["hlo"].encode(), where), where)


def _calibrated(imported: Imported, flows: dict[str, Flow]) -> tuple[Program, Fit, list[str]]:
    """A fit to all placements, its errors on the last distinct varied ones, and their names.

    The errors are those of a fit that has seen none of these placements, under any name.
    """
    slow = observe(imported, imported.flow)
    seen = {name: observe(imported, flow) for name, flow in flows.items()}
    distinct = _distinct(seen)
    names = distinct[-max(1, min(MAX_HELD_OUT, len(distinct) // 3)) :]
    held_out = [seen[n] for n in names]
    patterns = {o.is_fast.tobytes() for o in held_out}
    unlike = [o for o in seen.values() if o.is_fast.tobytes() not in patterns]
    errors = calibrate(imported, slow, unlike, held_out)[1].errors
    program, fit = calibrate(imported, slow, list(seen.values()), [])
    return program, replace(fit, errors=errors), names


def _distinct(seen: dict[str, Observation]) -> list[str]:
    """Varied placements that differ from every earlier one: only these can test the fit."""
    known = {seen[DEFAULT].is_fast.tobytes()}
    names = []
    for name in sorted(n for n in seen if n != DEFAULT):
        pattern = seen[name].is_fast.tobytes()
        if pattern not in known:
            names.append(name)
        known.add(pattern)
    return names


def _fit_record(fit: Fit, held_out: list[str]) -> dict[str, Any]:
    return {
        "held_out": held_out,
        "held_out_errors": [float(f"{e:.6g}") for e in fit.errors],
        "worst_held_out_error": max((abs(e) for e in fit.errors), default=None),
    }


def capture_one(
    sample: Sample, raw: Path, note: Callable[[str], None], is_offline: bool = False
) -> Program:
    """Compile a sample at all placements (minutes; what is in `raw` is used) and assemble it.

    `is_offline`: compile nothing.
    """
    folder = raw / sample.name
    if not (is_offline or is_complete(folder)):
        write_source(folder, *sample_source(sample))
    return _captured(folder, note, is_offline)


def capture_stablehlo(
    stablehlo: bytes,
    name: str,
    hardware: str,
    raw: Path,
    note: Callable[[str], None],
    facts: Mapping[str, Any] | None = None,
) -> Program:
    """A program of unknown origin that `jax.export` serialised, captured like the samples.

    Minutes: it is compiled at many placements, in a folder of `raw` that is named by its content,
    where an interrupted capture goes on. `facts` go to the program's provenance. Raises
    CompilerError where it cannot be compiled, UnknownNameError for other hardware than XLA's.
    """
    require_compiler(hardware)
    digest = hashlib.sha256(stablehlo).hexdigest()[:12]
    folder = raw / f"{_file_name(name)}-{hardware.removeprefix('tpu-')}-{digest}"
    known = {"model": name, "hardware": hardware, "versions": versions()}
    write_source(folder, stablehlo, {**known, **(facts or {})})
    return replace(_captured(folder, note), name=name)


def capture(
    jitted: Any,
    *args: Any,
    hardware: str,
    name: str | None = None,
    raw: Path = Path(".capture"),
    note: Callable[[str], None] = lambda _: None,
    **kwargs: Any,
) -> Program:
    """The program of a jitted JAX function of the user's.

    `args` and `kwargs`: what it is called with; arrays, or `jax.ShapeDtypeStruct` in their place.
    The options found for the program hold for `jitted.lower(*args, **kwargs).compile()` on a TPU.
    `raw`: a folder where the compiler's answers are kept, and an interrupted capture goes on.
    """
    require_compiler(hardware)
    title = name or str(getattr(jitted, "__name__", "program"))
    return capture_stablehlo(exported(jitted, *args, **kwargs), title, hardware, raw, note)


def _captured(folder: Path, note: Callable[[str], None], is_offline: bool = False) -> Program:
    """Compile what `folder` lacks, and assemble it.

    Where the fitted costs miss a placement kept out of the fit by more than `MAX_ERROR`, more
    placements are compiled, as long as there are any.
    """
    if not is_offline:
        compile_placements(folder)
    program = assemble(folder)
    count = len(placement_names(folder))
    while not (is_trusted(program) or is_offline) and count < MAX_PLACEMENTS:
        note(f"{program.name}: the fit is not good enough with {count} placements")
        compile_placements(folder, min(MAX_PLACEMENTS, count + MORE_PLACEMENTS))
        program, count = assemble(folder), len(placement_names(folder))
    return program


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:60]


def is_trusted(program: Program) -> bool:
    """Whether placements kept out of the fit confirm the program's costs.

    One that takes longer than foretold contradicts them; one that is faster only shows something
    that nobody had seen, and that is uncertain in the program.
    """
    errors = program.provenance["fit"]["held_out_errors"]
    return len(errors) > 0 and min(errors) >= -MAX_ERROR


def _distrust(program: Program) -> str:
    """Why a program is not fit to be a sample; empty if it is."""
    lost = program.provenance["xla_plan"]["notes"]["left_out_saving_share"]
    if lost > MAX_LEFT_OUT:
        return f"{lost:.1%} of the saving of XLA's plan could not be read"
    return "" if is_trusted(program) else "its costs are not confirmed"


def capture_all(
    raw: Path,
    note: Callable[[str], None],
    is_offline: bool = False,
    samples: Sequence[Sample] = SAMPLES,
    folder: Path = library.SAMPLES_FOLDER,
) -> list[str]:
    """Every program of `samples`, written to `folder`; goes on where it was interrupted.

    `is_offline`: compile nothing, only assemble what `raw` holds complete. Programs whose costs no
    kept-out placement confirms, or whose plan by XLA is read in part, are left out. Returns the
    names of those written.
    """
    names = []
    for sample in samples:
        if is_offline and len(placement_names(raw / sample.name)) < MIN_PLACEMENTS:
            note(f"{sample.name}: not captured yet")
            continue
        note(sample.name)
        program = capture_one(sample, raw, note, is_offline)
        problem = _distrust(program)
        if problem:
            note(f"{sample.name}: left out, {problem}")
            continue
        folder.mkdir(exist_ok=True)
        save(program, folder / f"{sample.name}.json.gz")
        found = observations(raw / sample.name, program)
        save_observations(found, observations_path(sample.name, folder))
        names.append(sample.name)
    return names


def capture_held_out(raw: Path, note: Callable[[str], None], is_offline: bool = False) -> list[str]:
    """Every held-out program, written to its folder of the library, as `capture_all` does."""
    folder = library.SAMPLES_FOLDER / library.HELD_OUT
    return capture_all(raw, note, is_offline, HELD_OUT, folder)

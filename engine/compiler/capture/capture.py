"""Captures: the real compiler's answers to a program made a program of ours.

A program is compiled with everything in slow memory, which gives its schedule and values; then a
study (`engine.compiler.capture.study`) asks for the placements that tell most about its costs.
XLA's own plan is read from the default compile. Everything that the compiler answered is kept in a
folder, so that an interrupted capture goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.compiler.capture.samples import Sample, sample_source
from engine.compiler.capture.study import Solver, Study, first_observation
from engine.compiler.costs.calibrate import total_cycles
from engine.compiler.costs.observations import (
    Observations,
    keep_observations,
    load_observations,
    observations_path,
    save_observations,
    structure_hash,
)
from engine.compiler.costs.refit import refitted
from engine.compiler.reading.matching import with_split_sizes
from engine.compiler.reading.observation import observe
from engine.compiler.reading.own_compile import (
    STABLEHLO,
    device_of,
    packed_stablehlo,
    stored_stablehlo,
)
from engine.compiler.reading.repair import best_reading, reading
from engine.compiler.reading.writable import with_reached, with_unwritable
from engine.compiler.reading.xla_plan import read_own_plan
from engine.compiler.toolchain.libtpu import require_compiler, versions
from engine.compiler.toolchain.results import DEFAULT_OPTIONS, SLOW_OPTIONS, Answers
from engine.compiler.toolchain.stablehlo import exported
from engine.compiler.toolchain.target import Target, chips_of, target_facts
from engine.errors import FAILURES, NotCompilableError, ProgramFormatError
from engine.files import EXPORTED, foreign, spelt_out
from engine.hardware.pricing import pricing
from engine.plan.io import plan_to_json
from engine.plan.model import Plan
from engine.program.counts import Counts, refuse_unknown
from engine.program.hlo.build import Imported, build_program
from engine.program.hlo.flow import Flow
from engine.program.hlo.parse import parse_hlo
from engine.program.io import load, save
from engine.program.model import Program
from engine.program.prices import with_prices
from engine.program.provenance import is_trusted

MORE_COMPILES = 2
"""So many times as many are made at most where the fit is not good enough."""

ANSWERS = "answers"
"""The folder of the compiler's answers to all programs, among what captures keep."""

MAX_LEFT_OUT = 0.01
"""Largest share of the saving of XLA's plan that may be lost when it is read."""

Note = Callable[[str], None]


@dataclass(frozen=True)
class Source:
    """What is captured: a program as `jax.export` serialises it, and what it is compiled for.

    `facts` go to the provenance of the program (`model`, `batch`, …).
    """

    name: str
    target: Target
    stablehlo: bytes
    facts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def packed(self) -> str:
        """The StableHLO as the program's file holds it. Raises ProgramFormatError if it cannot."""
        return packed_stablehlo(self.stablehlo, self.name)


@dataclass(frozen=True)
class Capturing:
    """How captures are made.

    `solvers` find plans for the study to compile. `raw`: a folder for the compiler's answers.
    `compiles`: whole ones per program, beside the all-slow one. `is_offline`: only what is known
    is used. `note` gets a line of text about every compile. `keep` gets the program as soon as two
    compiles have shown it, and again after each that refines its costs; its provenance says so
    (`refining`). `may_double`: whether twice as many are made where the fit is not good enough.
    """

    solvers: Sequence[Solver]
    raw: Path
    compiles: int
    is_offline: bool = False
    note: Note = lambda _: None
    keep: Callable[[Program], None] | None = None
    may_double: bool = True


def capture_source(
    source: Source, how: Capturing, known: Path | None = None
) -> tuple[Program, Observations]:
    """The program of `source`, with costs that its compiles agree on, and what they said.

    Minutes to an hour. `known`: a file of observations to begin with, where it is of the same
    program. Raises CompilerError where the program cannot be compiled, UnknownNameError for other
    hardware than XLA's, ProgramFormatError for StableHLO that no program file has room for, all
    before anything is compiled; UsageError for counts of what the program has not.
    """
    if not how.is_offline:
        require_compiler(source.target.hardware)
    _ = source.packed
    answers = Answers(
        source.stablehlo, source.target, how.raw / ANSWERS, how.is_offline, note=how.note
    )
    path = observations_path(source.name, how.raw / _folder_name(source))
    return captured_by(answers, source, how, path, known)


def captured_by(
    answers: Answers,
    source: Source,
    how: Capturing,
    path: Path | None = None,
    known: Path | None = None,
) -> tuple[Program, Observations]:
    """What `capture_source` returns, by these answers; `path`: a file for the observations.

    Raises as `capture_source` does.
    """
    imported = _imported(source, answers)
    observations = _begun(imported, [file for file in (path, known) if file is not None])
    limit = 0 if how.is_offline else how.compiles

    def keep(now: Observations) -> None:
        if path is not None:
            try:
                keep_observations(now, path, imported.program)
            except (OSError, ProgramFormatError) as error:
                # The program itself is worth more than a way to go on.
                how.note(f"{source.name}: not kept for the next time: {error}")
        if how.keep is None:
            return
        program = _assembled(source, imported, now, answers)
        refining = {"compiles": len(now.compiles), "of": max(limit, len(now.compiles))}
        how.keep(replace(program, provenance={**program.provenance, "refining": refining}))

    study = Study(imported, answers, observations, how.solvers, how.note, keep)
    program = _assembled(source, imported, study.run(limit), answers)
    if not (how.is_offline or is_trusted(program)):
        how.note(f"{program.name}: the fit is not good enough with {limit} compiles")
        if how.may_double:
            limit *= MORE_COMPILES
            program = _assembled(source, imported, study.run(limit), answers)
    return program, study.observations


def capture_sample(sample: Sample, how: Capturing, target: Target | None = None) -> Program:
    """The program of a sample, which is a model of the zoo, captured as `how` says.

    `target`: with flags of the user's; by default the sample's hardware alone.
    """
    source = _sample_source(sample)
    return capture_source(source if target is None else replace(source, target=target), how)[0]


def capture_stablehlo(source: Source, how: Capturing) -> Program:
    """A program of unknown origin that `jax.export` serialised, captured like the samples.

    Its folder in `how.raw` is named by its content. Raises as `capture_source` does, and
    NotCompilableError for a file of another kind.
    """
    source = replace(source, name=spelt_out(source.name))
    hardware = source.target.hardware
    kind = foreign(source.stablehlo)
    if kind and kind != EXPORTED:
        raise NotCompilableError(
            f"{source.name}: no program that jax.export serialised, but {kind}"
        )
    require_compiler(hardware)
    folder = f"{_file_name(source.name)}-{hardware.removeprefix('tpu-')}-{_hash(source.stablehlo)}"
    facts = {"model": source.name, **source.facts}

    def renamed(program: Program) -> Program:
        return replace(program, name=source.name)

    heard = how.keep
    if heard is not None:
        how = replace(how, keep=lambda program: heard(renamed(program)))
    program, _ = capture_source(replace(source, name=folder, facts=facts), how)
    return renamed(program)


def capture(
    jitted: Any,
    *args: Any,
    target: Target,
    how: Capturing,
    name: str | None = None,
    **kwargs: Any,
) -> Program:
    """The program of a jitted JAX function of the user's.

    `args` and `kwargs`: what it is called with; arrays, or `jax.ShapeDtypeStruct` in their place,
    with the shardings of a mesh where it is jitted for one. Options that tuning returns for it hold
    for `jitted.lower(*args, **kwargs).compile()` on a TPU.
    """
    require_compiler(target.hardware)
    title = name or str(getattr(jitted, "__name__", "program"))
    return capture_stablehlo(Source(title, target, exported(jitted, *args, **kwargs)), how)


def capture_all(how: Capturing, samples: Sequence[Sample], folder: Path) -> list[str]:
    """Every program of `samples`, written to `folder` with its observations.

    Programs whose costs no held-out placement confirms, whose plan by XLA is read in part or not
    at all, or that cannot be compiled (offline: that are not known) are passed over. Returns the
    names of those written.
    """
    names = []
    for sample in samples:
        known = observations_path(sample.name, folder)
        try:
            program, observations = capture_source(_source_in(folder, sample), how, known)
        except FAILURES as error:
            how.note(f"{sample.name}: {error}")
            continue
        problem = _distrust(program)
        if problem:
            how.note(f"{sample.name}: left out, {problem}")
            continue
        folder.mkdir(exist_ok=True)
        save(program, folder / f"{sample.name}.json.gz")
        save_observations(observations, known)
        names.append(sample.name)
    return names


def _source_in(folder: Path, sample: Sample) -> Source:
    """The source that a program in `folder` was made of; for a new one, its model's."""
    path = folder / f"{sample.name}.json.gz"
    if not path.exists():
        return _sample_source(sample)
    program = load(path)
    facts = {k: program.provenance[k] for k in _FACTS if k in program.provenance}
    return Source(sample.name, sample.target, stored_stablehlo(program), facts)


_FACTS = ("model", "description", "hardware", "batch", "train", "feature", "is_held_out")


def _sample_source(sample: Sample) -> Source:
    stablehlo, facts = sample_source(sample)
    return Source(sample.name, sample.target, stablehlo, facts)


def _imported(source: Source, answers: Answers) -> Imported:
    """The program of the all-slow compile, its costs still a prior.

    Raises UsageError for counts of loops and branches that it does not have.
    """
    slow = answers.full(SLOW_OPTIONS)
    device = device_of(slow, source.target.hardware, source.target.scoped_bytes)
    where = f"{source.name}, all slow"
    imported = build_program(
        parse_hlo(slow.hlo.encode(), where),
        name=source.name,
        hardware=device.hardware,
        where=where,
        reserved_bytes=device.scoped_bytes,
        pricing=pricing(device, chips_of(source.target, slow.devices)),
    )
    refuse_unknown(imported.program, source.target.counts)
    return with_unwritable(imported.with_counts(source.target.counts))


def _begun(imported: Imported, paths: Sequence[Path]) -> Observations:
    """The observations to go on with.

    Those in the first of `paths` that holds some of this program by this compiler; else new ones,
    of the all-slow compile alone.
    """
    for path in paths:
        if path.exists():
            try:
                known = load_observations(path, imported.program)
            except ProgramFormatError:
                continue
            if known.versions == versions():
                return known
    return first_observation(imported, structure_hash(imported.program))


def _assembled(
    source: Source, imported: Imported, observations: Observations, answers: Answers
) -> Program:
    """The program with fitted costs, XLA's plan and provenance."""
    default = answers.full(DEFAULT_OPTIONS)
    where = f"{source.name}, default"
    flow = Flow(parse_hlo(default.hlo.encode(), where), where)
    imported = with_split_sizes(with_reached(imported, flow), flow)
    program = with_prices(refitted(imported.program, observations), imported.prices)
    is_fast = observe(imported, flow).is_fast.tolist()
    target = source.target
    scoped = device_of(default, target.hardware, target.scoped_bytes).scoped_bytes

    def read(buffers: str | None) -> Plan:
        return read_own_plan(imported, flow, buffers, scoped)

    own = best_reading(program, read, default.buffers, is_fast)
    packed = reading(program, read, None, is_fast)
    provenance = {
        **source.facts,
        "hardware": target.hardware,
        **target_facts(target, default.devices),
        "versions": versions(),
        "kind": "captured",
        **program.provenance,
        "xla_plan": plan_to_json(own.valid),
        "default_compile": {
            "compute_s": _compute_s(imported, flow),
            "left_out_without_offsets": packed.lost,
        },
        STABLEHLO: source.packed,
    }
    return replace(program, provenance=provenance)


def _compute_s(imported: Imported, flow: Flow) -> float:
    """Seconds of one run by the cycles in the compile `flow`, loops multiplied out."""
    cycles = total_cycles(imported.program, None, observe(imported, flow))
    return cycles / imported.program.hardware.clock_hz


def _distrust(program: Program) -> str:
    """Why a program is not fit to be a sample; empty if it is."""
    lost = program.provenance["xla_plan"]["notes"]["left_out_saving_share"]
    if lost > MAX_LEFT_OUT:
        return f"{lost:.1%} of the saving of XLA's plan could not be read"
    return "" if is_trusted(program) else "its costs are not confirmed"


def _folder_name(source: Source) -> str:
    """The folder of a capture; flags and topology of the user's are told apart in its name.

    Counts of loops and branches change no compile.
    """
    target = replace(source.target, counts=Counts())
    if target == Target(target.hardware):
        return source.name
    asked = [target.topology, sorted(target.options.items()), target.init_args]
    return f"{source.name}-{_hash(json.dumps(asked).encode())}"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:60]

"""The results of every whole compile of a program, in kilobytes: enough to fit costs again.

`sample_programs/observations/NAME.json.gz` holds, per compile, its options, the cycles of every
instruction, which accesses it served from fast memory, and how long it waits for its copies; the
HLO itself is not needed any more. Instructions of one *pool* are equal but for their names (layers
repeat) and share one fit.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.compiler.reading.observation import Observation
from engine.errors import ProgramFormatError, UnknownNameError
from engine.files import read_json, require_header, write_bytes
from engine.folders import locked
from engine.program.counts import COUNTS, Counts, counts_from_json, given_counts
from engine.program.library import SAMPLES_FOLDER, find_sample, load_entry
from engine.program.model import Program

FORMAT = "mallocmuzero-observations"
VERSION = 1
OBSERVATIONS_FOLDER = SAMPLES_FOLDER / "observations"
"""The folder with the observations of the samples."""


@dataclass(frozen=True)
class Compile:
    """One whole compile: its options, and the cycles and placement that came of them.

    `stall_cycles`: in which one run waits for its copies; None: nobody kept them.
    """

    name: str
    options: Mapping[str, str]
    seen: Observation
    stall_cycles: float | None = None


@dataclass(frozen=True)
class Observations:
    """All whole compiles of one program that were observed.

    `structure`: the `structure_hash` of the program that the numbers of instructions and accesses
    refer to. `pools` `[T]`: the pool of each instruction. `slow`: the compile with everything in
    slow memory; `compiles`: the others, in the order in which they were made. `counts`: those given
    for loops and branches when the `stall_cycles` were worked out.
    """

    program: str
    structure: str
    versions: Mapping[str, str]
    pools: tuple[int, ...]
    slow: Compile
    compiles: tuple[Compile, ...]
    counts: Counts = field(default_factory=Counts)


def structure_hash(program: Program) -> str:
    """A hash of the schedule, the values and who reads and writes them, whatever they cost."""
    rows = [
        [(i.name, i.opcode) for i in program.instructions],
        [(v.name, v.shape, v.group) for v in program.values],
        [(a.time, a.value, a.is_write, a.operand) for a in program.accesses],
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def observations_path(name: str, programs: Path = SAMPLES_FOLDER) -> Path:
    """The file with the observations of a program in the folder `programs`."""
    return programs / OBSERVATIONS_FOLDER.name / f"{name}.json.gz"


def kept_path(name: str) -> Path:
    """The file with the observations of a sample or held-out program. Raises UnknownNameError."""
    return observations_path(name, find_sample(name).folder)


def free_name(name: str, taken: Collection[str]) -> str:
    """A name of a compile that is not taken: this one, or one that counts on from its number.

    >>> free_name("plan-3", {"plan-3", "plan-4"}), free_name("default", {"default"})
    ('plan-5', 'default-2')
    """
    word, _, digits = name.rpartition("-")
    word, number = (word, int(digits)) if word and digits.isdecimal() else (name, 1)
    while name in taken:
        number += 1
        name = f"{word}-{number}"
    return name


def save_observations(observations: Observations, path: Path) -> None:
    """Write `observations` to the file `path`, whole or not at all."""
    slow = observations.slow
    body = {
        "format": FORMAT,
        "version": VERSION,
        "program": observations.program,
        "structure": observations.structure,
        "versions": dict(observations.versions),
        "pools": list(observations.pools),
        "num_accesses": len(slow.seen.is_fast),
        "compiles": [_to_json(c, slow.seen) for c in (slow, *observations.compiles)],
        **({COUNTS: given} if (given := observations.counts.to_json()) else {}),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, json.dumps(body, separators=(",", ":")).encode())


def keep_observations(observations: Observations, path: Path, program: Program) -> None:
    """Write the observations of `program`, and with them what others have added to the file.

    Compiles of another version of the compiler, and a file that cannot be read, are let go.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        try:
            known = load_observations(path, program)
        except ProgramFormatError:
            known = observations
        if known.versions == observations.versions:
            own = [one.options for one in observations.compiles]
            others = tuple(one for one in known.compiles if one.options not in own)
            observations = replace(observations, compiles=(*observations.compiles, *others))
        save_observations(observations, path)


def load_observations(path: Path, program: Program) -> Observations:
    """The observations of `program` in a file. Raises ProgramFormatError, also for another's.

    Each compile gets a name of its own, though the file have one twice. How long it waits is not
    known where the program's loops run more or less often than when it was worked out.
    """
    body = read_json(path)
    require_header(body, FORMAT, VERSION, str(path))
    if body.get("structure") != structure_hash(program):
        raise ProgramFormatError(f"{path}: made of another program than {program.name}")
    try:
        pools = tuple(int(n) for n in body["pools"])
        compiles = _from_json(body["compiles"], program)
        versions = {str(k): str(v) for k, v in body["versions"].items()}
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ProgramFormatError(f"{path}: not valid observations ({error!r:.200})") from error
    if len(pools) != program.num_slots or not compiles:
        raise ProgramFormatError(f"{path}: lacks pools or compiles")
    slow, *others = compiles
    counts = given_counts(program)
    if counts_from_json(body.get(COUNTS, {}), str(path)).to_json() != counts.to_json():
        others = [replace(one, stall_cycles=None) for one in others]
    return Observations(
        program.name, body["structure"], versions, pools, slow, tuple(others), counts
    )


_MADE_BY = ("compiler_options", "libtpu_init_args", "topology")


def observations_of(program: Program) -> Observations | None:
    """The observations kept of a sample or held-out program; None of others, whatever the name.

    What another compiler, other flags of the user's or another topology make of the same program
    takes other cycles, though its instructions be equal: it is another.
    """
    try:
        entry = find_sample(program.name)
        found = load_observations(observations_path(entry.name, entry.folder), program)
        kept = load_entry(entry).provenance
    except (ProgramFormatError, UnknownNameError, OSError):
        return None
    own = program.provenance
    is_own = own.get("versions") == found.versions
    return found if is_own and all(own.get(key) == kept.get(key) for key in _MADE_BY) else None


def _to_json(compile_: Compile, slow: Observation) -> dict[str, Any]:
    """A compile as JSON data, with only those cycles that differ from the all-slow compile's."""
    seen = compile_.seen
    base = slow.cycles if seen is not slow else np.full(len(slow.cycles), np.nan)
    is_same = (seen.cycles == base) | (np.isnan(seen.cycles) & np.isnan(base))
    slots = np.flatnonzero(~is_same)
    stall = {} if compile_.stall_cycles is None else {"stall_cycles": compile_.stall_cycles}
    return {
        "name": compile_.name,
        "options": dict(compile_.options),
        "slots": slots.tolist(),
        "cycles": [None if np.isnan(c) else float(c) for c in seen.cycles[slots]],
        "fast": np.flatnonzero(seen.is_fast).tolist(),
        **stall,
    }


def _from_json(rows: Sequence[Any], program: Program) -> list[Compile]:
    compiles: list[Compile] = []
    base = np.full(program.num_slots, np.nan)
    for row in rows:
        cycles = base.copy()
        stated = [np.nan if c is None else float(c) for c in row["cycles"]]
        cycles[_indices(row["slots"], len(cycles))] = stated
        is_fast = np.zeros(len(program.accesses), dtype=bool)
        is_fast[_indices(row["fast"], len(is_fast))] = True
        options = {str(k): str(v) for k, v in row["options"].items()}
        seen = Observation(cycles, is_fast)
        name = free_name(str(row["name"]), {known.name for known in compiles})
        compiles.append(Compile(name, options, seen, _stall(row.get("stall_cycles"))))
        base = compiles[0].seen.cycles
    return compiles


def _stall(stated: Any) -> float | None:
    """Cycles, if they are stated. Raises ValueError."""
    if stated is None:
        return None
    cycles = float(stated)
    if not 0 <= cycles < math.inf:
        raise ValueError(f"{cycles} cycles of waiting")
    return cycles


def _indices(items: Any, count: int) -> list[int]:
    """The items as indices below `count`. Raises ValueError, IndexError."""
    indices = [int(item) for item in items]
    if any(not 0 <= index < count for index in indices):
        raise IndexError(f"an index is not below {count}")
    return indices

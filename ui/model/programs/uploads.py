"""A visitor's files: read as a program, and what became of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.analysis.bundle import file_name
from engine.errors import EngineError, PlanError, ProgramFormatError
from engine.files import read_bytes, spelt_out
from engine.folders import temporary_folder
from engine.hardware.presets import PRESETS
from engine.plan.check import check
from engine.plan.io import load_plan, plan_from_json
from engine.plan.model import Plan
from engine.program.counts import given_counts
from engine.program.hlo.parse import MAX_TEXT_BYTES
from engine.program.io import load
from engine.program.minimalloc import import_minimalloc
from engine.program.model import Program
from engine.program.provenance import (
    CYCLES,
    FITTED,
    ROOFLINE,
    has_compiled_plan,
    is_repacked,
    share_read,
)
from ui.components.units import share_text

_SECOND = "The dump of a second compile, with other placements, from which savings can be fitted."
_BUFFERS = "The buffer-assignment dump of the second compile, which has XLA's own addresses."


_CHIP = re.compile(r"(?<![a-z0-9])v(4|5e|5p|6e)(?![a-z0-9])", re.IGNORECASE)


def chip_of(names: Sequence[str]) -> str | None:
    """The preset that file names speak of (`bert-v5e.on.hlo`); None for none, or several."""
    chips = {f"tpu-v{found.lower()}" for name in names for found in _CHIP.findall(name)}
    known = sorted(chips & set(hardware_names()))
    return known[0] if len(known) == 1 else None


def summary(program: Program, names: Sequence[str], lost: str = "") -> tuple[tuple[str, str], ...]:
    """Facts of an import as (name, text).

    `names`: the files that were brought. `lost`: why XLA's plan is not with the program (`sound`).
    """
    origin = program.provenance
    facts = [("Files", _files(origin, names)), ("Costs", _costs(origin))]
    facts.append(("XLA's plan", lost or _plan(program)))
    help_text = _would_help(program)
    return (*facts, ("Would help", help_text)) if help_text else tuple(facts)


def _files(origin: Mapping[str, Any], names: Sequence[str]) -> str:
    slow, fast = origin.get("slow"), origin.get("fast")
    roles: dict[str, str] = {}
    if slow in names and fast in names:
        roles = dict.fromkeys(names, "addresses")
        roles |= {str(slow): "all slow", str(fast): "XLA's placements"}
    elif slow in names:
        roles = {str(slow): "the dump"}
    return ", ".join(f"{name} ({roles[name]})" if name in roles else name for name in names)


def _costs(origin: Mapping[str, Any]) -> str:
    costs = origin.get("costs")
    if costs == FITTED:
        error = origin.get("fit_error")
        if not isinstance(error, int | float):
            return "fitted to both dumps"
        return (
            f"fitted to both dumps; the second one's total is met within {share_text(abs(error))}"
        )
    if costs == CYCLES:
        return "the compiler's cycles; what fast memory saves is estimated from the bytes"
    if costs == ROOFLINE:
        return "estimated from operations and bytes: the dump states no cycles"
    return "as the file says"


def _plan(program: Program) -> str:
    read = share_read(program)
    if read is None:
        return "not in these files"
    how = ", packed anew since its addresses are not known" if is_repacked(program) else ""
    return f"{share_text(read)} of its saving was read{how}"


def _would_help(program: Program) -> str:
    costs = program.provenance.get("costs")
    if costs == CYCLES:
        return _SECOND
    if costs == FITTED and is_repacked(program):
        return _BUFFERS
    if costs == ROOFLINE:
        return "A dump of the TPU compiler, which states the cycles of each instruction."
    return ""


Upload = tuple[str, bytes]
_MOST_FILES = 3
MOST_MIB = MAX_TEXT_BYTES >> 20
"""The largest size of a file, packed or not; the readers refuse more."""
_LONGEST_NAME = 100
_SLOW_NAME = re.compile(r"slow|(^|[._-])off\.")
_FAST_NAME = re.compile(r"fast|(^|[._-])on\.")
"""What the two dumps of a pair are called: `x.off.hlo`, `on.txt.gz`, `my_slow.hlo` …"""
_BUFFERS_HEAD = b"BufferAssignment:"


def hardware_names() -> list[str]:
    """The hardware that HLO dumps and tables can be read for."""
    return list(PRESETS)


def read(files: Sequence[Upload], hardware: str | None) -> Program:
    """The program in one file, or in HLO dumps: one or two, and the second's buffer assignment.

    `hardware`: what dumps are for, and tables without a capacity in their name; a program file says
    so itself. Raises EngineError, saying which file is wrong and how.
    """
    if not 1 <= len(files) <= _MOST_FILES:
        raise ProgramFormatError(
            f"{len(files)} files: bring one, or one or two HLO dumps of the same program with a"
            " buffer-assignment dump"
        )
    with temporary_folder("upload") as folder:
        try:
            paths = [_write(folder, name, data) for name, data in files]
            return _read(paths, hardware)
        except ProgramFormatError as error:
            # The visitor knows the file by its name, not by where it was put.
            raise ProgramFormatError(str(error).replace(f"{folder}/", "")) from error


def read_plan(name: str, data: bytes, program: Program) -> Plan:
    """The plan in a file, which is one of the program. Raises EngineError, saying what is wrong."""
    known = safe_name(name)
    with temporary_folder("upload") as folder:
        try:
            plan = load_plan(_write(folder, name, data))
        except EngineError as error:
            raise PlanError(str(error).replace(f"{folder}/", "")) from error
    violation = check(program, plan)
    if violation is None:
        return plan
    if violation.rule == "wrong-program":
        raise PlanError(f"{known}: is a plan of another program; open that program first")
    raise PlanError(f"{known}: breaks {violation.rule}: {violation.message:.200}")


def plan_name(file: str, program: str) -> str:
    """The name to list a plan of a file under: the file's, without the program's before it.

    >>> plan_name("bert-v5e-b32-greedy.plan.json", "bert-v5e-b32")
    'greedy (file)'
    """
    stem = re.sub(r"(\.plan)?\.json(\.gz)?$", "", safe_name(file))
    own = stem.removeprefix(f"{file_name(program)}-")
    return f"{own or 'plan'} (file)"


def sound(program: Program) -> tuple[Program, str]:
    """The program without a compiler's plan that is none of it, and why that was left out.

    The text is empty where nothing was. Raises ProgramFormatError for a record of trip counts that
    is damaged: a file's provenance may say anything.
    """
    given_counts(program)
    problem = _plan_problem(program)
    if not problem:
        return program, ""
    kept = {key: value for key, value in program.provenance.items() if key != "xla_plan"}
    return replace(program, provenance=kept), f"left out: {spelt_out(problem)}"


def _plan_problem(program: Program) -> str:
    if not has_compiled_plan(program):
        return ""
    try:
        plan = plan_from_json(program.provenance["xla_plan"], "provenance.xla_plan")
    except EngineError as error:
        return f"it cannot be read ({error!s:.200})"
    violation = check(program, plan)
    return f"it breaks {violation.rule}: {violation.message:.200}" if violation else ""


def _write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / safe_name(name)
    if path.exists():
        raise ProgramFormatError(f"{path}: brought twice; rename one of the files")
    path.write_bytes(data)
    return path


def safe_name(name: str) -> str:
    """A visitor's name for a file as one that any file may have: the last part, without signs.

    The end is kept where it is too long, since it says what kind of file it is.
    """
    last = re.sub(r"[^\w.+()~ -]", "_", re.split(r"[/\\]", name)[-1], flags=re.ASCII)
    return last[-_LONGEST_NAME:] if last.strip(".") else "file"


def _read(paths: list[Path], hardware: str | None) -> Program:
    first = paths[0]
    is_alone = any(s in (".csv", ".json") for path in paths for s in path.suffixes)
    if is_alone and len(paths) > 1:
        raise ProgramFormatError(f"{first}: bring a program file or a table alone")
    if ".json" in first.suffixes:
        program = load(first)
        return replace(program, name=program.name or first.name.split(".")[0])
    if ".csv" in first.suffixes:
        return import_minimalloc(first, _capacity(first, hardware))
    return _read_hlo(paths, _needed(first, hardware))


def _needed(path: Path, hardware: str | None) -> str:
    if hardware is None:
        raise ProgramFormatError(f"{path}: choose the hardware that it was compiled for")
    return hardware


def _capacity(path: Path, hardware: str | None) -> int:
    """Bytes in a table's name, as in minimalloc's own `A.1048576.csv`, else of the hardware."""
    numbers = [part for part in path.name.split(".")[1:] if part.isdecimal()]
    return int(numbers[0]) if numbers else PRESETS[_needed(path, hardware)].fast_bytes


def _read_hlo(paths: list[Path], hardware: str) -> Program:
    # The HLO reader loads jax, which takes seconds: only for who brings a dump.
    from engine.compiler.capture.importer import import_hlo

    buffers = [path for path in paths if _is_buffers(path)]
    dumps = [path for path in paths if path not in buffers]
    if len(buffers) > 1 or not 1 <= len(dumps) <= 2:
        raise ProgramFormatError(
            f"{paths[0]}: these are {len(dumps)} HLO dumps and {len(buffers)} buffer assignments;"
            " bring one or two dumps and at most one buffer assignment"
        )
    slow, fast = _ordered(dumps)
    return import_hlo(slow, fast, hardware, buffers[0] if buffers else None)


def _is_buffers(path: Path) -> bool:
    return read_bytes(path).lstrip()[: len(_BUFFERS_HEAD)] == _BUFFERS_HEAD


def _ordered(paths: list[Path]) -> tuple[Path, Path | None]:
    """The all-slow dump first: the one named so, else the order of the upload."""
    if len(paths) == 1:
        return paths[0], None
    first, second = paths
    is_swapped = bool(_SLOW_NAME.search(second.name) or _FAST_NAME.search(first.name))
    return (second, first) if is_swapped else (first, second)

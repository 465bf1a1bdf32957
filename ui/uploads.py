"""Files that a visitor brings: program files, HLO dumps, minimalloc tables."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.errors import ProgramFormatError
from engine.hardware.presets import PRESETS
from engine.program.io import load
from engine.program.minimalloc import import_minimalloc
from engine.program.model import Program

Upload = tuple[str, bytes]
_MOST_FILES = 2


def hardware_names() -> list[str]:
    """The hardware that HLO dumps and tables can be read for."""
    return list(PRESETS)


def read(files: Sequence[Upload], hardware: str) -> Program:
    """The program in one file, or in a pair of HLO dumps (all slow, default compile).

    Raises EngineError, saying which file is wrong and how.
    """
    if not 1 <= len(files) <= _MOST_FILES:
        raise ProgramFormatError(
            f"{len(files)} files: bring one, or two HLO dumps of the same program"
        )
    with tempfile.TemporaryDirectory(prefix="upload-") as folder:
        paths = [_write(Path(folder), name, data) for name, data in files]
        try:
            return _read(paths, hardware)
        except ProgramFormatError as error:
            # The visitor knows the file by its name, not by where it was put.
            raise ProgramFormatError(str(error).replace(f"{folder}/", "")) from error


def _write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / Path(name).name
    path.write_bytes(data)
    return path


def _read(paths: list[Path], hardware: str) -> Program:
    first = paths[0]
    stem = first.name.split(".")[0]
    if ".csv" in first.suffixes:
        return import_minimalloc(first, _capacity(first.name, PRESETS[hardware].fast_bytes))
    if ".json" in first.suffixes:
        program = load(first)
        return replace(program, name=program.name or stem)
    return _read_hlo(paths, hardware)


def _capacity(name: str, otherwise: int) -> int:
    """minimalloc's own examples carry the capacity in their name: `A.1048576.csv`."""
    numbers = [part for part in name.split(".")[1:] if part.isdecimal()]
    return int(numbers[0]) if numbers else otherwise


def _read_hlo(paths: list[Path], hardware: str) -> Program:
    # The HLO reader loads jax, which takes seconds: only for who brings a dump.
    from engine.compiler.importer import import_hlo

    slow, fast = _ordered(paths)
    return import_hlo(slow, fast, hardware)


def _ordered(paths: list[Path]) -> tuple[Path, Path | None]:
    """The all-slow dump first: the one named so, else the order of the upload."""
    if len(paths) == 1:
        return paths[0], None
    first, second = paths
    is_swapped = "slow" in second.name or "fast" in first.name
    return (second, first) if is_swapped else (first, second)

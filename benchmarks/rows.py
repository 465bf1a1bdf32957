"""Measured rows: JSON files in `docs/results/`, one row in a line, with the commit they are of."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.files import write_bytes
from engine.program import library

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
Row = dict[str, Any]
REAL_SETS = ("real", "real, held out")
SETS = ("samples", "held out", *REAL_SETS)
"""Of which figures are told apart."""


def set_of(name: str) -> str:
    """The set of a program; the real ones on which something was tuned are one of their own."""
    entry = library.find_sample(name)
    if entry.folder.name == library.REAL:
        return REAL_SETS[entry.is_held_out]
    return "samples" if name in library.sample_names() else "held out"


def read(path: Path) -> list[Row]:
    """The rows of a file; none if it is not there."""
    return json.loads(path.read_text()) if path.exists() else []


def rows_of(section: str) -> list[Row]:
    """The rows of a section; none if it was not run."""
    return read(RESULTS / f"{section}.json")


def keep(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows, one in a line."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    write_bytes(path, f"[\n{lines}\n]\n".encode())


def keep_of(path: Path, programs: Sequence[str], rows: Sequence[Row]) -> None:
    """Write rows that were measured of these programs, or of all; those of others stay."""
    others = [row for row in read(path) if programs and row.get("program") not in programs]
    keep(path, [*others, *rows])


@functools.cache
def commit() -> str:
    """The commit of the tree that is measured, with `+` where it was changed since."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=7", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout.strip()

"""Measured rows: JSON files in `docs/results/`, one row in a line, with the commit they are of.

A row also says what it is of: the program's content and, by section, what `DEPENDS` lists. One that
is of anything else than today's, or does not say, is stale (`is_current`): it is measured again,
and a figure that it takes part in says so.
"""

from __future__ import annotations

import functools
import json
import math
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.compiler.toolchain.libtpu import versions
from engine.errors import MissingDependencyError
from engine.files import write_bytes
from engine.game.moves import RULES_VERSION
from engine.program import library
from engine.program.library import SampleEntry

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
Row = dict[str, Any]
REAL_SETS = ("real", "real, held out")
SETS = ("samples", "held out", "large", *REAL_SETS)
"""Of which figures are told apart."""
MARK = "†"
STALE = (
    "some rows are of an earlier version of a program, its bound, the rules or the compiler, or do"
    " not say of which; their section measures them anew"
)
"""What figures with stale rows are marked with, and what that means."""
NOISE = 1e-6
"""The share by which a plan must be faster than another one to be ahead of it."""
PROGRAM, BOUND, RULES, VERSIONS = "content_hash", "bound_s", "rules", "versions"
"""What rows say that they are of: the program, the best bound known, the version of the game's
rules (None: the plan came of no game), and the versions of the compiler."""
DEPENDS: Mapping[str, Sequence[str]] = {
    "agent_ablations": (RULES,),
    "agent_curve": (RULES,),
    "agent_games": (BOUND, RULES),
    "agent_solvers": (RULES,),
    "agreement": (RULES,),
    "cold": (RULES,),
    "drafts": (BOUND, RULES),
    "exported": (RULES, VERSIONS),
    "identity": (RULES,),
    "portfolio": (RULES,),
    "program_options": (VERSIONS,),
    "replays": (RULES,),
    "solver_table": (RULES,),
    "soundness": (BOUND, RULES),
    "speed": (RULES,),
    "tuning": (VERSIONS,),
}
"""By file of rows what they depend on beside the program. Where the bound is not among it, the gaps
of rows are held to the best one known when they are read (`benchmarks.runs.with_best_bound`)."""


def set_of(name: str) -> str:
    """The set of a program; the real ones on which something was tuned are one of their own."""
    entry = library.find_sample(name)
    if entry.folder.name == library.REAL:
        return REAL_SETS[entry.is_held_out]
    apart = {library.HELD_OUT: "held out", library.LARGE: "large"}
    return apart.get(entry.folder.name, "samples")


def program_of(row: Row) -> str:
    """The name of the program that a row is of; empty if it is of none."""
    return str(row.get("program") or row.get("key", [""])[0])


def dependencies(section: str, name: str) -> Row:
    """What a row of the section says that it is of, if it is measured now.

    Raises UnknownNameError; MissingDependencyError where the compiler's versions are asked for.
    """
    entry = library.find_sample(name)
    depends = {field: _now(field, entry) for field in DEPENDS.get(section, ())}
    return {PROGRAM: entry.content_hash, **depends}


def _now(field: str, entry: SampleEntry) -> Any:
    if field == VERSIONS:
        return versions()
    return entry.bound_s if field == BOUND else RULES_VERSION


def is_current(section: str, row: Row) -> bool:
    """Whether a row is of what there is today.

    The compiler's versions are not looked at where there is no compiler.
    """
    if not is_of_program(row):
        return False
    entry = library.find_sample(program_of(row))
    for field in DEPENDS.get(section, ()):
        if field not in row:
            return False
        is_of_no_game = field == RULES and row[RULES] is None
        with suppress(MissingDependencyError):
            if not is_of_no_game and row[field] != _now(field, entry):
                return False
    return True


def is_of_program(row: Row) -> bool:
    """Whether the program that a row names is there, with the content that it had.

    A row that does not say what content counts where XLA's plan takes what it took.
    """
    if not library.is_sample(program_of(row)):
        return False
    entry = library.find_sample(program_of(row))
    hashes = [row[PROGRAM]] if PROGRAM in row else row.get("key", [])
    xla_s = row.get("xla_s", row.get("xla_compiled"))
    if PROGRAM in row or xla_s is None or entry.xla_latency_s is None:
        return entry.content_hash in hashes
    return math.isclose(xla_s, entry.xla_latency_s, rel_tol=1e-9)


def beats_xla(row: Row) -> bool:
    """Whether a row's plan is faster than XLA's, by more than noise."""
    return bool(row["latency_s"] < row["xla_s"] * (1 - NOISE))


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


def is_measured(path: Path, key: Sequence[Any]) -> bool:
    """Whether a file has a row of this key that is not stale."""
    return any(row["key"] == list(key) and is_current(path.stem, row) for row in read(path))


def put(path: Path, row: Row) -> None:
    """Add a row to a file, in place of the one of the same key."""
    keep(path, [*(old for old in read(path) if old["key"] != row["key"]), row])


def keep_of(path: Path, programs: Sequence[str], rows: Sequence[Row]) -> None:
    """Write rows that were measured of these programs, or of all; those of others stay."""
    own = {*programs, *map(program_of, rows)}
    others = [row for row in read(path) if programs and program_of(row) not in own]
    keep(path, [*others, *rows])


@functools.cache
def commit() -> str:
    """The commit of the tree that is measured, with `+` where it was changed since."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=7", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout.strip()

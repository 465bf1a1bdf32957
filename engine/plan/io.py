"""The plan file: versioned JSON (gzip where the name ends in `.gz`), written by columns.

Exact: `load_plan` gives back what `save_plan` wrote. `docs/formats.md` describes the format for
other tools. Reading checks types and magnitudes only; `engine.plan.check` judges the plan.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from engine.errors import PlanError
from engine.files import read_json, require_header, typed, write_bytes
from engine.plan.model import Copy, Plan, Stay
from engine.program.columns import rows_of, table_type, to_columns

FORMAT = "mallocmuzero-plan"
VERSION = 1

_FILE = msgspec.defstruct(
    "Plan",
    [
        ("format", str),
        ("version", int),
        ("program_hash", str),
        ("solver", str),
        ("is_fast", tuple[bool, ...]),
        ("stays", table_type(Stay)),
        ("copies", table_type(Copy)),
        ("notes", dict[str, Any]),
    ],
    forbid_unknown_fields=True,
)


def save_plan(plan: Plan, path: str | PathLike[str]) -> None:
    """Write a plan file, whole or not at all; gzip where the name ends in `.gz`.

    Raises PlanError for notes that are not plain JSON, ProgramFormatError for a path that cannot be
    written.

    >>> from tempfile import TemporaryDirectory
    >>> from engine.program.library import load_sample
    >>> from engine.solvers import solve
    >>> plan = solve("greedy", load_sample("teach-prefetch"))
    >>> with TemporaryDirectory() as folder:
    ...     save_plan(plan, f"{folder}/plan.json.gz")
    ...     load_plan(f"{folder}/plan.json.gz") == plan
    True
    """
    try:
        text = json.dumps(plan_to_json(plan), separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise PlanError(f"{path}: the plan's notes are not plain JSON ({error})") from error
    write_bytes(Path(path), text.encode())


def load_plan(path: str | PathLike[str]) -> Plan:
    """The plan in a file; `engine.plan.check` says whether it is valid for a program.

    Raises PlanError or ProgramFormatError for a file that is no plan.

    >>> load_plan("README.md")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    engine.errors.ProgramFormatError: README.md: ...
    """
    return plan_from_json(read_json(Path(path)), str(path))


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as plain JSON data, one list per column of its stays and copies."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "program_hash": plan.program_hash,
        "solver": plan.solver,
        "is_fast": [bool(flag) for flag in plan.is_fast],
        "stays": to_columns(plan.stays, Stay),
        "copies": to_columns(plan.copies, Copy),
        "notes": dict(plan.notes),
    }


def plan_from_json(body: Any, where: str) -> Plan:
    """The plan in `body`; `where` names its origin in errors.

    Raises ProgramFormatError if `body` is no plan of this version, PlanError if it is malformed.
    """
    require_header(body, FORMAT, VERSION, where)
    try:
        file: Any = typed(body, _FILE)
        return Plan(
            program_hash=file.program_hash,
            solver=file.solver,
            is_fast=file.is_fast,
            stays=rows_of(file.stays, Stay),
            copies=rows_of(file.copies, Copy),
            notes=file.notes,
        )
    except ValueError as error:
        raise PlanError(f"{where}: not a valid plan file ({error!s:.200})") from error

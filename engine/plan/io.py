"""The plan file: versioned JSON (gzip where the name ends in `.gz`), written by columns.

Exact: `load_plan` gives back what `save_plan` wrote. `docs/formats.md` describes the format for
other tools. Reading checks types and magnitudes only; `engine.plan.check` judges the plan.
"""

from __future__ import annotations

import json
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import PlanError
from engine.files import read_json, require_header, write_bytes
from engine.plan.model import Copy, Plan, Stay

FORMAT = "mallocmuzero-plan"
VERSION = 1
LARGEST = 2**53
"""Integers beyond this are refused: other JSON readers would round them."""

_Row = TypeVar("_Row", Stay, Copy)
_KEYS = {"format", "version", "program_hash", "solver", "is_fast", "stays", "copies", "notes"}


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
        "stays": _columns(plan.stays, Stay),
        "copies": _columns(plan.copies, Copy),
        "notes": dict(plan.notes),
    }


def plan_from_json(body: Any, where: str) -> Plan:
    """The plan in `body`; `where` names its origin in errors.

    Raises ProgramFormatError if `body` is no plan of this version, PlanError if it is malformed.
    """
    require_header(body, FORMAT, VERSION, where)
    try:
        if set(body) != _KEYS:
            raise ValueError(f"keys {sorted(body)} instead of {sorted(_KEYS)}")
        return Plan(
            program_hash=_typed(body["program_hash"], str),
            solver=_typed(body["solver"], str),
            is_fast=tuple(_column(body["is_fast"], bool)),
            stays=_rows(body["stays"], Stay),
            copies=_rows(body["copies"], Copy),
            notes=_typed(body["notes"], dict),
        )
    except (TypeError, ValueError) as error:
        raise PlanError(f"{where}: not a valid plan file ({error!r:.200})") from error


def _columns(rows: tuple[Stay, ...] | tuple[Copy, ...], row: type) -> dict[str, list[Any]]:
    return {f.name: [getattr(item, f.name) for item in rows] for f in fields(row)}


def _rows(body: Any, row: type[_Row]) -> tuple[_Row, ...]:
    names = [f.name for f in fields(row)]
    if set(_typed(body, dict)) != set(names):
        raise ValueError(f"columns {sorted(body)} instead of {sorted(names)}")
    kinds = [bool if str(f.type) == "bool" else int for f in fields(row)]
    columns = [_column(body[n], kind) for n, kind in zip(names, kinds, strict=True)]
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"columns of {row.__name__} differ in length")
    return tuple(row(*items) for items in zip(*columns, strict=True))


def _column(items: Any, kind: type) -> list[Any]:
    return [_typed(item, kind) for item in _typed(items, list)]


def _typed(item: Any, kind: type) -> Any:
    if type(item) is not kind:
        raise ValueError(f"{item!r:.40} is not {kind.__name__}")
    if isinstance(item, int) and not -LARGEST <= item <= LARGEST:
        raise ValueError(f"{item!r:.40} is too large")
    return item

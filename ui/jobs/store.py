"""Results of jobs kept on disk, and which files are removed when there are too many."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.folders import cache_folder, discard, temporary_folder
from engine.plan.io import load_plan, save_plan
from engine.plan.model import Plan
from ui.jobs.protocol import (
    FILES,
    FORCE,
    ORDER,
    PLAN,
    PLAY,
    RELIEF,
    RESULT,
    RETRACE,
    SOLVE,
    TUNE,
    VERIFY,
    Order,
)


def age(place: Path) -> float:
    """When a folder was last changed, in seconds since 1970; 0 for one that is gone."""
    try:
        return place.stat().st_mtime
    except OSError:
        return 0.0


def forget_oldest(top: Path, places: Iterable[Path], most_kept: int, most_bytes: int) -> None:
    """Remove the oldest folders until the rest is within both limits.

    `top`: the folder that all of them are in; what a killed process was removing there goes too.
    """
    total, too_much = 0, []
    for count, place in enumerate(sorted(places, key=age, reverse=True), start=1):
        total += _size(place)
        if count > most_kept or total > most_bytes:
            too_much.append(place)
    discard(too_much, top)


def _size(place: Path) -> int:
    """Bytes of the files in a folder."""
    try:
        return sum(path.stat().st_size for path in place.iterdir())
    except OSError:
        return 0


VARIABLE = "MALLOCMUZERO_RESULTS"
"""Environment variable that names the folder; empty: keep nothing."""
_MOST_KEPT = 200
_MOST_BYTES = 2**30
_PARTS = "parts"
"""In the file of an order: the names of the files of its result beside facts."""
_WITH_PLAN = (SOLVE, RELIEF, PLAY, RETRACE, FORCE, VERIFY, TUNE)
"""Kinds of work that leave a plan always: where it is missing, an older result is not whole."""


def default_folder() -> Path | None:
    """The user's cache folder, unless the environment says otherwise."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return cache_folder("results")
    return Path(folder) if folder else None


@dataclass(frozen=True)
class Result:
    """The result of an order: a plan, facts, files; each may be missing."""

    plan: Plan | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


class ResultStore:
    """Results by program and order, the oldest of which go when there are too many."""

    def __init__(
        self,
        folder: Path | None,
        most_kept: int = _MOST_KEPT,
        most_bytes: int = _MOST_BYTES,
        stamp: str = "",
    ) -> None:
        """Keep results in `folder`; with None, nothing. `most_bytes`: of all results together.

        `stamp`: what results hang on besides program and order; with another one they are not
        found.
        """
        self._folder, self._most_kept, self._most_bytes = folder, most_kept, most_bytes
        self._stamp = stamp

    def save(self, program_hash: str, order: Order, result: Result) -> None:
        """Keep a result; a full or read-only disk loses it, and nothing else."""
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with temporary_folder("new", self._folder) as made:
                place = made / "result"
                _write(place, order, result)
                target = self._place(program_hash, order)
                with suppress(FileNotFoundError):
                    target.rename(made / "old")
                place.rename(target)
            self._forget()
        except (OSError, EngineError):
            return

    def find(self, program_hash: str, order: Order) -> Result | None:
        """The result of an order, or None; one that cannot be read counts as none."""
        return None if self._folder is None else _read(self._place(program_hash, order))

    def orders(self, program_hash: str) -> list[Order]:
        """The orders of a program whose results are kept, the oldest first."""
        if self._folder is None:
            return []
        places = sorted(self._folder.glob(f"{self._of(program_hash)}-*"), key=age)
        return [label[0] for place in places if (label := _label(place)) is not None]

    def _place(self, program_hash: str, order: Order) -> Path:
        assert self._folder is not None
        return self._folder / f"{self._of(program_hash)}-{_short(json.dumps(asdict(order)))}"

    def _of(self, program_hash: str) -> str:
        """What the names of the results of a program begin with."""
        return _short(f"{program_hash}{self._stamp}")

    def _forget(self) -> None:
        assert self._folder is not None
        kept = self._folder.glob("[0-9a-f]*-*")
        forget_oldest(self._folder, kept, self._most_kept, self._most_bytes)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _write(place: Path, order: Order, result: Result) -> None:
    place.mkdir()
    parts = [*([] if result.plan is None else [PLAN]), *result.files]
    (place / ORDER).write_text(json.dumps({**asdict(order), _PARTS: parts}))
    (place / RESULT).write_text(json.dumps(result.facts))
    if result.plan is not None:
        save_plan(result.plan, place / PLAN)
    for name, content in result.files.items():
        (place / name).write_bytes(content)


def _read(place: Path) -> Result | None:
    """The result in a folder; None where it or one of its parts cannot be read."""
    label = _label(place)
    if label is None:
        return None
    _, parts = label
    try:
        facts = json.loads((place / RESULT).read_text())
        plan = load_plan(place / PLAN) if PLAN in parts else None
        files = {name: (place / name).read_bytes() for name in FILES if name in parts}
    except (OSError, EngineError, ValueError):
        return None
    return Result(plan, facts, files)


def _label(place: Path) -> tuple[Order, list[str]] | None:
    """The order of the result in a folder, and the names of its parts; None if it is damaged.

    Older results do not tell their parts: then those that are there, and the plan where one must
    be.
    """
    try:
        fields = json.loads((place / ORDER).read_text())
        parts = fields.pop(_PARTS, None)
        details = tuple((str(name), value) for name, value in fields.pop("details"))
        order = Order(**fields, details=details)
        if parts is None:
            parts = [name for name in (PLAN, *FILES) if (place / name).exists()]
            parts += [PLAN] if order.kind in _WITH_PLAN else []
        return order, [str(name) for name in parts]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None

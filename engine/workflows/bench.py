"""Comparisons on many programs, each kept as soon as it is made: neither a failure nor a kill loses
what was done before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from engine.errors import EngineError, ProgramFormatError, UsageError
from engine.files import (
    Finite,
    as_text,
    holds_something,
    json_text,
    read_json,
    require_header,
    typed,
    write_bytes,
)
from engine.program import library
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers import Budget, find
from engine.workflows.compare import compare, failed, reason_of

FORMAT, VERSION = "mallocmuzero-bench", 1

Comparison = dict[str, Any]
"""What `engine.workflows.compare.compare` returns."""


class _Result(TypedDict):
    """What is read of the row of one solver; there is more."""

    solver: str
    latency_s: Finite | None
    seconds: Finite
    violation: str | None
    found_by: str | None


class _Kept(TypedDict):
    """What is read of a comparison in a file; there is more."""

    asked: str
    program: str
    content_hash: str | None
    bound_s: Finite | None
    warning: str | None
    unestimated: NotRequired[str | None]
    results: list[_Result]
    error: str | None


@dataclass
class Bench:
    """The comparisons made so far, by the names under which the programs were asked for.

    `path`: a file that keeps them (None: nothing is kept). In names and rows is spelt out what is
    no character: no file of JSON could hold it.
    """

    solvers: Sequence[str] | None
    budget: Budget
    path: Path | None = None
    _rows: dict[str, Comparison] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take in what the file holds.

        Raises UnknownNameError for an unknown solver; ProgramFormatError or UsageError for a file
        that is none of ours, or was made with other settings.
        """
        for name in self.solvers or ():
            find(name)
        if self.path is None or not holds_something(self.path):
            return
        body = read_json(self.path)
        require_header(body, FORMAT, VERSION, str(self.path))
        try:
            settings = {key: body[key] for key in self._settings}
            typed(body["rows"], list[_Kept])
            rows = {row["asked"]: {k: row[k] for k in row if k != "asked"} for row in body["rows"]}
            bare = [name for name, r in rows.items() if r["error"] is None and r["bound_s"] is None]
            if bare:
                raise ValueError(f"neither a bound nor an error of {bare[0]:.40}")
        except (KeyError, ValueError) as error:
            raise ProgramFormatError(
                f"{self.path}: not a bench's results ({error!s:.100}); name another file"
            ) from error
        if settings != self._settings:
            raise UsageError(f"{self.path}: holds results of {settings}; name another file")
        self._rows = rows

    @property
    def _settings(self) -> dict[str, Any]:
        solvers = None if self.solvers is None else list(self.solvers)
        return {"solvers": solvers, "seconds": self.budget.seconds, "seed": self.budget.seed}

    def one_by_one(self, names: Iterable[str]) -> Iterator[tuple[str, Comparison]]:
        """Compare on each program; yields its name and its comparison, or why there is none."""
        for name in names:
            program = self._missing(name)
            if program is not None:
                try:
                    body = compare(program, self.solvers, self.budget)
                except Exception as error:  # noqa: BLE001 - whatever fails is this program's row
                    body = failed(name, reason_of(error))
                self._keep(name, body)
            yield name, self._rows[as_text(name)]

    def on_cluster(
        self, names: Sequence[str], address: str, cores: int
    ) -> Iterator[tuple[str, Comparison]]:
        """As `one_by_one`, but all at once, in the order in which they end.

        Raises what `engine.workflows.cluster.compare_on_cluster` does.
        """
        from engine.workflows.cluster import compare_on_cluster

        found = {name: self._missing(name) for name in names}
        programs = {name: program for name, program in found.items() if program is not None}
        yield from ((name, self._rows[as_text(name)]) for name in names if name not in programs)
        asked = list(programs)
        for number, body in compare_on_cluster(
            list(programs.values()), self.solvers, self.budget, address, cores
        ):
            name = asked[number]
            self._keep(name, failed(name, str(body)) if isinstance(body, EngineError) else body)
            yield name, self._rows[as_text(name)]

    def _missing(self, name: str) -> Program | None:
        """The program, if there is no comparison on it yet; one that cannot be read gets a row."""
        try:
            program = library.resolve(name)
        except EngineError as error:
            self._keep(name, failed(name, reason_of(error)))
            return None
        row = self._rows.get(as_text(name))
        is_known = row is not None and row["content_hash"] == content_hash(program)
        return None if is_known else program

    def _keep(self, name: str, body: Comparison) -> None:
        self._rows[as_text(name)] = as_text(body)
        if self.path is not None:
            rows = [{"asked": asked, **row} for asked, row in self._rows.items()]
            head = {"format": FORMAT, "version": VERSION}
            body = {**head, **self._settings, "rows": rows}
            write_bytes(self.path, (json_text(body, str(self.path), indent=1) + "\n").encode())

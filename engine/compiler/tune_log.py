"""The candidates of a tuning run in a file, so that a run that was killed goes on with them.

Their outcomes are among the compiler's answers, which are kept on their own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from engine.compiler.candidates import EXPORT, KNOB, RANDOM, Candidate
from engine.compiler.export import Steering
from engine.errors import ProgramFormatError
from engine.program.io import read_json, require_header, write_bytes

FORMAT = "mallocmuzero-tuning"
VERSION = 1


class TuneLog:
    """Candidates in the order in which they came up. Raises ProgramFormatError for another file.

    `path`: None keeps them in memory only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.candidates: list[Candidate] = []
        if path is not None and path.exists():
            self.candidates = _read(path)

    def add(self, candidate: Candidate) -> None:
        """Keep a candidate, unless it is kept already."""
        if candidate in self.candidates:
            return
        self.candidates.append(candidate)
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(self._path, json.dumps(_body(self.candidates)).encode())


def _body(candidates: Sequence[Candidate]) -> dict[str, object]:
    rows = [
        {"title": c.steering.title, "origin": c.origin, "options": dict(c.steering.options)}
        for c in candidates
    ]
    return {"format": FORMAT, "version": VERSION, "candidates": rows}


def _read(path: Path) -> list[Candidate]:
    body = read_json(path)
    require_header(body, FORMAT, VERSION, str(path))
    try:
        candidates = []
        for row in body["candidates"]:
            if row["origin"] not in (KNOB, EXPORT, RANDOM):
                raise ValueError(f"no origin is called {row['origin']!r:.40}")
            options = {str(k): str(v) for k, v in row["options"].items()}
            candidates.append(Candidate(Steering(str(row["title"]), options), row["origin"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProgramFormatError(f"{path}: not a valid log ({error!r:.160})") from error
    return candidates

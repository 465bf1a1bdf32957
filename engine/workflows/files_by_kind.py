"""Files of any kind of ours, by what they hold: programs, plans, compiler flags, search traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.agent.trace_io import SearchTrace, load_trace, save_trace
from engine.compiler.steering import flags_file
from engine.compiler.steering.flags_file import Flags
from engine.errors import ProgramFormatError, UsageError
from engine.files import read_json
from engine.plan import io as plans
from engine.plan.model import Plan
from engine.program import io as programs
from engine.program import library
from engine.program.model import Program

Kind = Program | Plan | Flags | SearchTrace

_WORDS: dict[type, str] = {
    Program: "a program",
    Plan: "a plan",
    Flags: "compiler flags",
    SearchTrace: "a search trace",
}
_READERS: dict[str, Callable[[Any, str], Kind]] = {
    programs.FORMAT: programs.from_json,
    plans.FORMAT: plans.plan_from_json,
    flags_file.FORMAT: flags_file.flags_from_json,
}
_TRACE = ".npz"


def load(name_or_path: str, kind: type | None = None) -> Kind:
    """What a file holds, or the sample program of a name. `kind`: what it is to hold, if not any.

    Raises UsageError for a kind that there is not, UnknownNameError, ProgramFormatError for a file
    of no kind or of another one, and what the reader of its kind raises.
    """
    if kind is not None and not (isinstance(kind, type) and kind in _WORDS):
        raise UsageError(f"load: {kind!r:.60} is none of {', '.join(k.__name__ for k in _WORDS)}")
    found = _load(name_or_path)
    if kind is not None and not isinstance(found, kind):
        held = _WORDS[type(found)]
        raise ProgramFormatError(f"{name_or_path}: holds {held}, not {_WORDS[kind]}")
    return found


def _load(name_or_path: str) -> Kind:
    path = Path(name_or_path)
    if path.suffix == _TRACE:
        return load_trace(path)
    if not library.looks_like_file(path):
        return library.resolve(name_or_path)
    body = read_json(path)
    said = body.get("format") if isinstance(body, dict) else None
    reader = _READERS.get(said) if isinstance(said, str) else None
    if reader is None:
        kinds = ", ".join(_WORDS.values())
        raise ProgramFormatError(f"{path}: holds none of {kinds} (its 'format' is {said!r:.60})")
    return reader(body, str(path))


def save(content: Kind, path: Path) -> None:
    """Write a file of its kind, whole or not at all; a search trace's name ends in `.npz`.

    Raises ProgramFormatError for a path that cannot be written, UsageError for other content.
    """
    if isinstance(content, SearchTrace) != (path.suffix == _TRACE):
        raise UsageError(f"save: {path}: search traces, and nothing else, are saved as {_TRACE}")
    match content:
        case Program():
            programs.save(content, path)
        case Plan():
            plans.save_plan(content, path)
        case Flags():
            flags_file.save_flags(content, path)
        case SearchTrace():
            save_trace(content, path)
        case _:
            kinds = ", ".join(_WORDS.values())
            raise UsageError(f"save: {type(content).__name__} is none of {kinds}")

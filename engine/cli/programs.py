"""`programs`: the programs that ship with the project, set by set."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from engine.cli.arguments import add_command
from engine.cli.output import show
from engine.program import library
from engine.program.library import SampleEntry

SETS: Mapping[str, Callable[[], tuple[SampleEntry, ...]]] = {
    "samples": library.index,
    "held out": library.held_out,
    "large": library.large,
    "real": library.real,
}


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "the programs that ship with the project, set by set"
    parser = add_command(commands, "programs", run, about)
    parser.add_argument("search", nargs="*", metavar="SEARCH", help="words; none: all programs")


def run(options: argparse.Namespace) -> int:
    """List the programs in which all words occur."""
    words = [word.lower() for word in options.search]
    found = {
        title: [e for e in entries() if all(word in _text(title, e) for word in words)]
        for title, entries in SETS.items()
    }
    body = {"programs": [_row(title, e) for title, some in found.items() for e in some]}
    lines = []
    for title, some in found.items():
        lines += [f"{title}:", *(f"  {e.name:34} {_what(e)}" for e in some)] if some else []
    show(options, body, lines or ["no program has these words; try fewer"])
    return 0


def _row(title: str, entry: SampleEntry) -> dict[str, Any]:
    return {
        "set": title,
        "name": entry.name,
        "title": entry.title,
        "hardware": entry.hardware,
        "feature": entry.feature,
        "is_held_out": entry.is_held_out or title == "held out",
        "instructions": entry.instructions,
        "xla_latency_s": entry.xla_latency_s,
        "bound_s": entry.bound_s,
        "best_s": entry.best_s,
        "best_solver": entry.best_solver,
    }


def _what(entry: SampleEntry) -> str:
    held_out = " (held out)" if entry.is_held_out else ""
    return f"{entry.feature}{held_out}: {entry.title}" if entry.feature else entry.title


def _text(title: str, entry: SampleEntry) -> str:
    return f"{title} {entry.name} {_what(entry)}".lower()

"""`mine`: positions for the page Challenges, from strong games on the samples; resumable."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.cli.arguments import add_command, add_output, names, refuse_given
from engine.cli.output import note, show
from engine.errors import StalePositionsError, UsageError
from engine.lessons.positions import FILE, Mined, read_positions, write_positions
from engine.plan.io import load_plan, plan_from_json
from engine.plan.model import Plan
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.solvers.registry import refuse_bad_budget

_TRIES = 300
_MOST_TOUCHES = 700
"""A game of more moves is too long for a visitor, and for this."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "positions in which the tempting move is wrong, from strong games on the samples"
    parser = add_command(commands, "mine", run, about)
    add_output(parser, "-o", "--output", default=FILE, metavar="FILE.json")
    parser.add_argument(
        "--programs",
        type=names,
        help="comma-separated; default: those of fitting size on which greedy is not the best, and"
        " those of the file that have changed",
    )
    parser.add_argument("--tries", type=int, help=f"for each program; default: {_TRIES}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="also programs that are there already")
    parser.add_argument(
        "--describe",
        action="store_true",
        help="mine nothing; measure themes and difficulty of the positions that are there",
    )


def run(options: argparse.Namespace) -> int:
    """Mine one program after another; the file is written after each."""
    from engine.lessons.mining import LEAST_TRIES, described, mine

    refuse_bad_budget(1.0, options.seed)
    if options.describe:
        searching = {"tries": options.tries, "again": options.again}
        refuse_given("mine", "is for a search; leave it out with --describe", **searching)
        return _describe(options)
    tries = _TRIES if options.tries is None else options.tries
    if tries < LEAST_TRIES:
        raise UsageError(f"mine: --tries {tries}: name a whole number from {LEAST_TRIES} on")
    games = _known(options.output)
    for entry in [*map(library.find_sample, _names(options, games))]:
        name, program = entry.name, library.load_entry(entry)
        if _is_there(games, entry) and not options.again:
            note(f"{name}: is there already")
            continue
        plans = plans_of(entry, program)
        mined = mine(program, plans, tries, options.seed, note)
        games[name] = tuple(described(program, game, options.seed, note) for game in mined)
        write_positions(_in_order(games), options.output)
    count = sum(len(mined.moves) for mined in _in_order(games))
    body = {"file": str(options.output), "programs": len(games), "positions": count}
    show(options, body, [f"{count} positions of {len(games)} programs in {options.output}"])
    return 0


def _describe(options: argparse.Namespace) -> int:
    """Measure what is not measured yet; the file is written after each game."""
    from engine.lessons.mining import described

    games = list(read_positions(options.output))
    if not games:
        raise UsageError(f"mine: {options.output} has no positions; leave --describe out first")
    there = {mined.program for mined in games}
    wanted = there if options.programs is None else options.programs
    if missing := [name for name in wanted if name not in there]:
        raise UsageError(f"mine: {options.output} has no positions of {', '.join(missing)}")
    for number, mined in enumerate(games):
        if mined.program in wanted:
            program = library.load_sample(mined.program)
            games[number] = described(program, mined, options.seed, note)
            write_positions(games, options.output)
    count = sum(len(mined.about) for mined in games)
    body = {"file": str(options.output), "positions": count}
    show(options, body, [f"{count} positions described in {options.output}"])
    return 0


def plans_of(entry: SampleEntry, program: Program) -> list[Plan]:
    """The best plan known of a sample and XLA's own, as far as there are files of them."""
    plans = [load_plan(entry.best_plan_path)] if entry.best_plan_path else []
    compiled = program.provenance.get("xla_plan")
    if compiled is not None:
        plans.append(plan_from_json(compiled, f"{entry.name}: provenance.xla_plan"))
    return plans


def _known(path: Path) -> dict[str, tuple[Mined, ...]]:
    """The games in a file of positions, by program; none if it is missing or of other rules.

    Raises LessonError for another file, which would be lost.
    """
    try:
        known = read_positions(path)
    except StalePositionsError as error:
        note(f"begun anew: {error}")
        return {}
    told = list(dict.fromkeys(mined.program for mined in known))
    for name in told:
        if not library.is_sample(name):
            note(f"{name}: is no sample any more; its positions are dropped")
    there = [name for name in told if library.is_sample(name)]
    return {name: tuple(m for m in known if m.program == name) for name in there}


def _names(options: argparse.Namespace, games: dict[str, tuple[Mined, ...]]) -> Sequence[str]:
    """The programs asked for, or the default; `games`: those of the file."""
    if options.programs is not None:
        asked: list[str] = options.programs
        return asked
    entries = [e for e in library.index() if e.xla_latency_s is not None]
    entries = [e for e in entries if e.best_solver != "greedy" and e.touches <= _MOST_TOUCHES]
    changed = [name for name in games if not _is_there(games, library.find_sample(name))]
    return list(dict.fromkeys([*(entry.name for entry in entries), *changed]))


def _is_there(games: dict[str, tuple[Mined, ...]], entry: SampleEntry) -> bool:
    """Whether there are games of that very program."""
    return entry.name in games and games[entry.name][0].content_hash == entry.content_hash


def _in_order(games: dict[str, tuple[Mined, ...]]) -> list[Mined]:
    """The games of all programs, by the programs' names."""
    return [mined for name in sorted(games) for mined in games[name]]

"""`analyse`: what a search trace says of the agent; `ab`: two agents on the same programs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.arguments import add_command, add_output, add_program, names
from engine.cli.output import note, show, warn_of_unestimated
from engine.errors import CheckpointError, UsageError
from engine.files import as_text, write_bytes
from engine.hardware.unestimated_share import unestimated_remark
from engine.program import library
from engine.solvers.registry import refuse_bad_budget

if TYPE_CHECKING:
    from engine.debugging.agent_games import Side
    from engine.debugging.debug_report import Block
    from engine.debugging.findings import Finding

_MOST_ROWS, _MOST_WORDS = 50, 5
"""Findings in JSON, and in words."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "what a search trace says of the agent: calibration, drift, surprises, regrets"
    parser = add_command(commands, "analyse", run, about)
    add_program(parser)
    parser.add_argument("trace", type=Path, metavar="trace.npz", help="of solve --trace")
    parser.add_argument("--seconds", type=float, default=10.0, help="to look for regrets")
    report = "the inbox of findings: .html, or .md for Markdown"
    add_output(parser, "--report", metavar="FILE", help=report)
    parser = add_command(commands, "ab", run_ab, "two checkpoints, or two settings, play programs")
    parser.add_argument("--programs", type=names, help="comma-separated; default: all samples")
    for side in ("first", "second"):
        parser.add_argument(
            f"--{side}", metavar="FOLDER", help="a checkpoint; default: the shipped"
        )
        parser.add_argument(f"--{side}-model", metavar="MODEL", help="learned, simulator, policy")
        parser.add_argument(f"--{side}-simulations", type=int, metavar="N", help="per move")
    add_output(parser, "--report", metavar="FILE", help=".html or .md")


def run(options: argparse.Namespace) -> int:
    """Report on one traced game."""
    from engine.agent.trace_io import load_trace
    from engine.debugging.debug_report import GameReport, blocks
    from engine.debugging.findings import findings
    from engine.debugging.games import traced_game
    from engine.debugging.play_report import in_words, report
    from engine.debugging.regret import study_of

    _refuse_report(options.report)
    refuse_bad_budget(options.seconds)
    program, trace = library.resolve(options.program), load_trace(options.trace)
    game = traced_game(program, trace)
    if game is None:
        raise CheckpointError(
            f"{options.trace}: it is not a game of {program.name} as it is here;"
            f" name {trace.program}, or trace anew"
        )
    study = study_of(trace, program, game.rules)
    body = report(trace, study, seconds=options.seconds)
    all_findings = findings(options.trace.name, trace, study)
    body["findings"] = [asdict(finding) for finding in inbox_of(all_findings)]
    if options.report is not None:
        facts = {"model": trace.model, "saves": f"{study.saved_us:.3f} us against all slow"}
        remark = unestimated_remark(program)
        facts |= {"costs": remark} if remark else {}
        shown = GameReport(options.trace.name, facts, all_findings, study.completeness)
        write_report(options.report, program.name, blocks(program.name, [shown]))
    show(options, body, [*in_words(body), *finding_lines(body["findings"])])
    warn_of_unestimated(program)
    return 0


def run_ab(options: argparse.Namespace) -> int:
    """Let two agents play, and say where the second is better and where worse."""
    from engine.agent.compile_cache import keep_compiled
    from engine.compiler.toolchain.libtpu import use_no_tpu_here
    from engine.debugging.ab import duel
    from engine.debugging.debug_report import blocks

    _refuse_report(options.report)
    use_no_tpu_here()
    keep_compiled()
    asked = library.sample_names() if options.programs is None else options.programs
    programs = [library.resolve(name) for name in asked]
    sides = [_side(options, which) for which in ("first", "second")]

    def progress(share: float, word: str) -> bool:
        del share
        note(word)
        return True

    result = duel(programs, sides[0], sides[1], progress)
    assert result is not None, "nobody said no"
    body = result.to_json()
    if options.report is not None:
        title = ", ".join(asked)
        write_report(options.report, title, blocks(title, [], body))
    lines = [
        f"{bout.program:28} {bout.first_s * 1e6:14.3f} us  {bout.second_s * 1e6:14.3f} us"
        f"  {bout.change_share:+8.2%}"
        for bout in result.bouts
    ]
    show(options, body, [f"{result.first} | {result.second}", *lines])
    return 0


def _side(options: argparse.Namespace, which: str) -> Side:
    from engine.agent.checkpoint import load_checkpoint
    from engine.debugging.agent_games import Side
    from engine.solvers.practice import GENERALIST

    given = getattr(options, which)
    folder = GENERALIST if given is None else Path(given)
    checkpoint = load_checkpoint(folder)
    side = Side(folder.name, checkpoint.config, checkpoint.params)
    changes = {
        name: value
        for name, value in (
            ("model", getattr(options, f"{which}_model")),
            ("num_simulations", getattr(options, f"{which}_simulations")),
        )
        if value is not None
    }
    if not changes:
        return side
    if "num_simulations" in changes and changes.get("model", side.config.search.model) == "policy":
        raise UsageError(f"ab: --{which}-simulations is of a search; the model policy has none")
    settings = ", ".join(f"{name} {value}" for name, value in changes.items())
    return replace(side.with_search(**changes), name=f"{folder.name}, {settings}")


def inbox_of(findings: Sequence[Finding]) -> list[Finding]:
    """The rows of the inbox that are printed: the first `_MOST_ROWS`."""
    from engine.debugging.findings import inbox

    return inbox(findings)[:_MOST_ROWS]


def finding_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each of the first rows that has a verdict; the first move is move 1."""
    return [
        f"{row['verdict']:10} move {row['move'] + 1}: {row['action']} of {row['tensor']},"
        f" {row['better']} is better by {row['regret_us']:.3f} us"
        for row in rows[:_MOST_WORDS]
        if row["verdict"]
    ]


def _refuse_report(path: Path | None) -> None:
    """Before the work: raises UsageError for a report of no known kind."""
    if path is not None and path.suffix not in (".html", ".md"):
        raise UsageError(f"{path}: a report ends in .html or .md")


def write_report(path: Path, title: str, blocks: Sequence[Block]) -> None:
    """Write a report of its kind; in names of files is spelt out what is no character."""
    from engine.debugging.debug_report import html, markdown

    text = html(title, blocks) if path.suffix == ".html" else markdown(blocks)
    write_bytes(path, as_text(text).encode())

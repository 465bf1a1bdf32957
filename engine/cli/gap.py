"""`gap`: what the distance from a plan to the bound is made of."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.arguments import add_command, add_program
from engine.cli.output import note, show, time_text, warn_of_unestimated
from engine.game.moves import ACTION_NAMES
from engine.game.notes import notes_of
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.plan.io import load_plan
from engine.plan.model import Plan
from engine.program import library
from engine.program.model import Program
from engine.solvers.best_known import best_known
from engine.solvers.registry import refuse_bad_budget

if TYPE_CHECKING:
    from engine.debugging.gap_account import Account

_LEAST_SHARE = 1e-4
"""Of the gap; what is less is noise."""
_MOST_LINES = 8
_BOUND_SECONDS = 60.0


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "what the gap from a plan to the bound is made of: decisions, what is open, the bound"
    parser = add_command(commands, "gap", run, about)
    add_program(parser)
    parser.add_argument(
        "plan", type=Path, nargs="?", metavar="plan.json", help="default: greedy's game"
    )
    parser.add_argument(
        "--best", type=Path, metavar="plan.json", help="default: the best plan known"
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="to correct decisions")


def run(options: argparse.Namespace) -> int:
    """Say where the gap comes from."""
    from engine.debugging.gap_account import account, correct

    refuse_bad_budget(options.seconds)
    program = library.resolve(options.program)
    entry = library.entry_of(program)
    bound_s = None if entry is None else entry.bound_s
    plan = load_plan(options.plan) if options.plan else _greedy(program)
    if options.best:
        best: Plan | None = load_plan(options.best)
    else:
        best = None if entry is None else best_known(entry, program)
    if bound_s is None:
        from engine.plan.bounds import lower_bound

        note("the bound of this program is not known yet; it is computed")
        bound_s = lower_bound(program, _BOUND_SECONDS).bound_s
    corrections = correct(program, plan, best, seconds=options.seconds)
    found = account(program, plan, best, bound_s, corrections.found)
    show(options, body_of(program, found), list(_lines(program, found)))
    warn_of_unestimated(program)
    return 0


def _greedy(program: Program) -> Plan:
    """Greedy's game, with its moves noted."""
    game = ReferenceGame(program)
    while not game.is_over:
        game.step(best_action(game))
    return game.plan("greedy", notes_of(game))


def body_of(program: Program, found: Account) -> dict[str, Any]:
    """The account as JSON: its parts in seconds, the decisions, and the open slots."""
    return {
        "program": program.name,
        "plan_s": found.plan_s,
        "best_s": found.best_s,
        "bound_s": found.bound_s,
        "gap_s": found.gap_s,
        "explained_s": found.explained_s,
        "open_s": found.open_s,
        "bounds_s": found.bounds_s,
        "decisions": [
            {
                "move": c.move,
                "slot": c.time,
                "tensor": _tensor(program, c.group),
                "played": ACTION_NAMES[c.played],
                "better": ACTION_NAMES[c.better],
                "gain_s": c.gain_s,
            }
            for c in found.corrections
        ],
        "open": [
            {
                "slot": o.time,
                "cost_s": o.cost_s,
                "tensors": [[_tensor(program, s.group), s.cost_s] for s in o.shares],
            }
            for o in found.open
        ],
    }


def _lines(program: Program, found: Account) -> list[str]:
    lines = [
        f"{time_text(found.gap_s)} to the bound: {time_text(found.explained_s)} explained by"
        f" {len(found.corrections)} decisions, {time_text(found.open_s)} open,"
        f" {time_text(found.bounds_s)} the bound's"
    ]
    for c in sorted(found.corrections, key=lambda c: -c.gain_s)[:_MOST_LINES]:
        lines.append(
            f"  move {c.move + 1}, slot {c.time}: {ACTION_NAMES[c.better]} in place of"
            f" {ACTION_NAMES[c.played]} of {_tensor(program, c.group)} saves {time_text(c.gain_s)}"
        )
    for o in [o for o in found.open if o.cost_s > _LEAST_SHARE * found.gap_s][:_MOST_LINES]:
        lines.append(
            f"  open at slot {o.time}: {_tensor(program, o.group)}, {time_text(o.cost_s)},"
            f" {o.cost_s / found.gap_s:.1%}"
        )
    return lines


def _tensor(program: Program, group: int) -> str:
    return program.values[program.groups[group].values[0]].name

"""The section `replays`: the share of a plan's saving that its replay as moves reaches.

The best plan known and XLA's are replayed, of every sample, every program that was held out and
every large one. Places are the plan's own.
"""

from __future__ import annotations

import time

from benchmarks.rows import RESULTS, Row, commit, dependencies, keep_of, read
from benchmarks.settings import Settings
from engine.game.replay import replay
from engine.plan.check import check
from engine.plan.io import load_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.program.provenance import has_compiled_plan
from engine.solvers import SOLVERS, solve

GOALS = {"best": (0.98, 0.95), "XLA": (0.99, 0.99)}
"""Share of the saving to reach on nine programs of ten, and on the others."""


def run(section: str, settings: Settings) -> None:
    """Replay the plans of all programs, or of those asked for: the rows of others stay."""
    path = RESULTS / f"{section}.json"
    for entry in (*library.index(), *library.held_out(), *library.large()):
        if not settings.programs or entry.name in settings.programs:
            of = dependencies(section, entry.name)
            keep_of(path, (entry.name,), [{**row, **of} for row in _rows(entry)])
    rows = read(path)
    for kind, (usual, least) in GOALS.items():
        shares = [row["share"] for row in rows if row["plan"] == kind]
        if shares:
            print(
                f"{kind}: {usual:.0%} or more on {sum(s >= usual for s in shares)} of"
                f" {len(shares)}, {least:.0%} on {sum(s >= least for s in shares)},"
                f" least {min(shares):.1%}"
            )


def _rows(entry: SampleEntry) -> list[Row]:
    program = library.load_entry(entry)
    plans = {"best": best_plan(entry, program)}
    if has_compiled_plan(program):
        plans["XLA"] = solve("xla_compiled", program)
    rows = [_row(program, kind, plan) for kind, plan in plans.items() if plan is not None]
    for row in rows:
        print("{program:28} {plan:5} {share:8.2%} {seconds:6.1f} s".format(**row), flush=True)
    return rows


def best_plan(entry: SampleEntry, program: Program) -> Plan | None:
    """The best plan known: kept in a file, else made by a quick solver; None if not at hand."""
    if entry.best_plan_path is not None:
        return load_plan(entry.best_plan_path)
    solver = entry.best_solver
    return solve(solver, program) if solver is not None and solver in SOLVERS else None


def _row(program: Program, kind: str, plan: Plan) -> Row:
    begun = time.perf_counter()
    game = replay(program, plan)
    seconds = time.perf_counter() - begun
    played = game.plan("replay")
    assert check(program, played) is None
    saving, reached = _saving(program, plan), _saving(program, played)
    return {
        "program": program.name,
        "plan": kind,
        "solver": plan.solver,
        "share": reached / saving if saving > 0 else 1.0,
        "seconds": seconds,
        "commit": commit(),
    }


def _saving(program: Program, plan: Plan) -> float:
    result = simulate(program, plan)
    return result.all_slow_s - result.latency_s

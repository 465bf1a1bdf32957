"""The section `best-plans`: better plans become the best known of the captured programs.

Each of the solvers that are asked for solves every captured program, in `--seconds` each. Before
that, the games that rows of the agent's sections and of the table note are played again, checked
and timed. Rows that note no game, or whose program has other costs by now, are left out; of equally
good games the one that took less time counts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

from benchmarks.agent import SECTIONS
from benchmarks.bounds import captured
from benchmarks.rows import RESULTS, Row, read
from benchmarks.settings import Settings
from benchmarks.solver_table import ROWS as TABLE_ROWS
from engine.game.moves import RULES_VERSION, Rules
from engine.game.notes import plan_from_actions, planned_of
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.solvers import Budget, solve
from engine.workflows.catalogue import keep_best

SECONDS = 20.0


def noted_rows() -> list[Row]:
    """Rows of all sections that note a game of these rules; those that had less time first."""
    paths = [TABLE_ROWS, *(RESULTS / f"agent_{section}.json" for section in SECTIONS)]
    rows = [row for path in paths for row in read(path)]
    noted = [row for row in rows if row.get("moves") and row.get("rules") == RULES_VERSION]
    return sorted(noted, key=lambda row: (row["key"][2], row["key"]))


def plan_of(row: Row) -> Plan:
    """The plan of a row. Raises ValueError if it is not what was measured."""
    name, solver, _, seed, _ = row["key"]
    program = library.load_sample(name)
    actions = [int(digit) for digit in row["moves"]]
    rules = Rules(place=row["place"], planned=planned_of(row.get("planned")))
    plan = plan_from_actions(program, actions, solver, rules)
    if not math.isclose(simulate(program, plan).latency_s, row["latency_s"], rel_tol=1e-9):
        raise ValueError(f"{row['key']}: the game is not the one that was measured")
    facts = {"games": row["games"], "seed": seed, "seconds": row["took_s"]}
    return replace(plan, notes={**facts, **plan.notes})


def run(section: str, settings: Settings) -> None:
    """Keep every plan that is better than the best known."""
    del section
    for row in noted_rows():
        try:
            plan = plan_of(row)
        except ValueError as error:
            # Of the program as it was before its costs were fitted anew.
            print(f"{row['key']}: passed over ({error})", flush=True)
            continue
        _keep(row["key"][0], plan)
    names = settings.programs or captured()
    budget = Budget(SECONDS if settings.seconds is None else settings.seconds, settings.seed)
    for name, solver in product(names, settings.solvers):
        _keep(name, solve(solver, library.load_sample(name), budget))


def _keep(name: str, plan: Plan) -> None:
    if keep_best(library.find_sample(name).folder, name, plan):
        latency_s = simulate(library.load_sample(name), plan).latency_s
        print(f"{name}: {plan.solver}, {latency_s * 1e6:.1f} µs", flush=True)

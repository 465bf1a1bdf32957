"""Runs of the local search on random programs, as JSON: the same compiled and interpreted.

As a script it prints them, compiled.
"""

from __future__ import annotations

import json
from typing import Any

from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.solvers.local.compiled import Code, interpreted
from engine.solvers.local.search import Run, compile_all
from engine.solvers.local.state import NUM_STAYS
from tests.strategies import random_program

PROGRAMS = 24
MOVES = 30


def record(seed: int, code: Code) -> dict[str, Any]:
    """One run: what the search believes after every move, and its best plan."""
    program = random_program(seed, 5 + 3 * seed)
    run = Run(program, seed, code=code)
    run.build(lambda: True)
    told, stays = [], []
    for most in range(MOVES + 1):
        run.make_moves(most)
        told.append(float(run.state.sums[:2].sum()))
        rows = run.state.listed[: run.state.counts[NUM_STAYS]]
        stays.append(sorted(run.state.stay[rows].tolist()))
    run.settle_on_best()
    best = run.plan({})
    assert check(program, best) is None
    again = Run(program, seed, code=code)
    again.load(best)
    return {
        "told_s": told,
        "present": stays,
        "best_s": simulate(program, best).latency_s,
        "stays": [[s.group, s.offset, s.start, s.end] for s in best.stays],
        "copies": [[c.group, c.is_prefetch, c.start, c.deadline] for c in best.copies],
        "is_fast": list(best.is_fast),
        "is_taken_up": again.plan({}) == best,
    }


def main() -> None:
    """Print all runs."""
    code = compile_all(lambda share, word: True)
    runs = [record(seed, code) for seed in range(PROGRAMS)]
    print(json.dumps({"is_interpreted": code is interpreted, "runs": runs}))


if __name__ == "__main__":
    main()

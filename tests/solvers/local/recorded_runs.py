"""Runs of the local search on random programs, as JSON: the same compiled and interpreted.

As a script it prints them, compiled unless the environment says `NUMBA_DISABLE_JIT=1`.
"""

from __future__ import annotations

import json
from typing import Any

from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.solvers.local.compiled import IS_INTERPRETED
from engine.solvers.local.search import Run, compile_all
from tests.strategies import random_program

PROGRAMS = 24
MOVES = 30


def record(seed: int) -> dict[str, Any]:
    """One run: after every move the times that the search believes in, and the plan's own."""
    program = random_program(seed, 5 + 3 * seed)
    run = Run(program, seed)
    run.build(lambda: True)
    told, simulated = [], []
    for most in range(MOVES + 1):
        run.make_moves(most)
        plan = run.plan({})
        assert check(program, plan) is None
        simulated.append(simulate(program, plan).latency_s)
        told.append(float(run.state.sums[:2].sum()))
    run.settle_on_best()
    best = run.plan({})
    again = Run(program, seed)
    again.load(best)
    return {
        "told_s": told,
        "simulated_s": simulated,
        "stays": [[s.group, s.offset, s.start, s.end] for s in best.stays],
        "copies": [[c.group, c.is_prefetch, c.start, c.deadline] for c in best.copies],
        "is_fast": list(best.is_fast),
        "is_taken_up": again.plan({}) == best,
    }


def main() -> None:
    """Print all runs."""
    compile_all(lambda share, word: True)
    runs = [record(seed) for seed in range(PROGRAMS)]
    print(json.dumps({"is_interpreted": IS_INTERPRETED, "runs": runs}))


if __name__ == "__main__":
    main()

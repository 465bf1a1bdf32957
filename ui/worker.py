"""One solver run in a process of its own: `python -m ui.worker PROGRAM SOLVER SECONDS SEED PLAN`.

The explorer starts it so that a long search neither blocks the page nor loads its libraries there,
and so that it can be stopped. Each line on standard output is one JSON object: `share` and
`message` while it runs; at the end `error`, or `done` once the plan file is written. The solver
name `lower_bound` writes a file with `bound_s` and `method` instead of a plan.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.program.io import load

BOUND = "lower_bound"


def main(arguments: list[str]) -> int:
    """Run; returns the exit status, 2 for an error that the user can cause."""
    program_path, solver, seconds, seed, result_path = arguments
    try:
        if solver == BOUND:
            _bound(Path(program_path), float(seconds), Path(result_path))
        else:
            _solve(Path(program_path), solver, float(seconds), int(seed), Path(result_path))
    except EngineError as error:
        _tell({"error": str(error)})
        return 2
    _tell({"done": True})
    return 0


def _solve(program_path: Path, solver: str, seconds: float, seed: int, result_path: Path) -> None:
    # Imported here: the bound needs none of the solvers' libraries.
    import engine.solvers  # noqa: F401  (fills the registry)
    from engine.plan.io import save_plan
    from engine.solvers.registry import Budget, solve

    def progress(share: float, message: str) -> bool:
        _tell({"share": share, "message": message})
        return True

    plan = solve(solver, load(program_path), Budget(seconds, seed, progress))
    save_plan(plan, result_path)


def _bound(program_path: Path, seconds: float, result_path: Path) -> None:
    from engine.plan.bounds import lower_bound

    found = lower_bound(load(program_path), seconds)
    result_path.write_text(json.dumps({"bound_s": found.bound_s, "method": found.method}))


def _tell(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

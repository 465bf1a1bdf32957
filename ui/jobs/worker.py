"""One long piece of work in a process of its own: `python -m ui.jobs.worker FOLDER`.

The explorer starts it so that a long search neither blocks the page nor loads its libraries there,
and so that it can be stopped. `ui.jobs.protocol` says what the folder holds and what is written.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.plan.io import load_plan, save_plan
from engine.processes import end_with_parent
from engine.program.io import load
from ui.jobs.protocol import (
    BASIS,
    BOUND,
    DUEL,
    FINDINGS,
    FOLLOW,
    FORCE,
    GAP,
    MUZERO,
    ORDER,
    PLAN,
    PLAY,
    PROGRAM,
    RELIEF,
    RESEARCH,
    RESULT,
    RETRACE,
    SOLVE,
    TUNE,
    VERIFY,
)

NICE = 3
"""The niceness of a worker: it gets half of the processor time of a page's process. Stepping
through a game stays quick, and what a visitor started still gets on while the machine is busy."""


MOST_MEMORY_BYTES = 16 * 2**30
MOST_FILE_BYTES = 2**30
"""What one run may take; with two runs at a time, what visitors may take of the machine."""


def main(arguments: list[str]) -> int:
    """Run; returns the exit status, 2 for an error that the user can cause."""
    end_with_parent()
    os.nice(NICE)
    _limit(resource.RLIMIT_AS, MOST_MEMORY_BYTES)
    _limit(resource.RLIMIT_FSIZE, MOST_FILE_BYTES)
    folder = Path(arguments[0])
    order = json.loads((folder / ORDER).read_text())
    try:
        _KINDS[order["kind"]](folder, order)
    except EngineError as error:
        _tell({"error": str(error)})
        return 2
    _tell({"done": True})
    return 0


def _limit(what: int, most: int) -> None:
    """Lower a limit of this process; one that is lower already stays."""
    soft, hard = (
        most if old == resource.RLIM_INFINITY else min(most, old)
        for old in resource.getrlimit(what)
    )
    resource.setrlimit(what, (soft, hard))


def _solve(folder: Path, order: dict[str, Any]) -> None:
    if order["name"] == MUZERO:
        from ui.jobs import agent

        _write(folder, agent.practise(folder, order, _progress))
        return
    from engine.solvers.registry import Budget, solve

    budget = Budget(order["seconds"], order["seed"], _progress)
    save_plan(solve(order["name"], load(folder / PROGRAM), budget), folder / PLAN)


def _bound(folder: Path, order: dict[str, Any]) -> None:
    from engine.plan.bounds import lower_bound

    def progress(share: float, bound_s: float) -> bool:
        return _progress(share, f"no plan is below {1e6 * bound_s:.2f} us")

    program = load(folder / PROGRAM)
    bound = lower_bound(program, order["seconds"], "mip", progress=progress)
    _write(folder, {"bound_s": bound.bound_s, "method": bound.method})


def _relief(folder: Path, order: dict[str, Any]) -> None:
    from engine.analysis.peak import relieve

    details = dict(order["details"])
    plan = load_plan(folder / BASIS)
    relief = relieve(load(folder / PROGRAM), plan, details["slot"], details["wanted"])
    save_plan(relief.plan, folder / PLAN)
    numbers = ["slot", "wanted_bytes", "used_before", "used_after", "hole_before", "hole_after"]
    numbers += ["before_s", "after_s", "game_s", "freed_bytes", "is_enough"]
    dropped = [{"group": r.group, "next_use": r.next_use} for r in relief.dropped]
    _write(folder, {**{n: getattr(relief, n) for n in numbers}, "dropped": dropped})


def _follow(folder: Path, order: dict[str, Any]) -> None:
    del order
    from engine.game.notes import notes_of
    from engine.game.replay import game_of

    def tell(share: float) -> None:
        _progress(share, "the plan is played as moves of the game")

    game = game_of(load(folder / PROGRAM), load_plan(folder / BASIS), tell)
    _write(folder, notes_of(game))


def _play(folder: Path, order: dict[str, Any]) -> None:
    from ui.jobs import agent

    _write(folder, agent.play_on(folder, order, _progress))


def _research(folder: Path, order: dict[str, Any]) -> None:
    from ui.jobs import agent

    _write(folder, agent.search_again(folder, order, _progress))


def _retrace(folder: Path, order: dict[str, Any]) -> None:
    from ui.jobs import agent

    _write(folder, agent.trace_again(folder, order, _progress))


def _findings(folder: Path, order: dict[str, Any]) -> None:
    from ui.jobs import what_if

    _write(folder, what_if.find(folder, order, _progress))


def _gap(folder: Path, order: dict[str, Any]) -> None:
    from ui.jobs import what_if

    _write(folder, what_if.explain_gap(folder, order, _progress))


def _force(folder: Path, order: dict[str, Any]) -> None:
    from ui.jobs import what_if

    _write(folder, what_if.force(folder, order, _progress))


def _duel(folder: Path, order: dict[str, Any]) -> None:
    from ui.jobs import what_if

    _write(folder, what_if.compete(folder, order, _progress))


def _verify(folder: Path, order: dict[str, Any]) -> None:
    from ui.jobs import compiling

    _write(folder, compiling.verify(folder, order, _progress))


def _tune(folder: Path, order: dict[str, Any]) -> None:
    from ui.jobs import compiling

    _write(folder, compiling.tune(folder, order, _progress))


def _progress(share: float | None, message: str) -> bool:
    _tell({"share": share, "message": message})
    return True


_KINDS: dict[str, Callable[[Path, dict[str, Any]], None]] = {
    SOLVE: _solve,
    BOUND: _bound,
    RELIEF: _relief,
    FOLLOW: _follow,
    PLAY: _play,
    RESEARCH: _research,
    RETRACE: _retrace,
    FINDINGS: _findings,
    GAP: _gap,
    FORCE: _force,
    DUEL: _duel,
    VERIFY: _verify,
    TUNE: _tune,
}


def _write(folder: Path, result: dict[str, Any]) -> None:
    (folder / RESULT).write_text(json.dumps(result))


def _tell(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What the moves of a game cost, looked for in a process of its own (`ui.jobs.worker`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.agent.trace_io import load_trace
from engine.analysis.regret import study_of
from engine.analysis.surprise import surprises
from engine.game.moves import ACTION_NAMES
from engine.game.notes import noted_rules
from engine.plan.io import load_plan
from engine.program.io import load
from ui.jobs.protocol import BASIS, PROGRAM, TRACE, Progress


def regrets(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Regrets of the game of the given trace, most surprising moves first, while there is time.

    `moves`: by the move's number, `regret_us`, `better` (the other action, if it is better) and
    `punished` (the share that is felt at once, if there is any). `completeness`: of the study.
    """
    trace, rules = load_trace(folder / TRACE), noted_rules(load_plan(folder / BASIS))
    assert rules is not None, "the basis is a game with notes"
    study = study_of(trace, load(folder / PROGRAM), rules)
    found: dict[str, dict[str, Any]] = {}
    for regret in study.run(surprises(trace).order(), order["seconds"]):
        is_better = regret.regret_us > 0
        found[str(regret.move)] = {
            "regret_us": regret.regret_us,
            "better": ACTION_NAMES[regret.other.action] if is_better else "",
            "punished": regret.punished if is_better else None,
        }
        progress(study.completeness, f"{len(found):,} of {len(study.choices):,} moves")
    return {"moves": found, "completeness": study.completeness}

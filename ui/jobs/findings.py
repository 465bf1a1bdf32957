"""The findings on a game's moves, computed in a process of their own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.agent.trace_io import load_trace
from engine.debugging.findings import findings
from engine.debugging.regret import study_of
from engine.debugging.surprise import surprises
from engine.game.notes import noted_rules
from engine.plan.io import load_plan
from engine.program.io import load
from ui.jobs.protocol import BASIS, PROGRAM, TRACE, Progress


def find(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Findings of the game of the given trace; regrets of the most surprising moves come first.

    Returns `findings`, the fields of each (`engine.debugging.findings.Finding`), and
    `completeness`, the share of the moves with a choice whose regret is known.
    """
    trace, rules = load_trace(folder / TRACE), noted_rules(load_plan(folder / BASIS))
    assert rules is not None, "the basis is a game with notes"
    study = study_of(trace, load(folder / PROGRAM), rules)
    for _ in study.run(surprises(trace).order(), order["seconds"]):
        word = f"{len(study.known):,} of {len(study.choices):,} moves"
        progress(study.completeness, word)
    rows = [asdict(finding) for finding in findings("", trace, study)]
    return {"findings": rows, "completeness": study.completeness}

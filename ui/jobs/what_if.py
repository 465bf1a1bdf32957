"""The debugger's work in a worker process: findings, a forced action, a duel of two agents."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.agent.compile_cache import keep_compiled
from engine.agent.trace_io import load_trace
from engine.analysis.gap import bound_by_slot
from engine.debugging.ab import duel
from engine.debugging.agent_games import Side, play_on, workload_of
from engine.debugging.counterfactual import LOCAL, POLICY, SEARCH, Counterfactual, Forcing
from engine.debugging.findings import findings
from engine.debugging.gap_account import correct, moves_of_the_gap
from engine.debugging.regret import study_of
from engine.debugging.surprise import surprises
from engine.game.move_list import moves
from engine.game.notes import noted_actions, noted_rules
from engine.game.units import count_text
from engine.plan.bounds import lower_bound
from engine.plan.io import load_plan, save_plan
from engine.plan.model import Plan
from engine.program import library
from engine.program.io import load
from ui.jobs import agent
from ui.jobs.protocol import BASIS, BEST, PLAN, PROGRAM, TRACE, MoveCounter, Progress


def find(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Findings of the game of the given trace.

    Regrets come first of the moves that the gap to the best plan known is made of, then of those
    that surprised the agent most.

    Returns `findings`, the fields of each (`engine.debugging.findings.Finding`), and
    `completeness`, the share of the moves with a choice whose regret is known.
    """
    trace, plan = load_trace(folder / TRACE), load_plan(folder / BASIS)
    program, rules = load(folder / PROGRAM), noted_rules(plan)
    assert rules is not None, "the basis is a game with notes"
    study = study_of(trace, program, rules)
    first = moves_of_the_gap(program, plan, _best(folder))
    for _ in study.run([*first, *surprises(trace).order()], order["seconds"]):
        word = f"{len(study.known):,} of {len(study.choices):,} moves"
        progress(study.completeness, word)
    rows = [asdict(finding) for finding in findings("", trace, study)]
    return {"findings": rows, "completeness": study.completeness}


def explain_gap(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Correct the game of the basis plan, decision by decision, and place the bound's seconds.

    Returns `corrections`, the fields of each (`engine.debugging.gap_account.Correction`), `tried`,
    `num_choices`, and `bound_by_slot` (`engine.analysis.gap`).
    """
    program, plan = load(folder / PROGRAM), load_plan(folder / BASIS)
    found = correct(
        program, plan, _best(folder), seconds=order["seconds"], progress=_named(progress, "gap")
    )
    progress(None, "the bound by slot")
    bound = lower_bound(program, _BOUND_SECONDS)
    return {
        "corrections": [asdict(correction) for correction in found.found],
        "tried": found.tried,
        "num_choices": found.num_choices,
        "bound_by_slot": bound_by_slot(program, bound.served).tolist(),
    }


def _best(folder: Path) -> Plan | None:
    path = folder / BEST
    return load_plan(path) if path.exists() else None


_BOUND_SECONDS = 20.0
_LOCAL_SECONDS = 5.0


def force(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Force an action in the game of the basis plan; the agent and `local` go on.

    `order["details"]`: `move`, `action`, `weights`. Writes the plan of `local`; returns `rows`.
    """
    keep_compiled()
    details = dict(order["details"])
    progress(None, "prepares the game")
    program, plan = load(folder / PROGRAM), load_plan(folder / BASIS)
    actions, rules = noted_actions(plan, len(moves(program))), noted_rules(plan)
    assert actions is not None and rules is not None, "the basis is a game with notes"
    forcing = Forcing(program, actions, rules)
    move, action = int(details["move"]), int(details["action"])
    side = _side(folder, "the agent", details["weights"], order["seed"])
    workload = workload_of(program, side.config, rules)
    rows = []
    for name, grows in ((POLICY, False), (SEARCH, True)):
        counter = MoveCounter(workload.num_moves, _named(progress, name))
        begun = forcing.begun(move, action)
        played = play_on(side, workload, [begun], counter.reached, grows=grows)
        assert played is not None, "the progress of a worker never says no"
        rows.append(_row(forcing.played(played[0], move, name)))
    local = forcing.by_local(
        move, action, _LOCAL_SECONDS, lambda s, w: progress(s, f"{LOCAL}: {w}")
    )
    save_plan(local.plan, folder / PLAN)
    return {"rows": [*rows, _row(local)]}


def compete(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """A duel of two agents; returns the fields of a `Duel` without its plans.

    `order["details"]`: `programs`, a JSON list of names, and of `first_` and `second_` each the
    `weights`, `model` and `simulations`.
    """
    keep_compiled()
    details = dict(order["details"])
    own = load(folder / PROGRAM)
    names = json.loads(str(details["programs"]))
    programs = [own if name == own.name else library.load_sample(name) for name in names]
    sides = [_fighter(folder, details, which, order["seed"]) for which in ("first", "second")]
    outcome = duel(programs, sides[0], sides[1], progress)
    assert outcome is not None, "the progress of a worker never says no"
    return outcome.to_json()


def _fighter(folder: Path, details: dict[str, Any], which: str, seed: int) -> Side:
    weights, model = str(details[f"{which}_weights"]), str(details[f"{which}_model"])
    count = int(details[f"{which}_simulations"])
    name = f"{weights}, {model} model, {count_text(count, 'simulation')}"
    side = _side(folder, name, weights, seed)
    return side.with_search(model=model, num_simulations=count)


def _side(folder: Path, name: str, weights: str, seed: int) -> Side:
    config, params = agent.weights_of(folder, weights, seed)
    return Side(name, config, params)


def _named(progress: Progress, name: str) -> Progress:
    """A progress function that puts who plays before each message."""
    return lambda share, text: progress(share, f"{name}: {text}")


def _row(answer: Counterfactual) -> dict[str, Any]:
    shown = ("continuation", "latency_s", "original_s", "keeps_action")
    actions = None if answer.actions is None else "".join(map(str, answer.actions))
    return {**{name: getattr(answer, name) for name in shown}, "actions": actions}

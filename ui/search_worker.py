"""The agent's work in a process of its own (`ui.worker`): practising, and searching again.

Only that process loads the agent's libraries.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.agent.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from engine.agent.compile_cache import keep_compiled
from engine.agent.config import AgentConfig
from engine.agent.network import Params
from engine.agent.research import trace_move, untrained
from engine.agent.trace_io import SearchTrace, save_trace
from engine.agent.workload import make_workload
from engine.errors import SolverError
from engine.game.moves import Rules, moves
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.io import load_plan, save_plan
from engine.plan.model import Plan
from engine.program.io import load
from engine.solvers import practice
from engine.solvers.demonstrations import demonstrate
from engine.solvers.registry import Budget
from ui.viewmodel.search_weights import CHECKPOINTS, FRESH, PRACTISED, shipped
from ui.viewmodel.variations import line_from_text, line_text
from ui.worker import BASIS, PLAN, PROGRAM, TRACE, Progress


def practise(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Practise on the program of `folder`; writes plan, trace and weights, returns facts.

    `order["details"]` may hold options of the solver; `checkpoint` is the name of a shipped one or
    `FRESH`. Raises the solver's errors.
    """
    program = load(folder / PROGRAM)
    options = dict(order["details"])
    begun = options.pop("checkpoint", next(iter(shipped()), FRESH))
    options["checkpoint"] = practice.SCRATCH if begun == FRESH else str(CHECKPOINTS / begun)
    budget = Budget(order["seconds"], order["seed"], progress, options)
    found = practice.practise(program, budget)
    progress(0.99, "searches its best game once more, for you to see")
    trace = found.trace()
    plan = _as_film(practice.plan_of(found), found.actions, trace)
    violation = check(program, plan)
    if violation is not None:
        raise SolverError(f"muzero: its plan breaks a rule: {violation}")
    save_trace(trace, folder / TRACE)
    save_plan(plan, folder / PLAN)
    training = {"program": program.name, "seconds": order["seconds"], "began_with": begun}
    save_checkpoint(Checkpoint(found.trainer.params, found.trainer.config, training), folder)
    return {
        "weights": begun,
        "games": found.games,
        "rounds": found.trainer.rounds,
        "seconds": order["seconds"],
        "seed": order["seed"],
    }


def search_again(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Search one position of the basis plan's game again; writes a trace of one row.

    `order["details"]`: `move`, `simulations`, `model`, `algorithm`, `weights`. Raises SolverError.
    """
    keep_compiled()
    details = dict(order["details"])
    progress(0.05, "prepares the game")
    program, plan = load(folder / PROGRAM), load_plan(folder / BASIS)
    told = line_from_text(str(plan.notes["moves"]), len(moves(program)))
    assert told is not None, "the basis is a plan of `_as_film`"
    config, params = _weights(folder, details["weights"], order["seed"])
    settings = replace(
        config.search,
        model=details["model"],
        algorithm=details["algorithm"],
        num_simulations=details["simulations"],
    )
    shown = demonstrate(program, (str(plan.notes["place"]),))
    bound = lower_bound(program, max(1.0, order["seconds"] * practice.BOUND_SHARE))
    rules = Rules(place=str(plan.notes["place"]))
    workload = make_workload(program, shown.actions, config, rules=rules, bound=bound)
    progress(0.3, f"searches with {settings.num_simulations:,} simulations")
    save_trace(trace_move(params, workload, told[1], details["move"], settings), folder / TRACE)
    return {"weights": details["weights"]}


def _weights(folder: Path, name: str, seed: int) -> tuple[AgentConfig, Params]:
    if name == FRESH:
        config = AgentConfig()
        return config, untrained(config, seed)
    found = load_checkpoint(folder if name == PRACTISED else CHECKPOINTS / name)
    return found.config, found.params


def _as_film(plan: Plan, actions: tuple[int, ...], trace: SearchTrace) -> Plan:
    """The plan with notes that Play reads: its moves, and what the agent expected at each."""
    expected = trace.par[0] + np.append(0.0, np.cumsum(trace.reward)[:-1]) + trace.value
    estimates = [float(f"{seconds:.6g}") for seconds in expected * trace.point_s]
    return replace(
        plan,
        notes={**plan.notes, "moves": line_text(0, actions), "value_estimates": estimates},
    )

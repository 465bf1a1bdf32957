"""The agent's work in a worker process: practising, playing, searching again.

Only that process loads the agent's libraries.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from engine.agent.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from engine.agent.compile_cache import keep_compiled
from engine.agent.config import AgentConfig
from engine.agent.network import Params
from engine.agent.research import trace_move, untrained
from engine.agent.selfplay import CHUNK, FREE, first_positions, play_games
from engine.agent.trace import trace_game
from engine.agent.trace_io import SearchTrace, save_trace
from engine.agent.workload import Workload, make_workload
from engine.errors import SolverError
from engine.game.moves import Rules, moves
from engine.game.notes import noted_actions, noted_rules, notes_of
from engine.game.reference import ReferenceGame
from engine.plan.check import check
from engine.plan.io import load_plan, save_plan
from engine.plan.model import Plan
from engine.program.io import load
from engine.program.model import Program
from engine.solvers import practice
from engine.solvers.demonstrations import demonstrate, quick_bound
from engine.solvers.registry import Budget
from ui.jobs.pace import Pace
from ui.jobs.protocol import BASIS, MUZERO, PLAN, PROGRAM, TRACE, Progress
from ui.jobs.weights import CHECKPOINTS, FRESH, PRACTISED, shipped
from ui.search.messages import curves

_NO_DICE = np.zeros(2, np.uint32)
"""A key of random numbers; at temperature 0 nothing is left to chance."""


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
    progress(None, "searches its best game once more, for you to see")
    trace = found.trace()
    plan = _with_estimates(practice.plan_of(found), trace)
    violation = check(program, plan)
    if violation is not None:
        raise SolverError(f"muzero: its plan breaks a rule: {violation}")
    save_trace(trace, folder / TRACE)
    save_plan(plan, folder / PLAN)
    training = {"program": program.name, "seconds": order["seconds"], "began_with": begun}
    save_checkpoint(Checkpoint(found.trainer.params, found.trainer.config, training), folder)
    return {
        "weights": begun,
        "games": found.trainer.games,
        "rounds": found.trainer.rounds,
        "seconds": order["seconds"],
        "seed": order["seed"],
    }


def play_on(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Play the rest of a game with the agent's search; writes plan and trace, returns facts.

    `order["details"]`: `begun` (the actions before, a digit each), `place`, `weights`.
    """
    keep_compiled()
    details = dict(order["details"])
    progress(None, "gets ready, which takes longer the first time")
    program, rules = load(folder / PROGRAM), Rules(place=details["place"])
    config, params = _weights(folder, details["weights"], order["seed"])
    workload = _workload(program, config, rules, order["seconds"])
    begun = [int(digit) for digit in details["begun"]]
    script = np.full((workload.num_moves, 1), FREE, np.int32)
    script[: len(begun), 0] = begun
    pace, played_moves = Pace(workload.num_moves, progress), count(0, CHUNK)
    played = play_games(
        params,
        workload.arena,
        first_positions(workload.arena, 1),
        _NO_DICE,
        np.zeros((1, 1), np.float32),
        script,
        config.search,
        go_on=lambda: pace.reached(next(played_moves)),
    )
    assert played is not None, "the progress of a worker never says no"
    game = ReferenceGame(program, rules)
    for action in played.moves.action[:, 0].tolist():
        game.step(action)
    progress(None, f"searches its {workload.num_moves:,} moves once more, for you to see")
    trace = trace_game(params, workload, game.actions, config.search)
    save_trace(trace, folder / TRACE)
    save_plan(_with_estimates(game.plan(MUZERO, notes_of(game)), trace), folder / PLAN)
    return {"weights": details["weights"], "begun": len(begun)}


def search_again(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Search one position of the basis plan's game again; writes a trace of one row.

    `order["details"]`: `move`, `simulations`, `model`, `algorithm`, `weights`. Raises SolverError.
    """
    keep_compiled()
    details = dict(order["details"])
    progress(None, "prepares the game")
    program, plan = load(folder / PROGRAM), load_plan(folder / BASIS)
    actions, rules = noted_actions(plan, len(moves(program))), noted_rules(plan)
    assert actions is not None and rules is not None, "the basis is a game with notes"
    config, params = _weights(folder, details["weights"], order["seed"])
    settings = replace(
        config.search,
        model=details["model"],
        algorithm=details["algorithm"],
        num_simulations=details["simulations"],
    )
    workload = _workload(program, config, rules, order["seconds"])
    progress(None, f"searches with {settings.num_simulations:,} simulations")
    save_trace(trace_move(params, workload, actions, details["move"], settings), folder / TRACE)
    return {"weights": details["weights"]}


def _workload(program: Program, config: AgentConfig, rules: Rules, seconds: float) -> Workload:
    """The program as the agent sees it, with the yardstick of the same place rule."""
    (shown,) = demonstrate(program, (rules.place,))
    bound = quick_bound(program, seconds)
    return make_workload(program, shown.actions, config, rules=rules, bound=bound)


def _weights(folder: Path, name: str, seed: int) -> tuple[AgentConfig, Params]:
    if name == FRESH:
        config = AgentConfig()
        return config, untrained(config, seed)
    found = load_checkpoint(folder if name == PRACTISED else CHECKPOINTS / name)
    return found.config, found.params


def _with_estimates(plan: Plan, trace: SearchTrace) -> Plan:
    """The plan of a traced game, with what the agent expected at each move in its notes."""
    expected = curves(trace).search[:-1]
    estimates = [float(f"{seconds:.6g}") for seconds in expected]
    return replace(plan, notes={**plan.notes, "value_estimates": estimates})

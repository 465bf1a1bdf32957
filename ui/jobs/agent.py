"""The agent's work in a worker process: practising, playing, searching again.

Only that process loads the agent's libraries.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.agent.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from engine.agent.compile_cache import keep_compiled
from engine.agent.config import SCRATCH, AgentConfig, SearchConfig
from engine.agent.network import Params
from engine.agent.search_again import trace_move, untrained
from engine.agent.trace import trace_game
from engine.agent.trace_io import SearchTrace, save_trace
from engine.agent.workload import Workload
from engine.debugging.agent_games import Side, workload_of
from engine.debugging.agent_games import play_on as finish_game
from engine.debugging.game_curves import curves
from engine.errors import SolverError
from engine.game.move_list import moves
from engine.game.moves import Rules
from engine.game.notes import noted_actions, noted_rules, notes_of, rules_of
from engine.game.reference.game import ReferenceGame
from engine.game.units import count_text
from engine.plan.check import check
from engine.plan.io import load_plan, save_plan
from engine.plan.model import Plan
from engine.program.io import load
from engine.program.model import Program
from engine.solvers import practice
from engine.solvers.registry import Budget
from ui.jobs.protocol import BASIS, MUZERO, PLAN, PROGRAM, TRACE, MoveCounter, Progress
from ui.jobs.weights import CHECKPOINTS, FRESH, PRACTISED, shipped


def practise(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Practise on the program of `folder`; writes plan, trace and weights, returns facts.

    `order["details"]` may hold options of the solver; `checkpoint` is the name of a shipped one or
    `FRESH`. Raises the solver's errors.
    """
    program = load(folder / PROGRAM)
    options = dict(order["details"])
    begun = options.pop("checkpoint", next(iter(shipped()), FRESH))
    options["checkpoint"] = SCRATCH if begun == FRESH else str(CHECKPOINTS / begun)
    budget = Budget(order["seconds"], order["seed"], progress, options)
    practised = practice.practise(program, budget)
    progress(None, "searches its best game once more, for you to see")
    trace = practised.trace()
    plan = _with_estimates(practice.plan_of(practised), trace)
    violation = check(program, plan)
    if violation is not None:
        raise SolverError(f"muzero: its plan breaks a rule: {violation}")
    save_trace(trace, folder / TRACE)
    save_plan(plan, folder / PLAN)
    training = {"program": program.name, "seconds": order["seconds"], "began_with": begun}
    trainer = practised.trainer
    save_checkpoint(Checkpoint(trainer.params, trainer.config, training), folder)
    return {
        "weights": begun,
        "games": trainer.games,
        "rounds": trainer.rounds,
        "seconds": order["seconds"],
        "seed": order["seed"],
    }


def play_on(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Play the rest of a game with the agent's search; writes plan and trace, returns facts.

    `order["details"]`: `begun` (the actions before, a digit each), `weights`, and `rules`, as JSON;
    without them the planned places of a draft.
    """
    keep_compiled()
    details = dict(order["details"])
    progress(None, "gets ready, which takes longer the first time")
    program = load(folder / PROGRAM)
    rules = rules_of(json.loads(details["rules"])) if "rules" in details else None
    config, params = weights_of(folder, details["weights"], order["seed"])
    workload = workload_of(program, config, rules)
    begun = [int(digit) for digit in details["begun"]]
    counter = MoveCounter(workload.num_moves, progress)
    played = finish_game(Side(MUZERO, config, params), workload, [begun], go_on=counter.reached)
    assert played is not None, "the progress of a worker never says no"
    trace = _traced(params, workload, played[0], config.search, progress)
    _keep_game(folder, program, workload.rules, trace)
    return {"weights": details["weights"], "begun": len(begun)}


def trace_again(folder: Path, order: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Search every position of the basis plan's game; writes plan and trace.

    `order["details"]`: `weights`, and, where they are not the weights' own settings, `simulations`
    and `model`. Raises SolverError.
    """
    keep_compiled()
    details = dict(order["details"])
    progress(None, "prepares the game")
    program, plan = load(folder / PROGRAM), load_plan(folder / BASIS)
    actions, rules = noted_actions(plan, len(moves(program))), noted_rules(plan)
    assert actions is not None and rules is not None, "the basis is a game with notes"
    config, params = weights_of(folder, details["weights"], order["seed"])
    settings = replace(
        config.search,
        model=details.get("model", config.search.model),
        num_simulations=int(details.get("simulations", config.search.num_simulations)),
    )
    workload = workload_of(program, config, rules)
    trace = _traced(params, workload, actions, settings, progress)
    _keep_game(folder, program, rules, trace)
    return {"weights": details["weights"]}


def _traced(
    params: Params,
    workload: Workload,
    actions: Sequence[int],
    settings: SearchConfig,
    progress: Progress,
) -> SearchTrace:
    counter = MoveCounter(
        workload.num_moves, lambda share, text: progress(share, f"searches {text}")
    )
    return trace_game(params, workload, actions, settings, counter.reached)


def _keep_game(folder: Path, program: Program, rules: Rules, trace: SearchTrace) -> None:
    """Write a trace, and its game as a plan."""
    game = ReferenceGame(program, rules)
    for action in trace.action.tolist():
        game.step(action)
    save_trace(trace, folder / TRACE)
    save_plan(_with_estimates(game.plan(MUZERO, notes_of(game)), trace), folder / PLAN)


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
    config, params = weights_of(folder, details["weights"], order["seed"])
    settings = replace(
        config.search,
        model=details["model"],
        algorithm=details["algorithm"],
        num_simulations=details["simulations"],
    )
    workload = workload_of(program, config, rules)
    progress(None, f"searches with {count_text(settings.num_simulations, 'simulation')}")
    save_trace(trace_move(params, workload, actions, details["move"], settings), folder / TRACE)
    return {"weights": details["weights"]}


def weights_of(folder: Path, name: str, seed: int) -> tuple[AgentConfig, Params]:
    """Settings and weights by name: fresh, of a practice, brought along, or shipped.

    Raises CheckpointError.
    """
    if name == FRESH:
        config = AgentConfig()
        return config, untrained(config, seed)
    given = folder / name
    where = folder if name == PRACTISED else given if given.is_dir() else CHECKPOINTS / name
    checkpoint = load_checkpoint(where)
    return checkpoint.config, checkpoint.params


def _with_estimates(plan: Plan, trace: SearchTrace) -> Plan:
    """The plan of a traced game, with what the agent expected at each move in its notes."""
    expected = curves(trace).search[:-1]
    estimates = [float(f"{seconds:.6g}") for seconds in expected]
    return replace(plan, notes={**plan.notes, "value_estimates": estimates})

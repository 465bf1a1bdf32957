"""One run of `benchmarks.agent`: a JSON description in, a JSON row on standard output."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from engine.agent.config import AgentConfig, changed
from engine.agent.trainer import Round, Trainer
from engine.agent.workload import Workload
from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.solvers import Budget, solve
from engine.solvers.practice import Practised, agent_of, plan_of, practise

PRIMING_ROUNDS = 20
"""Rounds after which everything is compiled that a round may need: some start at the first move,
some go on from positions."""


def settings_of(options: dict[str, Any], changes: dict[str, Any]) -> AgentConfig:
    """The settings that the agent practises with, some of them changed."""
    config, _ = agent_of(options)
    for name, value in changes.items():
        config = changed(config, name, value)
    return config


def play(program: Program, run: dict[str, Any]) -> tuple[Plan, list[dict[str, Any]], float]:
    """The agent's best plan, an entry for each round that is noted, and the seconds taken."""
    rounds: list[dict[str, Any]] = []
    begun = time.perf_counter()

    def note_round(trainer: Trainer, report: Round) -> None:
        best = trainer.best_workload
        best_s = latency(best, best.replay.top_score)
        if rounds and rounds[-1]["best_s"] <= best_s and not run["tells_all"]:
            return
        entry = {
            "seconds": round(time.perf_counter() - begun, 2),
            "games": trainer.games,
            "best_s": best_s,
        }
        if run["tells_all"]:
            entry["mean_s"] = latency(trainer.workloads[report.workload], report.mean)
        rounds.append(entry)

    def latency(workload: Workload, score: float) -> float:
        return float(f"{program.all_slow_s - workload.saved_s(score):.7g}")

    budget = Budget(run["seconds"], run["seed"], options=run["options"])
    config = settings_of(run["options"], run["settings"])
    if run["is_primed"]:
        practise_rounds(program, budget, PRIMING_ROUNDS, config)
        begun = time.perf_counter()
    practised = practise(program, budget, config, note_round)
    return plan_of(practised), rounds, time.perf_counter() - begun


def practise_rounds(
    program: Program, budget: Budget, rounds: int, config: AgentConfig | None = None
) -> Practised:
    """Practise until so many rounds are played, or the budget's time is over."""
    played = 0

    def count_round(trainer: Trainer, report: Round) -> None:
        nonlocal played
        played = report.number + 1

    def goes_on(share: float, word: str) -> bool:
        return played < rounds

    return practise(program, replace(budget, progress=goes_on), config, count_round)


def main(text: str) -> None:
    """Measure the run that the arguments describe, and print its row as JSON."""
    run = json.loads(text)
    if cores := os.environ.get("CORES"):
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    program = library.load_sample(run["program"])
    if run["solver"] == "muzero":
        plan, rounds, took = play(program, run)
    else:
        plan = solve(run["solver"], program, Budget(run["seconds"], run["seed"]))
        rounds, took = [], plan.notes["seconds"]
    assert check(program, plan) is None
    row = {
        "key": [run["program"], run["solver"], run["seconds"], run["seed"], run["label"]],
        "program": run["program"],
        "found_by": plan.solver,
        "took_s": round(took, 2),
        "latency_s": simulate(program, plan).latency_s,
        "games": plan.notes.get("games"),
        "rules": plan.notes.get("rules"),
        "place": plan.notes.get("place"),
        "planned": plan.notes.get("planned"),
        "moves": plan.notes.get("moves"),
        "rounds": rounds,
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main(sys.argv[1])

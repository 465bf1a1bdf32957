"""The agent's ablations: the settings of a training are told in full, and no arm equals another."""

from __future__ import annotations

import json

from benchmarks.agent import OF_TRAINING, ablations_section
from benchmarks.agent_tables import ablations_table
from benchmarks.rows import Row
from benchmarks.settings import Settings
from engine.agent.checkpoint import load_checkpoint
from engine.agent.config import changed
from engine.solvers.practice import GENERALIST, practising


def test_the_arm_of_the_training_takes_back_all_that_a_practice_changes() -> None:
    trained = load_checkpoint(GENERALIST).config
    config = practising(trained)
    for name, value in OF_TRAINING.items():
        config = changed(config, name, value)
    assert config == trained


def test_trees_are_grown_in_a_part_of_the_rounds() -> None:
    trained = load_checkpoint(GENERALIST).config
    assert trained.self_play.search_share == 1.0
    assert 0.0 < practising(trained).self_play.search_share < 1.0


def test_no_two_arms_are_the_same_and_each_can_be_asked_for() -> None:
    runs = list(ablations_section(Settings(programs=("teach-prefetch",))))
    arms = {json.dumps([run.options, run.settings], sort_keys=True) for run in runs}
    names = {run.label for run in runs}
    assert len(arms) == len(names) == len(runs) / 2
    assert not any("," in name for name in names)


def test_seeds_of_a_program_are_no_programs() -> None:
    """Both programs lose 10 and 20 points, with either seed: an error of 5 points, not of 3."""

    def run(name: str, seed: int, arm: str, closed: float) -> Row:
        known = {"program": name, "key": [name, "muzero", 60.0, seed, arm], "gap_closed": closed}
        rounds = [{"seconds": 1.0, "best_s": 2.0 - closed}]
        return {**known, "rounds": rounds, "games": 9, "xla_s": 2.0, "bound_s": 1.0}

    lost = {"first": 0.1, "second": 0.2}
    rows = [
        run(name, seed, arm, 0.5 - (points if arm == "less" else 0.0))
        for arm in ("default", "less")
        for name, points in lost.items()
        for seed in (0, 1)
    ]
    assert "| **apart** |  | -15.0 ± 5.0 |" in ablations_table(rows)

"""The baselines keep to the seconds, and end where they are asked to."""

from __future__ import annotations

import pytest

from engine.solvers import Budget, solve
from tests.strategies import random_program


@pytest.mark.parametrize("name", ["greedy", "random"])
def test_a_first_game_that_is_ended_early_is_all_slow(name: str) -> None:
    plan = solve(name, random_program(5, 60), Budget(60.0, progress=lambda share, word: False))
    assert not any(plan.is_fast) and not plan.stays and not plan.copies


def test_a_random_game_is_ended_where_the_time_is_long_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.solvers.clock.SLACK_S", 0.0)
    plan = solve("random", random_program(5, 60), Budget(0.0))
    assert not any(plan.is_fast) and "games" not in plan.notes


def test_of_random_games_the_best_counts_though_the_next_is_ended_early() -> None:
    answers = iter([True, True])
    budget = Budget(60.0, progress=lambda share, word: next(answers, False))
    plan = solve("random", random_program(5, 60), budget)
    assert plan.notes["games"] == 1 and any(plan.is_fast)

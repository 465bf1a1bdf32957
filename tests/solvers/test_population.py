"""Who survives and who has children, in the genetic algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.evolution.genome import NUM_SURVIVORS, Individual, fittest, tournament

NOTHING: Any = None


def individual(ticks: int, rate: float = 0.0) -> Individual:
    return Individual(NOTHING, ticks, NOTHING, rate, NOTHING)


def test_the_better_of_two_is_drawn() -> None:
    """Of `n` sorted ones, number `k` is the better of two independent draws so often."""
    population = [individual(ticks) for ticks in (40, 30, 20, 10)]
    rng = np.random.default_rng(0)
    draws = [tournament(population, rng).ticks for _ in range(4000)]
    shares = [draws.count(one.ticks) / len(draws) for one in population]
    assert shares == pytest.approx([7 / 16, 5 / 16, 3 / 16, 1 / 16], abs=0.03)


def test_the_best_survive_one_for_each_return_and_of_equals_the_young_one() -> None:
    old = [individual(ticks, rate=1.0) for ticks in range(40)]
    young = [individual(39, rate=2.0), individual(50, rate=2.0), individual(50, rate=3.0)]
    survivors = fittest(young, old)
    assert [one.ticks for one in survivors] == [50, *range(39, 39 - NUM_SURVIVORS + 1, -1)]
    assert [one.rate for one in survivors[:3]] == [2.0, 2.0, 1.0]

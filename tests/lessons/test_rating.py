"""Glicko-2: the worked example of its paper, and what every rating must do."""

import pytest

from engine.lessons.rating import Rating, Result, rated

OPPONENTS = ((1400, 30, 1.0), (1550, 100, 0.0), (1700, 300, 0.0))


def test_the_example_of_the_paper() -> None:
    results = [Result(Rating(points, deviation), score) for points, deviation, score in OPPONENTS]
    after = rated(Rating(1500, 200, 0.06), results)
    assert after.points == pytest.approx(1464.06, abs=0.02)
    assert after.deviation == pytest.approx(151.52, abs=0.02)
    assert after.volatility == pytest.approx(0.05999, abs=1e-5)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_result_moves_the_rating_its_way_and_makes_it_surer(score: float) -> None:
    before = Rating()
    after = rated(before, [Result(Rating(1500, 60), score)])
    assert (after.points > before.points) == bool(score)
    assert after.deviation < before.deviation


def test_an_upset_counts_more_than_what_was_expected() -> None:
    player = Rating(1500, 80)
    hard = rated(player, [Result(Rating(1900, 60), 1.0)]).points
    easy = rated(player, [Result(Rating(1100, 60), 1.0)]).points
    assert hard - 1500 > 5 * (easy - 1500) > 0


def test_a_very_surprising_run_raises_the_volatility() -> None:
    player = Rating(1500, 50, 0.06)
    after = rated(player, [Result(Rating(2300, 30), 1.0)] * 5)
    assert after.volatility > 0.06

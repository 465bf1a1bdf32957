"""Refutations: two lines held against each other, and the decision that lost most."""

import pytest

from engine.game.moves import DROP, KINDS, NO_COPY
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.catalogue import load_catalogue
from engine.lessons.judge import best_from
from engine.lessons.lesson import Lesson, pass_sinks
from engine.lessons.refutation import refute, turning_point

SHELF = load_catalogue()
FIRST = SHELF.find("what-fast-memory-is-worth")


def greedy_positions(lesson: Lesson) -> list[ReferenceGame]:
    game = lesson.begin()
    positions = [game.clone()]
    while not game.is_over:
        game.step(best_action(game))
        pass_sinks(game)
        positions.append(game.clone())
    return positions


def test_the_moments_say_what_the_tempting_action_costs_and_why() -> None:
    game = FIRST.begin()
    best = best_from(game)
    assert best is not None and best.actions[0] == DROP
    tempted = game.clone()
    tempted.step(NO_COPY)
    rest = best_from(tempted)
    assert rest is not None
    found = refute(game, (NO_COPY, *rest.actions), best.actions)
    assert found.at_once_s > 0
    assert found.lost_s > 0
    assert sum(m.lost_s for m in found.moments) == pytest.approx(found.lost_s)
    worst = found.costliest
    assert worst is not None
    assert KINDS[worst.right] == NO_COPY
    assert worst.refusal is None, "it can be kept, but not at once"
    assert "notes" in worst.does
    assert "stall" in worst.does or "wait" in worst.does
    assert game.move_index == 0, "the position is left as it is"
    assert found.move <= found.last < game.num_moves


def test_lines_that_do_not_reach_the_end_are_refused() -> None:
    game = FIRST.begin()
    with pytest.raises(ValueError, match="ends before"):
        refute(game, (DROP,), (DROP,))


def test_greed_in_the_first_lesson_lost_at_its_first_decision() -> None:
    point = turning_point(greedy_positions(FIRST))
    assert point is not None
    assert point.number == 0
    assert point.refutation.wrong[0] == NO_COPY
    assert point.refutation.right[0] == DROP


def test_a_game_that_lost_nothing_has_no_turning_point() -> None:
    game = FIRST.begin()
    best = best_from(game)
    assert best is not None
    positions = [game.clone()]
    for action in best.actions:
        game.step(action)
        positions.append(game.clone())
    assert turning_point(positions) is None


@pytest.mark.parametrize("name", ["keep-or-drop", "copies-start-early", "a-stall-that-pays"])
def test_what_a_turning_point_loses_is_what_greed_lost_most(name: str) -> None:
    positions = greedy_positions(SHELF.find(name))
    point = turning_point(positions)
    assert point is not None
    before, after = best_from(positions[point.number]), best_from(positions[point.number + 1])
    assert before is not None
    worth = positions[-1].total_reward if after is None else after.total_reward
    scale = positions[0].program.all_slow_s
    assert point.refutation.lost_s == pytest.approx((before.total_reward - worth) * scale)

"""Refutations: two lines held against each other, and the decision that lost most."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from engine.game.drop_backup import drop_backup
from engine.game.moves import COPY, DROP, KINDS, NO_COPY
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.catalogue import load_catalogue
from engine.lessons.judge import best_from
from engine.lessons.lesson import Lesson, pass_sinks
from engine.lessons.refutation import TurningPoint, refute, turning_point
from engine.program.teaching import Draft

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


def turning_point_of(positions: list[ReferenceGame]) -> TurningPoint | None:
    """Of a game in which no dead end was undone."""
    decided = [after.actions[game.move_index] for game, after in pairwise(positions)]
    return turning_point(positions, decided)


def with_backups(game: ReferenceGame, actions: Sequence[int]) -> list[ReferenceGame]:
    """The positions of these decisions, with dead ends undone, as they are on a board."""
    positions = [game]
    for action in actions:
        game = game.clone()
        game.step(action)
        pass_sinks(game)
        while game.is_dead_end:
            drop_backup(game)
            pass_sinks(game)
        positions.append(game)
    assert game.is_over
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
    point = turning_point_of(greedy_positions(FIRST))
    assert point is not None and point.refutation is not None
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
    assert turning_point_of(positions) is None


@pytest.mark.parametrize("name", ["keep-or-drop", "copies-start-early", "a-stall-that-pays"])
def test_what_a_turning_point_loses_is_what_greed_lost_most(name: str) -> None:
    positions = greedy_positions(SHELF.find(name))
    point = turning_point_of(positions)
    assert point is not None and point.refutation is not None
    before, after = best_from(positions[point.number]), best_from(positions[point.number + 1])
    assert before is not None
    worth = positions[-1].total_reward if after is None else after.total_reward
    scale = positions[0].program.all_slow_s
    assert point.refutation.lost_s == pytest.approx((before.total_reward - worth) * scale)


def test_the_decision_that_leads_into_a_dead_end_is_the_one_that_lost_most() -> None:
    start = SHELF.find("dead-ends").begin()
    decided = (NO_COPY, NO_COPY, COPY, DROP)
    positions = with_backups(start, decided)
    assert best_from(positions[3]) is None, "the Drop comes too late to help"
    point = turning_point(positions, decided)
    assert point is not None and point.number == 2
    best = best_from(start)
    assert best is not None
    lost = best.total_reward - positions[-1].total_reward
    assert point.lost_s == pytest.approx(lost * start.program.all_slow_s)
    assert point.refutation is None, "no line after the Copy reaches the end"


def test_so_it_is_where_the_dead_end_is_undone_at_once() -> None:
    draft = Draft()
    weight = draft.input("weight", 256)
    draft.step("make", 20)
    draft.write("early", 384, is_live_out=True)
    draft.step("compute", 400)
    draft.step("multiply", 20, [weight])
    lesson = replace(SHELF.find("dead-ends"), program=draft.program("short", "", ""))
    decided = (NO_COPY, COPY)
    positions = with_backups(lesson.begin(), decided)
    assert positions[-1].actions[0] == DROP, "by Drop-backup"
    point = turning_point(positions, decided)
    assert point is not None and point.number == 1

"""Each shipped lesson: solvable, not by doing nothing, not by greedy, and not beyond its judge."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.agent_view import imagined, seen
from engine.lessons.catalogue import load_catalogue
from engine.lessons.judge import MOST_STARS, PLAYERS, Judge, always_drop, played, trivial_wins
from engine.lessons.lesson import MODEL, SEARCH, Goal, Lesson
from engine.plan.bounds import lower_bound
from ui.components.glossary import find

SHELF = load_catalogue()
LESSONS = SHELF.lessons
each = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


def test_no_file_is_broken_and_there_are_at_least_ten() -> None:
    assert not SHELF.broken
    assert len(LESSONS) >= 10


@each
def test_it_can_be_solved_with_three_stars(lesson: Lesson) -> None:
    judge, game = Judge(lesson), lesson.begin()
    for action in judge.best.actions:
        game.step(action)
    found = judge.verdict(game)
    assert found.is_reached and found.stars == MOST_STARS
    assert lower_bound(lesson.program).bound_s <= found.latency_s * (1 + 1e-9)


@each
def test_neither_doing_nothing_nor_greed_reaches_the_goal(lesson: Lesson) -> None:
    judge = Judge(lesson)
    assert not trivial_wins(lesson, judge)
    assert set(PLAYERS.values()) == {always_drop, best_action}
    assert played(lesson, judge, best_action).stars == 0


def test_a_goal_that_greed_reaches_is_seen() -> None:
    lesson = replace(LESSONS[0], goal=Goal(save_s=1e-6))
    assert trivial_wins(lesson, Judge(lesson)) == ["greedy"]
    lesson = replace(lesson, goal=Goal(save_s=0.0))
    assert trivial_wins(lesson, Judge(lesson)) == ["doing nothing", "greedy"]


@each
def test_its_words_are_in_the_glossary(lesson: Lesson) -> None:
    assert [c for c in lesson.concepts if find(c) is None] == []


def test_following_the_search_or_the_model_is_not_enough() -> None:
    (lesson,) = (x for x in LESSONS if x.agent_view and x.agent_view.kind == SEARCH)
    assert lesson.agent_view is not None
    depth = lesson.agent_view.depth

    def search(game: ReferenceGame) -> int:
        found = seen(game, depth)
        return max(found, key=lambda a: found[a])

    assert not played(lesson, Judge(lesson), search).is_reached
    (dreamer,) = (x for x in LESSONS if x.agent_view and x.agent_view.kind == MODEL)
    assert dreamer.agent_view is not None
    fast_bytes = dreamer.agent_view.fast_bytes

    def model(game: ReferenceGame) -> int:
        expected = imagined(game, fast_bytes)
        return max(expected, key=lambda a: expected[a].saved_s)

    assert not played(dreamer, Judge(dreamer), model).is_reached
    assert any(i.breaks_at is not None for i in imagined(dreamer.begin(), fast_bytes).values())


def test_all_can_be_reached_from_the_first_one() -> None:
    done: set[str] = set()
    while (lesson := SHELF.next_after(done)) is not None:
        done.add(lesson.name)
    assert len(done) == len(LESSONS)
    assert SHELF.depth(LESSONS[0]) == 0 and not LESSONS[0].needs

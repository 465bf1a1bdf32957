"""A game on a lesson's board: undo, redo, another decision on the way, dead ends."""

from __future__ import annotations

import pytest

from engine.game.moves import DROP, NO_COPY
from engine.lessons.catalogue import load_catalogue
from engine.lessons.judge import Judge, always_drop
from ui.model.learn.attempt import Attempt

SHELF = load_catalogue()
FIRST = SHELF.find("what-fast-memory-is-worth")


def test_undo_redo_and_retry() -> None:
    attempt = Attempt.from_start(FIRST.begin())
    assert attempt.play(0, DROP) == 1
    first = attempt.tip
    attempt.play(1, NO_COPY)
    assert attempt.is_begun
    assert attempt.undo() == 1 and attempt.tip is first
    attempt.redo()
    assert attempt.tip.game.actions[:2] == [DROP, NO_COPY]
    attempt.redo()
    assert attempt.retry() == 0 and not attempt.is_begun
    assert attempt.undo() == 0, "nothing to take back"


def test_another_decision_on_the_way_replaces_what_followed() -> None:
    attempt = Attempt.from_start(FIRST.begin())
    attempt.play(0, DROP)
    attempt.play(1, NO_COPY)
    tip = attempt.tip
    assert attempt.play(0, DROP) == 1 and attempt.tip is tip, "the same decision changes nothing"
    assert attempt.chosen(attempt.at(0)) == DROP
    attempt.play(0, NO_COPY)
    assert attempt.tip.game.actions[0] == NO_COPY and attempt.chosen(1) is None
    assert attempt.undo() == 0


def test_the_last_decision_can_be_changed_at_the_end() -> None:
    attempt = Attempt.from_start(FIRST.begin())
    while not attempt.is_over:
        attempt.play(attempt.tip.game.move_index, always_drop(attempt.tip.game))
    number = attempt.at(FIRST.begin().num_moves - 1)
    assert not attempt.points[number].game.is_over and attempt.chosen(number) is not None


def test_an_illegal_action_changes_nothing() -> None:
    attempt = Attempt.from_start(FIRST.begin())
    illegal = attempt.tip.game.legal().index(False)
    with pytest.raises(ValueError, match="illegal"):
        attempt.play(0, illegal)
    assert not attempt.is_begun


def test_dead_ends_are_undone_and_counted() -> None:
    lesson = SHELF.find("dead-ends")
    attempt = Attempt.from_start(lesson.begin())
    while not attempt.is_over:
        game = attempt.tip.game
        legal = game.legal_actions()
        attempt.play(game.move_index, min(legal))
    assert attempt.tip.dead_ends > 0
    assert not Judge(lesson).verdict(attempt.tip.game, attempt.tip.dead_ends).is_reached
    while attempt.tip.dead_ends:
        attempt.undo()
    assert attempt.tip.dead_ends == 0


def test_the_browser_gets_changes_only() -> None:
    attempt = Attempt.from_start(FIRST.begin())
    draft, first = attempt.draw(0)
    attempt.play(0, DROP)
    again, second = attempt.draw(first["number"])
    assert again is draft and second["tip"] == 1

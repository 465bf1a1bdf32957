"""An unfinished game kept as a text: it comes back, and nonsense does no harm."""

from __future__ import annotations

import pytest

from engine.lessons.catalogue import load_catalogue
from engine.lessons.judge import always_drop
from engine.lessons.lesson import pass_sinks
from ui.model.learn.attempt import Attempt
from ui.model.learn.kept_game import restore, text_of

LESSON = load_catalogue().find("dead-ends")


def new() -> Attempt:
    return Attempt.from_start(LESSON.begin(), pass_sinks)


@pytest.mark.parametrize("decisions", [0, 1, 3, 99])
def test_a_game_comes_back_with_its_dead_ends_and_hints(decisions: int) -> None:
    attempt = new()
    for _ in range(decisions):
        if attempt.is_over:
            break
        game = attempt.tip.game
        attempt.play(game.move_index, min(game.legal_actions()))
    again = new()
    assert restore(again, text_of(attempt, 2)) == 2
    assert again.tip.game.actions == attempt.tip.game.actions
    assert again.tip.dead_ends == attempt.tip.dead_ends
    assert again.decided == attempt.decided


def test_nothing_is_kept_of_a_game_that_has_not_begun() -> None:
    assert text_of(new()) == ""


@pytest.mark.parametrize(
    "text", ["", ";", "x", "1", "3;", "0;9.9", "0;0", "0;0.0.0", "0;0.99999999999", "²;0.1", "0;-"]
)
def test_nonsense_leaves_the_board_as_it_is(text: str) -> None:
    attempt = new()
    restore(attempt, text)
    assert len(attempt.points) <= 2
    while not attempt.is_over:
        attempt.play(attempt.tip.game.move_index, always_drop(attempt.tip.game))

"""Guessing the plan's decisions: what is hidden, the verdict, trying again (AppTest)."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.apps import session_of
from tests.ui.builders import first_fit_plan
from tests.ui.network import residual_network
from tests.ui.play_page import line_of, opened, panel_text, tell
from ui.components.memory_map.draft import plan_so_far
from ui.components.memory_map.plan_actions import NO_ACTION, actions_of
from ui.model.play.film import Film
from ui.model.play.line import PLAN, Rating
from ui.model.play.quiz import MOST_QUESTIONS, Answer, Quiz, quiz_of

PROGRAM = "alexnet-v4-b24"


def asked() -> tuple[AppTest, Quiz]:
    at = opened(PROGRAM)
    tell(at, session_of(at).cursor.move, do="quiz", to="begin")
    quiz = session_of(at).quiz
    assert quiz is not None
    return at, quiz


def other_action(at: AppTest, quiz: Quiz) -> int:
    line = line_of(at)
    legal = line.game_at(quiz.move).legal()
    return next(a for a in (2, 1, 0) if legal[a] and a != line.film.actions[quiz.move])


def test_questions_are_the_decisions_with_the_most_at_stake() -> None:
    program = residual_network()
    film = Film(program, first_fit_plan(program))
    quiz = quiz_of(film, "x")
    assert quiz is not None
    assert 0 < len(quiz.questions) <= MOST_QUESTIONS
    assert list(quiz.questions) == sorted(quiz.questions)
    moves = film.game_at(0).moves
    choices = [m for m in range(len(moves)) if sum(film.game_at(m).legal()) > 1]
    assert set(quiz.questions) <= set(choices)
    best = max(moves[m].saving_s for m in choices)
    assert best in {moves[m].saving_s for m in quiz.questions}


def test_an_open_question_hides_what_the_plan_does() -> None:
    at, quiz = asked()
    here = session_of(at)
    assert here.cursor.move == quiz.move
    assert "until" in here.stored
    assert "Question 1 of" in panel_text(at)
    assert "the plan</em>" not in panel_text(at)
    game = line_of(at).game_at(quiz.move)
    shown = actions_of(here.open.program, plan_so_far(game), game.moves)
    assert set(shown[quiz.move :]) == {NO_ACTION}


def test_the_verdict_and_another_try() -> None:
    at, quiz = asked()
    line, action = line_of(at), other_action(at, quiz)
    tell(at, quiz.move, do="play", action=action)
    answer = quiz.answer
    assert answer is not None
    assert (answer.action, answer.own) == (action, line.film.actions[quiz.move])
    assert answer.rating == line.tree.lines[line.tree.current].rating
    assert "the plan plays" in panel_text(at)
    assert session_of(at).cursor.move == quiz.move
    tell(at, quiz.move, do="quiz", to="again")
    assert quiz.answer is None
    assert line.tree.current == PLAN
    tell(at, quiz.move, do="play", action=line.film.actions[quiz.move])
    assert quiz.answer is not None and quiz.answer.is_same
    assert "like the plan" in panel_text(at)
    assert len(line.tree.lines) == 1


def test_another_key_keeps_the_verdict() -> None:
    at, quiz = asked()
    line, action = line_of(at), other_action(at, quiz)
    tell(at, quiz.move, do="play", action=action)
    answer, tree, told = quiz.answer, line.tree, panel_text(at)
    tell(at, quiz.move, do="play", action=line.film.actions[quiz.move])
    assert quiz.answer is answer and line.tree == tree
    assert panel_text(at) == told
    assert f"Question 1 of {len(quiz.questions)}" in told or "as good as the plan" in told


def test_one_question_after_another_to_the_end() -> None:
    at, quiz = asked()
    for number, move in enumerate(quiz.questions):
        assert (quiz.at, quiz.move) == (number, move)
        tell(at, move, do="play", action=line_of(at).film.actions[move])
        tell(at, move, do="quiz", to="next")
    assert quiz.num_right == len(quiz.questions)
    assert quiz.is_last
    tell(at, quiz.move, do="quiz", to="end")
    assert session_of(at).quiz is None
    assert "guess its decisions" in panel_text(at)


def test_looking_elsewhere_leads_back() -> None:
    at, quiz = asked()
    tell(at, quiz.move + 1)
    assert "Back to it" in panel_text(at)
    tell(at, quiz.move + 1, do="quiz", to="stay")
    assert session_of(at).cursor.move == quiz.move
    assert "What would you do?" in panel_text(at)


@pytest.mark.parametrize(
    ("action", "final", "is_right"), [(1, 0.0, True), (2, 1e-6, True), (2, -1e-6, False)]
)
def test_what_is_better_than_the_plan_counts(action: int, final: float, is_right: bool) -> None:
    quiz = Quiz("x", (3,), answers={3: Answer(action, 1, Rating(final, final))})
    assert quiz.num_right == is_right

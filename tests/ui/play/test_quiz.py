"""Guessing the plan's decisions: what is hidden, the verdict, trying again (AppTest)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.game.moves import NUM_ACTIONS
from engine.game.units import noise_s
from tests.ui.apps import session_of
from tests.ui.builders import first_fit_plan
from tests.ui.network import residual_network
from tests.ui.play_page import line_of, opened, panel_text, tell
from ui.components.memory_map.draft import plan_so_far
from ui.components.memory_map.plan_actions import NO_ACTION, actions_of
from ui.model.play.film import Film
from ui.model.play.ghosts import Opinion
from ui.model.play.line import PLAN, Line, PlanPlayer, RandomPlayer, Rating
from ui.model.play.quiz import MOST_QUESTIONS, Answer, Quiz, quiz_html, quiz_of
from ui.play import page
from ui.session import caching

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


def test_an_open_question_hides_what_dropping_the_tensor_would_change() -> None:
    at, quiz = asked()
    tell(at, quiz.move, do="evict", for_ever=0)
    assert "What if" not in panel_text(at) and "Runtime " not in panel_text(at)
    tell(at, quiz.move, do="play", action=line_of(at).film.actions[quiz.move])
    tell(at, quiz.move, do="evict", for_ever=0)
    assert "What if" in panel_text(at) and "Runtime " in panel_text(at)


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


def test_an_answer_is_rated_by_itself_though_an_older_variation_begins_with_it() -> None:
    at, quiz = asked()
    line, action = line_of(at), other_action(at, quiz)
    fresh = Line(line.film)
    fresh.play(quiz.move, action)
    line.play(quiz.move, action)
    line.let(line.tip, RandomPlayer(), 20)
    assert line.tree.lines[0].rating != fresh.tree.lines[0].rating
    line.go(PLAN)
    tell(at, quiz.move, do="play", action=action)
    assert quiz.answer is not None
    assert quiz.answer.rating == fresh.tree.lines[0].rating


def test_a_question_is_about_the_plan_whatever_variation_is_shown() -> None:
    at, quiz = asked()
    line = line_of(at)
    line.play(quiz.move, other_action(at, quiz))
    line.let(line.tip, PlanPlayer(line.film), line.film.num_moves)
    quiz.at = 1
    at.run()
    tell(at, quiz.move, do="play", action=line.film.actions[quiz.move])
    assert quiz.answer is not None and quiz.answer.is_same
    assert line.is_on_plan


def overlay_of(at: AppTest) -> dict[str, Any]:
    maps = [e for e in at.get("bidi_component") if e.proto.component_name == "memory_map"]
    found: dict[str, Any] = json.loads(maps[-1].proto.json)["overlay"]
    return found


def test_what_the_agent_thinks_is_hidden_while_a_question_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thinks = Opinion((0.2,) * NUM_ACTIONS, (0.2,) * NUM_ACTIONS, 9, "a game")
    monkeypatch.setattr(page, "opinion_of", lambda *_: thinks)
    at, quiz = asked()
    assert not any("visits" in ghost for ghost in overlay_of(at)["ghosts"])
    assert "9 visits" not in panel_text(at)
    tell(at, quiz.move, do="play", action=line_of(at).film.actions[quiz.move])
    shown = overlay_of(at)["ghosts"]
    assert shown and all("visits" in ghost for ghost in shown)


def test_another_key_keeps_the_verdict() -> None:
    at, quiz = asked()
    line, action = line_of(at), other_action(at, quiz)
    tell(at, quiz.move, do="play", action=action)
    answer, tree, told = quiz.answer, line.tree, panel_text(at)
    tell(at, quiz.move, do="play", action=line.film.actions[quiz.move])
    assert quiz.answer is answer and line.tree == tree
    assert panel_text(at) == told
    assert told.count('data-do="play"') == told.count("aria-disabled") > 0
    cursor = session_of(at).cursor
    assert "answered" in cursor.note and not cursor.refusal
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
    ("action", "final", "is_right"),
    [(1, 0.0, True), (2, 1e-6, True), (2, -0.9 * noise_s(0.0), True), (2, -1e-6, False)],
)
def test_what_is_better_than_the_plan_counts(action: int, final: float, is_right: bool) -> None:
    quiz = Quiz("x", (3,), answers={3: Answer(action, 1, Rating(final, final))})
    assert quiz.num_right == is_right
    assert quiz.answers[3].right == ({1, action} if is_right else {1})
    told = str(quiz_html(quiz, 3))
    assert f"{int(is_right)} of 1 as good" in told
    assert ("As good in the end" in told) == (abs(final) < noise_s(0.0) and action != 1)


def test_a_program_without_moves_is_offered_nothing_that_would_do_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = residual_network()
    slow = replace(made, values=tuple(replace(v, may_be_fast=False) for v in made.values))
    monkeypatch.setattr(caching, "sample", lambda name: slow)
    at = opened("teach-prefetch")
    assert line_of(at).film.num_moves == 0
    assert "This program has no move" in panel_text(at)
    assert "data-do=" not in panel_text(at)
    tell(at, 0, do="quiz", to="begin")
    assert session_of(at).quiz is None and "at stake" in session_of(at).cursor.note
    tell(at, 0, do="play", action=0)
    assert session_of(at).cursor.note == "There is nothing to decide"

"""Letting others go on in Play: at once, as a job; and what the agent thought (AppTest)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from engine.game.notes import rules_of
from engine.game.reference.game import ReferenceGame
from engine.plan.check import check
from engine.plan.model import Plan
from engine.program import library
from engine.program.model import Program
from engine.solvers import solve
from tests.ui.apps import session_of
from tests.ui.play_page import first_choice, line_of, opened, panel_text, tell
from tests.ui.waiting import are_over
from ui.jobs.protocol import DONE, FAILED, FOLLOW, SOLVE, STOPPED, Order
from ui.jobs.queue import Workshop
from ui.jobs.run import Job, Run
from ui.model.play.film import Film
from ui.model.play.ghosts import ghosts, opinion_of
from ui.model.play.line import PLAN
from ui.play import playing_on
from ui.session import caching, films
from ui.session.state import PlayRequest

PROGRAM = "teach-keep-or-drop"


@pytest.fixture(autouse=True)
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent plays with fresh weights, whatever checkpoint is shipped."""
    monkeypatch.setattr(playing_on, "shipped", list)


def ask(at: AppTest, player: str, move: int = 0, moves: int = 0) -> None:
    tell(at, move, do="let", player=player, moves=moves)


def wait(at: AppTest) -> None:
    """Until the request is over, as its bar would, and the page has taken it in."""
    play_request = session_of(at).open.play_request
    assert play_request is None or are_over([play_request.job])
    at.run()
    assert not at.exception


def test_everybody_is_offered_and_strangers_do_nothing() -> None:
    at = opened(PROGRAM)
    here = session_of(at)
    found = playing_on.names(here, line_of(at))
    assert {"greedy", "the plan", "random", "the agent", "like xla_like"} <= set(found)
    assert "like greedy" not in found
    ask(at, "nobody")
    assert here.open.play_request is None
    assert line_of(at).is_on_plan


def test_a_solver_without_a_plan_runs_first_and_is_followed() -> None:
    at = opened(PROGRAM)
    here, line = session_of(at), line_of(at)
    ask(at, "like all_slow", move=0)
    wait(at)
    assert here.open.play_request is None
    assert "all_slow" in here.open.plans
    path = line.path
    assert path is not None and line.is_complete
    assert line.tree.lines[-1].by == "like all_slow"
    ask(at, "like all_slow", move=0)
    assert here.open.play_request is None, "its plan is here by now"


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_plan_that_takes_long_to_follow_is_followed_in_a_job(
    monkeypatch: pytest.MonkeyPatch, is_listed: bool
) -> None:
    at = opened(PROGRAM)
    here, line = session_of(at), line_of(at)
    made, kept = Workshop(), films.Films()
    monkeypatch.setattr(caching, "workshop", lambda: made)
    monkeypatch.setattr(films, "_films", lambda: kept)
    monkeypatch.setattr(films, "QUICK_TOUCHES", 0)
    monkeypatch.setattr(films.Film, "__init__", seldom(films.Film.__init__))
    if is_listed:
        here.open.add_plan("all_slow", solve("all_slow", here.open.program))
        at.run()
    ask(at, "like all_slow", move=0)
    while here.open.play_request is not None:
        wait(at)
    identity = here.open.plans["all_slow"].identity
    assert [j.order.basis for j in here.open.jobs if j.order.kind == FOLLOW] == [identity]
    assert line.is_complete and line.tree.lines[-1].by == "like all_slow"


def seldom(make: Callable[..., None]) -> Callable[..., None]:
    """Makes films, but none without a record of its game."""

    def made(
        self: Film, program: Program, plan: Plan, record: object = None, *rest: object
    ) -> None:
        assert record is not None, "this takes minutes, of a large program"
        make(self, program, plan, record, *rest)

    return made


def test_a_stopped_request_changes_nothing() -> None:
    at = opened("teach-fragmentation")
    here = session_of(at)
    ask(at, "the agent")
    play_request = here.open.play_request
    assert play_request is not None
    asked = json.loads(dict(play_request.job.order.details)["rules"])
    assert rules_of(asked) == line_of(at).film.game_at(0).rules
    next(b for b in at.button if b.key and b.key.startswith("stop_")).click().run()
    at.run()
    assert not at.exception
    assert play_request.job.state == STOPPED
    assert here.open.play_request is None
    assert line_of(at).is_on_plan
    assert not here.open.searches.thoughts


def request_of(at: AppTest, state: str, plan: Plan | None = None, error: str = "") -> PlayRequest:
    """A solver's run that is over, as it was asked for at the first move of the line shown."""
    here, line = session_of(at), line_of(at)
    assert here.plan is not None
    job = Job(Run(Order(SOLVE, "all_slow", 1.0), "", state, error=error, plan=plan))
    name, tree = "like all_slow", line.tree
    return PlayRequest(name, job, here.plan.identity, (), 10**6, tree.current, line.tip)


def test_a_failed_request_says_why() -> None:
    at = opened(PROGRAM)
    session_of(at).open.play_request = request_of(at, FAILED, error="no luck")
    at.run()
    assert any("no luck" in item.text for item in session_of(at).news.items())


@pytest.mark.nightly
@pytest.mark.timeout(1500)
def test_the_agent_plays_on_and_what_it_thought_is_seen() -> None:
    at = opened(PROGRAM)
    here, line = session_of(at), line_of(at)
    ask(at, "the agent", move=2, moves=1)
    play_request = here.open.play_request
    assert play_request is not None
    wait(at)
    assert play_request.job.state == DONE, play_request.job.error
    thought = here.open.searches.thought
    assert thought is not None
    assert thought.name == "the agent from move 3"
    assert check(here.open.program, thought.plan) is None
    told = tuple(thought.trace.action.tolist())
    assert told[:2] == line.film.actions[:2]
    assert line.actions_before(3) == told[:3]
    is_same = told[2] == line.film.actions[2]
    assert line.is_on_plan == is_same
    tell(at, 2)
    assert "of its visits" in panel_text(at)


def test_who_has_left_the_line_is_not_dragged_along() -> None:
    at = opened(PROGRAM)
    here, line = session_of(at), line_of(at)
    play_request = request_of(at, DONE, solve("all_slow", here.open.program))
    fork, action = first_choice(at)
    tell(at, fork, do="play", action=action)
    number, move = line.tree.current, here.cursor.move
    here.open.play_request = play_request
    at.run()
    assert not at.exception
    assert not [i for i in session_of(at).news.items() if "Nobody" in i.subject]
    assert here.open.play_request is None
    assert line.tree.current == number != PLAN
    assert here.cursor.move == move
    assert line.action_at(fork) == action
    assert any(v.tip == line.film.num_moves for v in line.tree.lines)


def test_an_opinion_belongs_to_its_position_only() -> None:
    from tests.ui.search_traces import made_up_trace
    from ui.model.search.state import Thought, game_of

    program = library.load_sample(PROGRAM)
    trace = made_up_trace(program)
    plan = game_of(program, trace)
    assert plan is not None
    thought = Thought("x", trace, plan, {}, {}, b"", "x")
    game = ReferenceGame(program)
    for action in trace.action[:2].tolist():
        game.step(action)
    found = opinion_of([thought], game, game.actions)
    assert found is not None
    assert sum(found.visits) == pytest.approx(1)
    assert found.prior == pytest.approx(trace.prior[2].tolist())
    assert found.num_visits == trace.root_visits()[2].sum()
    shapes = ghosts(game, found)["ghosts"]
    assert shapes
    assert all(0 <= shape["visits"] <= 1 and 0 <= shape["prior"] <= 1 for shape in shapes)
    assert all("visits" not in shape for shape in ghosts(game)["ghosts"])
    other = ReferenceGame(program)
    while (action := another(other, trace.action[other.move_index])) is None:
        other.step(trace.action[other.move_index])
    other.step(action)
    assert opinion_of([thought], other, other.actions) is None


def another(game: ReferenceGame, action: int) -> int | None:
    """A legal action besides this one."""
    return next((a for a, is_legal in enumerate(game.legal()) if is_legal and a != action), None)


def test_the_plan_that_a_solver_has_made_is_one_click_away() -> None:
    at = opened(PROGRAM)
    here = session_of(at)
    here.open.jobs.append(request_of(at, DONE, solve("all_slow", here.open.program)).job)
    at.run()
    at.button(key="solved").click().run()
    assert here.plan is not None and here.plan.name == "all_slow"
    assert "solved" not in {button.key for button in at.button}


def test_a_solver_that_is_followed_takes_no_faster_plans_name() -> None:
    at = opened(PROGRAM)
    here, line = session_of(at), line_of(at)
    fast, slow = (solve(name, here.open.program) for name in ("greedy", "all_slow"))
    here.open.add_plan("all_slow", fast)
    here.open.play_request = request_of(at, DONE, slow)
    at.run()
    assert not at.exception
    assert here.open.plans["all_slow"].plan is fast
    assert here.open.plans["all_slow 2"].plan is slow
    assert line.tree.lines[-1].by == "like all_slow"

"""A visitor's programs: how many are open at once, and which one goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.program.model import Program
from engine.solvers import solve
from tests.ui.apps import session_of
from tests.ui.play_page import opened
from ui.jobs.protocol import BOUND, DONE, RETRACE, RUNNING, SOLVE, TUNE, Order
from ui.jobs.run import Job, Run
from ui.model.debug.table import MOST_BROUGHT, Debugging
from ui.model.play.film import Film
from ui.model.play.line import Line, RandomPlayer
from ui.session import opening, state
from ui.session.state import OpenProgram, Session


@pytest.fixture
def session(program: Program, monkeypatch: pytest.MonkeyPatch) -> Session:
    """One with room for three programs, of which a, b and c are open and c is in use."""
    monkeypatch.setattr(state, "_MOST_PROGRAMS", 3)
    made = Session()
    for name in "abc":
        made.open_program(name, replace(program, name=name))
    return made


def test_a_links_line_is_not_awaited_on_another_plan(session: Session, program: Program) -> None:
    for leave in (lambda: session.show_plan("other"), lambda: session.open_program("d", program)):
        session.awaited_query = {"plan": "its own", "line": "3-d"}
        leave()
        assert not session.awaited_query


def test_a_links_window_is_of_its_program_alone(session: Session, program: Program) -> None:
    session.look = {"window": "0_2_0_9"}
    session.open_program("c", program)
    assert session.look, "it is in use already"
    session.open_program("d", program)
    assert not session.look


def job(kind: str) -> Job:
    return Job(Run(Order(kind, "work", 1.0), ""))


def test_the_one_opened_first_goes(session: Session, program: Program) -> None:
    session.open_program("d", program)
    assert list(session.programs) == ["b", "c", "d"]
    session.open_program("b", program)
    session.open_program("e", program)
    assert list(session.programs) == ["b", "d", "e"], "what is in use stays"


def test_the_one_that_goes_is_named(session: Session, program: Program) -> None:
    session.open_program("d", program)
    (told,) = session.news.items()
    assert told.subject == "a" and "closed" in told.text


def test_plans_and_variations_of_the_visitors_own_keep_their_program(
    session: Session, program: Program
) -> None:
    plan = solve("greedy", program)
    session.programs["a"].add_plan("you", plan, is_own=True)
    opened = session.programs["b"]
    opened.add_plan("greedy", plan)
    line = opened.lines[opened.plans["greedy"].identity] = Line(Film(program, plan))
    line.let(0, RandomPlayer(), 10**6)
    assert not line.is_on_plan
    for name in "de":
        session.open_program(name, program)
    assert list(session.programs) == ["a", "b", "d", "e"]


def test_work_of_any_page_keeps_its_program(session: Session, program: Program) -> None:
    session.programs["a"].jobs.append(job(SOLVE))
    session.programs["b"].searches.jobs.append(job(RETRACE))
    assert [opened.name for opened, _ in session.jobs()] == ["a", "b"]
    session.open_program("d", program)
    assert list(session.programs) == ["a", "b", "c", "d"], "nothing was idle but what is in use"


def solved(program: Program, solver: str, seconds: float, is_kept: bool = False) -> Job:
    """A finished run that is called `local`, with the plan of another solver."""
    run = Run(Order(SOLVE, "local", seconds), "", state=DONE, plan=solve(solver, program))
    return Job(run, is_kept=is_kept)


def test_back_leads_to_the_program_that_was_in_use() -> None:
    at = opened("teach-prefetch", plan="greedy", move="3", select="1")
    session, before = session_of(at), dict(at.query_params)
    opening.open_named(session, "teach-loop-carry")
    at.run()
    assert session.program_name == "teach-loop-carry", "the address is the page's own"
    at.query_params |= before
    at.run()
    assert not at.exception and not at.warning
    assert (session.program_name, session.plan_name) == ("teach-prefetch", "greedy")
    assert (session.cursor.move, session.cursor.selected) == (2, 1)
    assert dict(at.query_params) == before
    at.query_params["program"] = "teach-fragmentation"
    at.run()
    assert session.program_name == "teach-prefetch", "it was never open"


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_slower_plan_takes_no_faster_ones_name(program: Program, is_kept: bool) -> None:
    """What earlier visits left comes oldest first; a visitor's own slower plan gets a number."""
    opened = OpenProgram("x", program, "hash")
    fast, slow = solved(program, "greedy", 60.0, is_kept), solved(program, "all_slow", 5.0, is_kept)
    opened.jobs = [fast, slow]
    assert opened.collect()
    assert opened.plans["local"].plan is fast.plan
    names = ["local"] if is_kept else ["local", "local 2"]
    assert list(opened.plans) == names
    opened.jobs.append(solved(program, "all_slow", 5.0, is_kept))
    assert opened.collect() and list(opened.plans) == names, "it is listed once"
    opened = OpenProgram("x", program, "hash")
    opened.jobs = [slow, Job(fast.run, is_kept=is_kept)]
    slow._is_taken = False
    assert opened.collect()
    assert {name: plan.plan for name, plan in opened.plans.items()} == {"local": fast.plan}


def tuned(program: Program, solver: str, compiles: int, gain: float, is_kept: bool) -> Job:
    """A search for compiler options that has ended, with the plan of a solver."""
    order = Order(TUNE, "tuned", 60.0, details=(("compiles", compiles),))
    result = {"verdict": {"improvement": gain}, "instructions": [], "asked": ""}
    run = Run(order, "", state=DONE, plan=solve(solver, program), result=result)
    return Job(run, is_kept=is_kept)


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_search_for_options_that_gains_less_takes_no_better_ones_name(
    program: Program, is_kept: bool
) -> None:
    """What counts is the compiler's own cycles, not what the costs say of the plans."""
    good = tuned(program, "all_slow", 24, 0.05, is_kept)
    bad = tuned(program, "greedy", 4, 0.01, is_kept)
    opened = OpenProgram("x", program, "hash")
    opened.jobs = [good, bad]
    assert opened.collect()
    names = ["tuned"] if is_kept else ["tuned", "tuned 2"]
    assert list(opened.plans) == list(opened.compiler.compiled) == names
    assert opened.plans["tuned"].plan is good.plan
    assert opened.compiler.compiled["tuned"].verdict["improvement"] == 0.05
    assert opened.compiler.shown == names[-1]
    assert [one.name for one in opened.compiler.compiled.values()] == names
    better = tuned(program, "greedy", 6, 0.07, is_kept)
    opened.jobs.append(better)
    assert opened.collect()
    assert list(opened.plans) == list(opened.compiler.compiled) == names
    assert opened.plans["tuned"].plan is better.plan
    assert opened.compiler.compiled["tuned"].verdict["improvement"] == 0.07


NOTES = {"asked": "local", "own_latency_s": 7.04e-4}


def test_a_plan_given_in_place_of_a_solvers_own_says_whose_it_is(program: Program) -> None:
    """It takes neither the name of the solver that was asked nor its maker's."""
    opened = OpenProgram("x", program, "hash")
    replaced = solved(program, "greedy", 1.0)
    assert replaced.plan is not None
    replaced.run.plan = replace(replaced.plan, notes={**replaced.plan.notes, **NOTES})
    opened.jobs = [replaced, solved(program, "all_slow", 2.0)]
    assert opened.collect()
    name = "local (greedy's plan)"
    assert list(opened.plans) == [name, "local"]
    assert opened.plan_of("local") == "local"
    del opened.plans["local"]
    assert opened.plan_of("local") == name
    assert opened.plan_of("greedy") == ""


def test_a_plan_of_the_visitors_own_outlasts_a_faster_one_of_its_name(program: Program) -> None:
    opened = OpenProgram("x", program, "hash")
    own, other = solve("all_slow", program), solve("greedy", program)
    opened.add_plan("local", own, is_own=True)
    opened.add_plan("local", own, is_own=True)
    opened.jobs = [solved(program, "greedy", 60.0)]
    assert opened.collect()
    assert {name: plan.plan for name, plan in opened.plans.items()} == {
        "local": other,
        "local 2": own,
    }
    assert opened.plans["local 2"].is_own and opened.plans["local 2"].name == "local 2"
    opened.add_plan("local", own)
    assert list(opened.plans) == ["local", "local 2"], "what a solver made is replaced"


@pytest.mark.parametrize("plan_name", ["local", ""])
def test_the_plan_that_is_looked_at_stays_where_a_faster_one_takes_its_name(
    program: Program, plan_name: str
) -> None:
    session = Session()
    session.open_program("x", program)
    slow = solve("all_slow", program)
    session.open.add_plan("local", slow)
    session.open.add_plan("random", slow)
    session.plan_name = plan_name
    session.open.jobs = [solved(program, "greedy", 60.0)]
    session.collect()
    assert session.plan is not None and session.plan.plan is slow
    assert session.plan_name == session.plan.name == "local 2"
    assert list(session.open.plans) == ["local", "random", "local 2"]
    (told,) = session.news.items()
    assert told.subject == "local" and "local 2" in told.text


def test_a_plan_that_a_link_waits_for_is_shown_when_it_comes(program: Program) -> None:
    session = Session()
    session.open_program("x", program)
    session.open.add_plan("random", solve("all_slow", program))
    session.plan_name = "local"
    session.open.jobs = [solved(program, "greedy", 60.0)]
    session.collect()
    assert session.plan is not None and session.plan.name == "local"
    assert not session.news.items()


def test_a_weaker_bound_replaces_none(program: Program) -> None:
    opened = OpenProgram("x", program, "hash", bound_s=2.0)
    for bound_s, known in ((1.0, 2.0), (3.0, 3.0)):
        run = Run(Order(BOUND, BOUND, 1.0), "", state=DONE, result={"bound_s": bound_s})
        opened.jobs = [Job(run)]
        assert opened.collect()
        assert opened.bound_s == known


def test_a_replaced_job_ends_unless_its_run_is_shared(program: Program) -> None:
    opened = OpenProgram("x", program, "hash")
    run = Run(Order(SOLVE, "local", 10.0), "me", state=RUNNING, holders={"me"})
    old, new = Job(run, "me"), Job(run, "me")
    opened.jobs = [new]
    opened.let_go(old)
    assert not run.is_over
    opened.jobs = []
    opened.let_go(new)
    assert run.is_over


def test_what_a_visitor_brings_is_called_by_its_content() -> None:
    debugging = Debugging()
    first = debugging.bring("mine", {"manifest.json": b"1", "arrays.npz": b"2"})
    other = debugging.bring("mine", {"manifest.json": b"1", "arrays.npz": b"3"})
    assert first != other and first.startswith("brought-mine-")
    assert debugging.bring("mine", {"arrays.npz": b"2", "manifest.json": b"1"}) == first
    assert list(debugging.weights) == [other, first]
    for number in range(MOST_BROUGHT):
        debugging.bring(str(number), {})
    assert len(debugging.weights) == MOST_BROUGHT
    assert first not in debugging.weights

"""Where XLA's plan was read in part every page says so, and to be faster than it is no win."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from engine.lessons.opponents import COMPILER
from engine.program.library import load_sample
from engine.program.model import Program
from tests.ui.apps import open_view, session_of
from ui.model.challenges.match import match_of
from ui.model.compare.differences import summary
from ui.play.references import rival_of
from ui.session import opening
from ui.session.opening import COMPILED, FIRST_SOLVER

NAME = "gptdecode-v5e-b8"
WARNING = "Only 94.7% of the saving of XLA's plan could be read"
PAGES = ("compare", "play", "programs")


def read_to(lost: float) -> Program:
    """A program of the visitor's, of whose plan by XLA so much of the saving was left out."""
    whole = load_sample(NAME)
    plan: Mapping[str, object] = whole.provenance["xla_plan"]
    noted = {**plan, "notes": {"left_out_saving_share": lost}}
    return replace(whole, name="mine", provenance={**whole.provenance, "xla_plan": noted})


def _page(name: str) -> None:
    from importlib import import_module

    import_module(f"ui.{name}.page").render()


def showing(page: str, lost: float, mode: str = "runtimes") -> AppTest:
    """A page on such a program, with XLA's plan and that of greedy, which is faster."""
    at = open_view(_page, page, program="teach-prefetch", mode=mode)
    session = session_of(at)
    opening.add_program(session, "mine", read_to(lost))
    opening._solve_here(session.open)
    session.open.bound_s = session.open.program.all_fast_s
    session.open.comparison.hold(COMPILED, FIRST_SOLVER)
    session.open.comparison.mode = mode
    at.run()
    assert not at.exception
    return at


@pytest.mark.parametrize("page", PAGES)
def test_every_page_warns_in_words(page: str) -> None:
    warnings = [w.value for w in showing(page, 0.053).warning]
    assert len(warnings) == 1 and warnings[0].startswith(WARNING) and "no win" in warnings[0]


@pytest.mark.parametrize("page", PAGES)
def test_a_plan_that_was_read_whole_needs_no_warning(page: str) -> None:
    assert not showing(page, 0.01).warning


def test_faster_than_that_plan_is_said_to_be_no_win() -> None:
    told = {
        lost: " ".join(m.value for m in showing("compare", lost, "layouts").markdown)
        for lost in (0.053, 0.0)
    }
    assert "faster than **xla\\_compiled**. No win for **greedy**" in told[0.053]
    assert "faster than **xla\\_compiled**." in told[0.0] and "No win" not in told[0.0]
    assert "No win for **greedy**" in summary((FIRST_SOLVER, COMPILED), (1.0, 2.0), COMPILED)
    assert "No win" not in summary((FIRST_SOLVER, COMPILED), (2.0, 1.0), COMPILED)


def test_the_card_says_that_the_plan_is_not_whole() -> None:
    html = " ".join(e.proto.body for e in showing("programs", 0.053).get("html"))
    assert "xla_compiled, in part" in html


def test_nobody_leads_over_that_plan_on_the_curve() -> None:
    at = showing("play", 0.0)
    session = session_of(at)
    plan = session.open.plans[FIRST_SOLVER]
    rival = rival_of(session, plan)
    assert rival is not None and rival.name == COMPILED
    session = session_of(showing("play", 0.053))
    assert rival_of(session, session.open.plans[FIRST_SOLVER]) is None


def test_that_plan_is_no_opponent() -> None:
    names = {
        lost: [r.name for r in match_of(read_to(lost), None, None).opponents] for lost in (0, 0.1)
    }
    assert COMPILER in names[0] and COMPILER not in names[0.1]

"""The recorded games that ship: of these weights, rules and programs, and as they were measured."""

from __future__ import annotations

import pytest

from engine.debugging.gap_account import account
from engine.debugging.regret import RegretStudy
from engine.game.notes import noted_game
from engine.plan.check import check
from tests.chosen import chosen
from tests.ui.apps import open_view, session_of
from ui.jobs.queue import Workshop
from ui.jobs.weights import digest, shipped
from ui.model.search.recording import Recording, recording_of
from ui.model.search.state import Searches
from ui.session import caching
from ui.session.best_plan import best_beside, identity_of
from ui.session.record_games import opened_as_in_the_explorer
from ui.session.recordings import RECORDINGS
from ui.session.state import OpenProgram

NAMES = sorted(path.name.removesuffix(".npz") for path in RECORDINGS.glob("*.npz"))


def opened_with(name: str) -> tuple[OpenProgram, Recording]:
    data = (RECORDINGS / f"{name}.npz").read_bytes()
    return opened_as_in_the_explorer(name), recording_of(data, name)


def test_there_are_some() -> None:
    assert len(NAMES) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_it_is_of_the_program_the_weights_and_the_rules_that_ship(name: str) -> None:
    opened, recording = opened_with(name)
    assert recording.weights == shipped()[0]
    why = recording.refusal(opened.identity, digest(recording.weights))
    assert not why, f"{why}; record it again: python -m ui.session.record_games {name}"


@pytest.mark.parametrize("name", chosen(NAMES))
def test_its_game_is_valid_and_its_figures_are_those_of_that_game(name: str) -> None:
    opened, recording = opened_with(name)
    searches = Searches()
    recording.add_to(searches)
    thought, study = searches.thought, searches.study
    assert thought is not None and study is not None
    assert check(opened.program, thought.plan) is None
    game = noted_game(opened.program, thought.plan)
    assert game is not None and game.actions == thought.trace.action.tolist()
    (second,) = searches.of_game()
    assert second.trace.model != thought.trace.model
    assert second.trace.action.tolist() == game.actions
    # Every move that leaves a choice has been measured, and as it would be now.
    assert study.completeness == 1
    regrets = RegretStudy(opened.program, game.actions, game.rules)
    assert set(study.regrets) == set(regrets.choices)
    for move in sorted(study.regrets, key=lambda m: -(study.regrets[m].regret_us or 0))[:3]:
        assert regrets.at(move).regret_us == pytest.approx(study.regrets[move].regret_us)
    best = best_beside(opened, thought.plan)
    gap = searches.gaps[thought.identity, identity_of(best)]
    known = None if best is None else best.plan
    found = account(opened.program, thought.plan, known, opened.bound_s, gap.corrections)
    parts_s = found.explained_s + found.open_s + found.bounds_s
    assert parts_s == pytest.approx(found.gap_s, rel=1e-3, abs=1e-12)


def _debug() -> None:
    from ui.debug import page

    page.render()


@pytest.mark.parametrize("name", chosen(NAMES))
def test_nothing_is_left_to_measure_where_it_is_shown(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = Workshop(at_once=0)
    monkeypatch.setattr(caching, "workshop", lambda: idle)
    opened = session_of(open_view(_debug, program=name)).open
    assert opened.searches.thought is not None
    assert opened.searches.thought.facts.get("recorded")
    assert not opened.all_jobs()

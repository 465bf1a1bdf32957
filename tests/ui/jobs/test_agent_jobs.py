"""The agent's work in processes of its own: a practice, another search of it, its regrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.agent.trace_io import load_trace
from engine.debugging.counterfactual import LOCAL, POLICY, SEARCH
from engine.debugging.findings import VERSION, findings
from engine.debugging.regret import study_of
from engine.errors import ConfigError
from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.plan.check import check
from engine.plan.io import load_plan, save_plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import save
from engine.program.model import Program
from tests.ui.waiting import are_over
from ui.components.memory_map.board import estimates_of
from ui.jobs import agent, what_if
from ui.jobs.protocol import DONE, FINDINGS, MUZERO, RESEARCH, SOLVE, TRACE, Order, Progress
from ui.jobs.queue import Workshop
from ui.jobs.weights import FRESH, GENERALIST, PRACTISED
from ui.model.play.film import Film
from ui.model.search.state import Thought
from ui.session.state import OpenProgram

PROGRAM = library.load_sample("teach-keep-or-drop")
BEGIN = (("checkpoint", FRESH), ("simulations", 4))


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    made = Workshop()
    yield made
    made.close()


@pytest.fixture(scope="module")
def practised(workshop: Workshop) -> OpenProgram:
    """A program on which the agent has practised for a moment."""
    opened = OpenProgram("teaching", PROGRAM, "id")
    job = workshop.order(PROGRAM, Order(SOLVE, MUZERO, 1.0, details=BEGIN))
    opened.jobs.append(job)
    assert are_over([job])
    assert job.state == DONE, job.error
    assert opened.collect()
    return opened


def thought_of(opened: OpenProgram) -> Thought:
    thought = opened.searches.thought
    assert thought is not None
    return thought


@pytest.mark.timeout(1500)
def test_a_practice_leaves_a_plan_and_its_thoughts(practised: OpenProgram) -> None:
    thought, plan = thought_of(practised), practised.plans["muzero"].plan
    assert check(PROGRAM, plan) is None
    assert thought.name == "practised 1 s"
    assert thought.facts["weights"] == FRESH
    assert thought.facts["games"] > 0
    assert thought.trace.tree_parent.shape[1] == 5
    film = Film(PROGRAM, plan)
    assert film.is_exact
    assert film.actions == tuple(thought.trace.action.tolist())
    saved_s = PROGRAM.all_slow_s - simulate(PROGRAM, plan).latency_s
    estimates = estimates_of(plan, film.num_moves)
    assert estimates is not None
    error = thought.trace.reward[-1] - thought.trace.value[-1]
    last = saved_s - error * thought.trace.point_s
    assert estimates[-1] == pytest.approx(last, rel=1e-3, abs=1e-12)


@pytest.mark.parametrize(
    "weights", [pytest.param(PRACTISED, marks=pytest.mark.nightly), GENERALIST]
)
def test_a_position_is_searched_again(practised: OpenProgram, tmp_path: Path, weights: str) -> None:
    thought = thought_of(practised)
    folder = worked_on(tmp_path, thought)
    order = ordered(**again("simulator", weights))
    assert agent.search_again(folder, order, heard([])) == {"weights": weights}
    found = load_trace(folder / TRACE)
    assert found.model == "simulator"
    assert found.point_s == pytest.approx(thought.trace.point_s)
    assert found.par == pytest.approx(thought.trace.par[2:4], rel=1e-5)
    assert np.array_equal(found.legal[0], thought.trace.legal[2])
    is_same = np.isclose(found.raw_value[0], thought.trace.raw_value[2], rtol=1e-3)
    assert is_same == (weights == PRACTISED)


def again(model: str, weights: str) -> dict[str, object]:
    """Details of an order to search the third move again."""
    return {
        "move": 2,
        "simulations": 20,
        "model": model,
        "algorithm": "gumbel",
        "weights": weights,
    }


@pytest.mark.nightly
@pytest.mark.timeout(1500)
def test_another_search_reaches_the_open_program(
    practised: OpenProgram, workshop: Workshop
) -> None:
    thought = thought_of(practised)
    details = tuple(again("learned", PRACTISED).items())
    order = Order(RESEARCH, "again", 20.0, basis=thought.identity, details=details)
    job = workshop.order(PROGRAM, order, "", thought.plan, thought.weights)
    assert are_over([job])
    assert job.state == DONE, job.error
    practised.searches.jobs = [job]
    assert practised.searches.collect()
    found = practised.searches.again[-1]
    assert (found.move, found.thought) == (2, thought.identity)
    assert found.facts["weights"] == PRACTISED
    assert found.trace.model == "learned"


def test_unsearchable_orders_fail_with_a_reason(practised: OpenProgram, tmp_path: Path) -> None:
    folder = worked_on(tmp_path, thought_of(practised))
    with pytest.raises(ConfigError, match="does not search"):
        agent.search_again(folder, ordered(**again("policy", PRACTISED)), heard([]))


@pytest.mark.timeout(1500)
def test_what_can_be_said_against_the_game_is_found(
    practised: OpenProgram, workshop: Workshop
) -> None:
    thought = thought_of(practised)
    versioned = (("version", VERSION),)
    order = Order(FINDINGS, "Findings", 30.0, basis=thought.identity, details=versioned)
    job = workshop.order(PROGRAM, order, "", thought.plan, {TRACE: thought.data})
    assert are_over([job])
    assert job.state == DONE, job.error
    assert TRACE not in job.files
    practised.searches.jobs = [job]
    assert practised.searches.collect()
    study = practised.searches.studies[thought.identity]
    rules = Rules(place=str(thought.plan.notes["place"]))
    own = study_of(thought.trace, PROGRAM, rules)
    list(own.run())
    assert list(study.findings) == findings("", thought.trace, own)
    assert study.completeness == 1


def worked_on(folder: Path, thought: Thought) -> Path:
    """A worker's folder that starts from a game, with the weights of its agent."""
    save(PROGRAM, folder / "program.json")
    save_plan(thought.plan, folder / "basis.json")
    for name, content in thought.weights.items():
        (folder / name).write_bytes(content)
    return folder


def heard(words: list[str]) -> Progress:
    def progress(share: float | None, word: str) -> bool:
        assert share is None or 0 <= share <= 1
        words.append(word)
        return True

    return progress


def ordered(**details: object) -> dict[str, Any]:
    return {"seconds": 1.0, "seed": 0, "details": list(details.items())}


@pytest.mark.nightly
def test_a_whole_game_is_searched_again_with_other_settings(
    practised: OpenProgram, tmp_path: Path
) -> None:
    thought, words = thought_of(practised), list[str]()
    folder = worked_on(tmp_path, thought)
    order = ordered(weights=PRACTISED, model="simulator", simulations=6)
    assert agent.trace_again(folder, order, heard(words)) == {"weights": PRACTISED}
    again = load_trace(folder / TRACE)
    assert again.action.tolist() == thought.trace.action.tolist()
    assert (again.model, again.tree_parent.shape[1]) == ("simulator", 7)
    assert again.prior == pytest.approx(thought.trace.prior, abs=1e-4)
    assert load_plan(folder / "plan.json").notes["moves"] == thought.plan.notes["moves"]
    assert any(f"of {again.num_moves}" in word for word in words)


@pytest.mark.nightly
def test_a_forced_action_is_played_on_by_all(practised: OpenProgram, tmp_path: Path) -> None:
    thought, words = thought_of(practised), list[str]()
    trace = thought.trace
    move = int(np.flatnonzero(trace.legal.sum(axis=1) > 1)[0])
    other = next(a for a in np.flatnonzero(trace.legal[move]) if a != trace.action[move])
    folder = worked_on(tmp_path, thought)
    order = ordered(move=move, action=int(other), weights=PRACTISED)
    rows = what_if.force(folder, order, heard(words))["rows"]
    assert [row["continuation"] for row in rows] == [POLICY, SEARCH, LOCAL]
    for row in rows[:2]:
        game = ReferenceGame(PROGRAM, Rules(place=str(thought.plan.notes["place"])))
        for digit in row["actions"]:
            game.step(int(digit))
        assert game.actions[move] == other
        assert row["latency_s"] == simulate(PROGRAM, game.plan("again")).latency_s
    assert rows[2]["latency_s"] == simulate(PROGRAM, load_plan(folder / "plan.json")).latency_s
    original_s = simulate(PROGRAM, thought.plan).latency_s
    assert {row["original_s"] for row in rows} == {original_s}


@pytest.mark.nightly
def test_two_agents_play_several_programs(practised: OpenProgram, tmp_path: Path) -> None:
    thought, words = thought_of(practised), list[str]()
    folder = worked_on(tmp_path, thought)
    other = "teach-evict-and-return"
    sides = {"weights": PRACTISED, "model": "policy", "simulations": 1}
    order = ordered(
        programs=json.dumps([PROGRAM.name, other]),
        **{
            f"{which}_{name}": value
            for which in ("first", "second")
            for name, value in sides.items()
        },
    )
    order["details"] = [
        (name, FRESH if name == "second_weights" else value) for name, value in order["details"]
    ]
    found = what_if.compete(folder, order, heard(words))
    assert [bout["program"] for bout in found["bouts"]] == [PROGRAM.name, other]
    assert FRESH in found["second"] and PRACTISED in found["first"]
    for bout in found["bouts"]:
        total_us = sum(kind["change_us"] for kind in bout["kinds"])
        change_us = (bout["second_s"] - bout["first_s"]) * 1e6
        assert total_us == pytest.approx(change_us, abs=1e-9 * bout["first_s"] * 1e6)
    assert any(other in word for word in words)


def test_a_name_with_a_comma_is_one_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = replace(PROGRAM, name="mine, tuned")
    save(own, tmp_path / what_if.PROGRAM)
    met = []

    def duel(programs: list[Program], *sides: object) -> SimpleNamespace:
        met.extend(programs)
        return SimpleNamespace(to_json=dict)

    monkeypatch.setattr(what_if, "duel", duel)
    monkeypatch.setattr(what_if, "_fighter", lambda *_: None)
    sides = [(f"{which}_weights", FRESH) for which in ("first", "second")]
    what_if.compete(tmp_path, ordered(programs=json.dumps([own.name]), **dict(sides)), heard([]))
    assert met == [own]

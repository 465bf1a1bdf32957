"""The agent's work in processes of its own: a practice, another search of it, its regrets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from tests.ui.waiting import are_over
from ui.components.memory_map.curve import estimates_of
from ui.jobs.protocol import DONE, FAILED, MUZERO, REGRET, RESEARCH, SOLVE, TRACE, Order
from ui.jobs.queue import Workshop
from ui.jobs.run import Job
from ui.jobs.weights import FRESH, PRACTISED
from ui.play.film import Film
from ui.search.state import Thought
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


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("weights", [PRACTISED, FRESH])
def test_a_position_is_searched_again(
    practised: OpenProgram, workshop: Workshop, weights: str
) -> None:
    thought = thought_of(practised)
    job = again(workshop, thought, weights, "simulator")
    assert job.state == DONE, job.error
    practised.searches.jobs = [job]
    assert practised.searches.collect()
    found = practised.searches.again[-1]
    assert (found.move, found.thought) == (2, thought.identity)
    assert found.facts["weights"] == weights
    assert found.trace.model == "simulator"
    assert found.trace.point_s == pytest.approx(thought.trace.point_s)
    assert found.trace.par == pytest.approx(thought.trace.par[2:4], rel=1e-5)
    assert np.array_equal(found.trace.legal[0], thought.trace.legal[2])
    is_same = np.isclose(found.trace.raw_value[0], thought.trace.raw_value[2], rtol=1e-3)
    assert is_same == (weights == PRACTISED)


def again(workshop: Workshop, thought: Thought, weights: str, model: str) -> Job:
    details = (
        ("move", 2),
        ("simulations", 20),
        ("model", model),
        ("algorithm", "gumbel"),
        ("weights", weights),
    )
    order = Order(RESEARCH, "again", 20.0, basis=thought.identity, details=details)
    job = workshop.order(PROGRAM, order, "", thought.plan, thought.weights)
    assert are_over([job])
    return job


@pytest.mark.timeout(1500)
def test_unsearchable_orders_fail_with_a_reason(practised: OpenProgram, workshop: Workshop) -> None:
    job = again(workshop, thought_of(practised), PRACTISED, "policy")
    assert job.state == FAILED
    assert "does not search" in job.error


@pytest.mark.timeout(1500)
def test_regrets_of_the_game_are_found(practised: OpenProgram, workshop: Workshop) -> None:
    thought = thought_of(practised)
    order = Order(REGRET, "Regrets", 30.0, basis=thought.identity)
    job = workshop.order(PROGRAM, order, "", thought.plan, {TRACE: thought.data})
    assert are_over([job])
    assert job.state == DONE, job.error
    assert TRACE not in job.files
    practised.searches.jobs = [job]
    assert practised.searches.collect()
    regrets = practised.searches.regrets[thought.identity]
    choices = {m for m, row in enumerate(thought.trace.legal) if row.sum() > 1}
    assert set(regrets) == choices
    assert all(row["regret_us"] >= 0 for row in regrets.values())

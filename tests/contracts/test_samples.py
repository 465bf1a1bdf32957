"""Every sample program: readable, consistent with its index, and as good as the README says."""

from __future__ import annotations

import pytest

from engine.game.replay import replay
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import io, library
from engine.solvers import has_compiled_plan, solve

NAMES = library.sample_names()
CAPTURED = [n for n in NAMES if has_compiled_plan(library.load_sample(n))]
MAX_FILE_BYTES = 300_000


@pytest.mark.parametrize("name", NAMES)
def test_files_round_trip_exactly(name: str) -> None:
    program = library.load_sample(name)
    assert io.from_json(io.to_json(program), name) == program
    path = library.SAMPLES_FOLDER / library.index()[name]["file"]
    assert path.stat().st_size <= MAX_FILE_BYTES
    assert library.index()[name]["content_hash"] == io.content_hash(program)


@pytest.mark.parametrize("name", CAPTURED)
def test_the_compilers_plan_is_valid_and_its_costs_were_verified(name: str) -> None:
    program = library.load_sample(name)
    plan = solve("xla_compiled", program)
    assert check(program, plan) is None
    assert plan.notes["left_out_saving_share"] <= 0.01
    assert program.provenance["fit"]["worst_held_out_error"] <= 0.03
    assert {"versions", "model", "batch", "placements"} <= set(program.provenance)


@pytest.mark.parametrize("name", CAPTURED)
def test_the_board_can_express_the_compilers_plan(name: str) -> None:
    program = library.load_sample(name)
    plan = solve("xla_compiled", program)
    real = simulate(program, plan)
    game = replay(program, plan)
    played = game.plan("replay")
    assert check(program, played) is None
    again = simulate(program, played)
    saving = real.all_slow_s - real.latency_s
    assert again.all_slow_s - again.latency_s >= 0.99 * saving
    relative = (again.all_slow_s - again.latency_s) / again.all_slow_s
    assert game.total_reward == pytest.approx(relative, abs=1e-6)

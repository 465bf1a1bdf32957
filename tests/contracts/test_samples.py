"""Every sample program: readable, consistent with its index, and as good as the README says."""

from __future__ import annotations

import re
from statistics import median

import pytest

from engine.compiler.reading.own_compile import stored_stablehlo
from engine.compiler.toolchain.target import target_of
from engine.game.replay import replay
from engine.hardware.presets import DEVICES
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import io, library
from engine.program.prices import priced_s
from engine.solvers import solve
from tests.chosen import chosen

NAMES = library.sample_names()
SAMPLES = [n for n in NAMES if library.find_sample(n).xla_latency_s is not None]
HELD_OUT = [e.name for e in library.held_out()]
LARGE = [e.name for e in library.large()]
REAL = [e.name for e in library.real()]
CAPTURED = [*SAMPLES, *HELD_OUT]
MAX_FILE_BYTES = 300_000


@pytest.mark.parametrize("name", chosen([*NAMES, *HELD_OUT, *LARGE, *REAL]))
def test_files_round_trip_exactly(name: str) -> None:
    program = library.load_sample(name)
    assert io.from_json(io.to_json(program), name) == program
    entry = library.find_sample(name)
    assert entry.path.stat().st_size <= MAX_FILE_BYTES
    assert entry.content_hash == io.content_hash(program)


@pytest.mark.parametrize("name", chosen([*CAPTURED, *LARGE, *REAL]))
def test_the_compilers_plan_is_valid_and_its_costs_were_verified(name: str) -> None:
    program = library.load_sample(name)
    plan = solve("xla_compiled", program)
    assert check(program, plan) is None
    assert plan.notes["left_out_saving_share"] <= 0.01
    assert program.provenance["fit"]["worst_held_out_error"] <= 0.03
    assert {"versions", "model", "batch", "placements"} <= set(program.provenance)


def error(name: str) -> float:
    """Of the simulated cycles of the compiler's plan, against its own; relative."""
    program = library.load_sample(name)
    compute_s = simulate(program, solve("xla_compiled", program)).compute_s - priced_s(program)
    return abs(compute_s / program.provenance["default_compile"]["compute_s"] - 1)


@pytest.mark.parametrize("name", chosen([*CAPTURED, *LARGE, *REAL]))
def test_the_compilers_plan_costs_what_the_compiler_says(name: str) -> None:
    assert error(name) <= 0.015


@pytest.mark.nightly
def test_the_compilers_plans_cost_what_the_compiler_says_most_often_nearly_exactly() -> None:
    assert median(error(name) for name in [*CAPTURED, *LARGE]) <= 0.001


@pytest.mark.parametrize("name", chosen([*CAPTURED, *LARGE, *REAL]))
def test_the_compilers_plan_keeps_to_its_heap_and_alignment(name: str) -> None:
    """As its log states them, whatever the file says that the program was captured with."""
    program = library.load_sample(name)
    device = DEVICES[program.hardware.name].with_scoped(target_of(program).scoped_bytes)
    stays = solve("xla_compiled", program).stays
    assert stays
    for stay in stays:
        assert stay.offset % device.hardware.alignment == 0
        assert stay.offset >= device.scoped_bytes
        end = stay.offset + program.groups[stay.group].size_bytes
        assert end <= device.hardware.fast_bytes


def replayed_share(name: str) -> float:
    """Share of the compiled plan's saving that its replay as moves reaches."""
    program = library.load_sample(name)
    plan = solve("xla_compiled", program)
    real = simulate(program, plan)
    game = replay(program, plan)
    played = game.plan("replay")
    assert check(program, played) is None
    again = simulate(program, played)
    relative = (again.all_slow_s - again.latency_s) / again.all_slow_s
    assert game.total_reward == pytest.approx(relative, abs=1e-6)
    return (again.all_slow_s - again.latency_s) / (real.all_slow_s - real.latency_s)


@pytest.mark.nightly
def test_the_compilers_plans_of_real_programs_cost_nearly_what_the_compiler_says() -> None:
    assert median(error(name) for name in REAL) <= 0.003


BRANCHES_END_STAYS = {"modalities-v6e-b64": 0.95}
"""What of the compiler's saving is there where a large result of three branches is to stay: in the
game a stay that begins in a branch ends there (`docs/model.md`), so the result is written back and
fetched again."""


@pytest.mark.parametrize("name", chosen([*CAPTURED, *REAL]))
def test_the_board_can_express_the_compilers_plans(name: str) -> None:
    assert replayed_share(name) >= BRANCHES_END_STAYS.get(name, 0.99)


def test_the_samples_cover_four_generations_and_their_costs_are_close() -> None:
    programs = [library.load_sample(name) for name in SAMPLES]
    assert len(programs) >= 24
    assert {p.hardware.name for p in programs} == {"tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"}
    errors = [abs(e) for p in programs for e in p.provenance["fit"]["held_out_errors"]]
    assert median(errors) <= 0.01


@pytest.mark.parametrize("name", chosen([*CAPTURED, *LARGE, *REAL]))
def test_a_program_names_no_path_of_the_machine_it_was_captured_on(name: str) -> None:
    told = stored_stablehlo(library.load_sample(name))
    assert re.search(rb"/(home|root|tmp|work|Users)/", told) is None


def test_the_large_programs_are_of_real_size_and_small_on_disk() -> None:
    entries = library.large()
    assert len(entries) >= 7
    assert all(2_000 <= entry.touches <= 30_000 for entry in entries)
    paths = [path for e in entries for path in (e.path, e.best_plan_path) if path is not None]
    assert sum(path.stat().st_size for path in paths) <= 8 * 2**20

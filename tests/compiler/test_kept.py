"""What earlier compiles said is told without a compiler, with cycles by instruction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.compiler.costs.calibrate import total_cycles
from engine.compiler.costs.observations import load_observations, observations_path
from engine.compiler.steering.export import INEFFICIENT_RATIO
from engine.compiler.steering.instruction_cycles import (
    instruction_cycles,
    kept_compiles,
    predicted_cycles,
)
from engine.plan.simulate import simulate
from engine.program import library
from engine.solvers import solve

NAME, LOOPED = "t5-v5e-b24", "gptdecode-v5e-b8"


def test_the_default_comes_first_and_cycles_are_those_that_were_observed() -> None:
    program = library.load_sample(NAME)
    found = load_observations(observations_path(NAME), program)
    kept = kept_compiles(program)
    assert len(kept) == len(found.compiles)
    assert not kept[0].options
    totals = {str(dict(c.options)): total_cycles(program, None, c.seen) for c in found.compiles}
    assert {str(dict(k.options)): k.cycles for k in kept} == pytest.approx(totals)
    # The costs of this sample were fitted to these compiles and meet them.
    assert [k.predicted for k in kept] == pytest.approx([k.cycles for k in kept], rel=1e-3)


def test_a_held_out_program_has_its_own_compiles() -> None:
    assert kept_compiles(library.load_sample("inceptionv3-v4-b32"))


def test_titles_say_what_was_asked_and_with_which_values() -> None:
    kept = kept_compiles(library.resolve("earlyexit-v5e-b48"))
    (again,) = [one for one in kept if one.options.get(INEFFICIENT_RATIO) == "2"]
    assert again.title.endswith(": asked again for its costs, ratio 2")


def test_without_observations_there_are_none() -> None:
    assert kept_compiles(library.load_sample("teach-prefetch")) == ()


def test_another_program_of_that_name_has_none() -> None:
    other = replace(library.load_sample("teach-prefetch"), name=NAME)
    assert kept_compiles(other) == ()


@pytest.mark.parametrize("name", [NAME, LOOPED])
def test_cycles_by_instruction_add_up(name: str) -> None:
    program = library.load_sample(name)
    default, *others = kept_compiles(program)
    other = min(others, key=lambda one: one.cycles)
    rows = instruction_cycles(program, default.seen, other.seen)
    assert [row.slot for row in rows] == sorted(row.slot for row in rows)
    assert all(program.instructions[row.slot].name == row.name for row in rows)
    change = sum(row.compiled - row.default for row in rows)
    assert change == pytest.approx(other.cycles - default.cycles, rel=1e-6)
    assert sum(row.predicted for row in rows) == pytest.approx(other.predicted)
    assert sum(row.default for row in rows) == pytest.approx(default.cycles, rel=1e-6)


def test_predicted_cycles_are_the_simulators() -> None:
    program = library.load_sample(NAME)
    plan = solve("xla_compiled", program)
    (default, *_) = kept_compiles(program)
    seen = replace(default.seen, is_fast=default.seen.is_fast.copy())
    seen.is_fast[:] = plan.is_fast
    expected = simulate(program, plan).compute_s * program.hardware.clock_hz
    assert predicted_cycles(program, seen).sum() == pytest.approx(expected)

"""No proven bound and no all-fast time lies above what the compiler did with a program."""

from __future__ import annotations

import pytest

from engine.compiler.costs.calibrate import total_cycles
from engine.compiler.costs.observations import observations_of
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.prices import priced_s
from engine.solvers import solve
from tests.chosen import chosen

NAMES = [
    entry.name
    for entry in (*library.index(), *library.held_out(), *library.large(), *library.real())
    if entry.xla_latency_s is not None
]
ROUNDING = 1e-6


@pytest.mark.parametrize("name", chosen(NAMES))
def test_all_fast_is_below_every_compile(name: str) -> None:
    """Of a compile's own cycles, which leave out what it waits for its copies."""
    program = library.load_sample(name)
    observations = observations_of(program)
    assert observations is not None
    for one in (observations.slow, *observations.compiles):
        compute_s = total_cycles(program, None, one.seen) / program.hardware.clock_hz
        assert program.all_fast_s - priced_s(program) <= compute_s * (1 + ROUNDING), one.name


@pytest.mark.parametrize("name", chosen(NAMES))
def test_the_bound_is_below_the_default_compile(name: str) -> None:
    """That waits for its copies as the simulator says of its plan."""
    program, entry = library.load_sample(name), library.find_sample(name)
    stall_s = simulate(program, solve("xla_compiled", program)).stall_s
    compiled_s = program.provenance["default_compile"]["compute_s"] + stall_s
    assert entry.bound_s is not None
    assert entry.bound_s <= (compiled_s + priced_s(program)) * (1 + ROUNDING)

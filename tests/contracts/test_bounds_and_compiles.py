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
WAITS_UNKNOWN = {
    "alphatensor-v5e-b4-train": ("stake-1", "plan-2", "stake-3", "plan-4"),
    "alphatensorfull-v5e-b4-train": ("stake-1", "plan-2"),
    "gpt2medium-v6e-b2-train": ("stake-1", "plan-2"),
}
"""Compiles whose cycles alone are below the bound, made before it was kept how long one waits."""


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
def test_the_bound_is_below_every_compile(name: str) -> None:
    """Of a compile's cycles, those in which it waits for its copies, and the priced time.

    Where these were not kept, the default compile waits as the simulator says of its plan, and all
    others are held to their cycles alone.
    """
    program, entry = library.load_sample(name), library.find_sample(name)
    observations = observations_of(program)
    assert observations is not None and entry.bound_s is not None
    clock = program.hardware.clock_hz
    for one in (observations.slow, *observations.compiles):
        if one.name in WAITS_UNKNOWN.get(name, ()) and one.stall_cycles is None:
            continue
        stall_s = (one.stall_cycles or 0.0) / clock
        if one.stall_cycles is None and not one.options:
            stall_s = simulate(program, solve("xla_compiled", program)).stall_s
        compiled_s = total_cycles(program, None, one.seen) / clock + stall_s + priced_s(program)
        assert entry.bound_s <= compiled_s * (1 + ROUNDING), one.name

"""What a whole compile costs: its cycles, and the stalls of its own copies."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.compiler.reading.observation import Observation, stall_cycles
from engine.compiler.steering.outcome import CompileSession
from engine.compiler.steering.verify import DEFAULT, early_result, verify
from engine.compiler.toolchain.compile import Compiled
from engine.errors import CompilerError
from engine.hardware.presets import find_device
from engine.plan.check import check
from engine.plan.model import Copy, Plan, Stay
from engine.program.hlo.build import build_program
from engine.program.io import content_hash
from engine.program.model import INPUT_TIME, Access, Hardware, Instruction, Program, Value
from engine.program.prices import Price, with_prices
from tests.program.hlo.modules import A_BYTES, decoded, imported, module

CLOCK_HZ = 1000.0


def program(floor_s: float) -> Program:
    """A weight of eight bytes, a second to copy, is read by the second instruction."""
    return Program(
        name="floor",
        hardware=Hardware("floor", fast_bytes=8, alignment=1, bandwidth=8.0, clock_hz=CLOCK_HZ),
        instructions=(
            Instruction("first", "first", fast_s=2.0, floor_s=floor_s),
            Instruction("second", "second", fast_s=1.0),
        ),
        values=(Value("weight", "u8[8]", size_bytes=8, defined=INPUT_TIME, group=0),),
        accesses=(Access(time=1, value=0, is_write=False, saving_s=1.0, slow_bytes=8),),
    )


@pytest.mark.parametrize(("stated", "stall"), [(2000.0, 0.0), (400.0, 600.0), (np.nan, 1000.0)])
@pytest.mark.parametrize("floor_s", [0.0, 5.0])
def test_an_instruction_hides_copies_for_the_cycles_that_the_compile_states(
    stated: float, stall: float, floor_s: float
) -> None:
    """Also where the fitted costs have a floor above them."""
    given = program(floor_s)
    plan = Plan(
        program_hash=content_hash(given),
        solver="test",
        is_fast=(True,),
        stays=(Stay(group=0, start=0, end=2, offset=0),),
        copies=(Copy(group=0, is_prefetch=True, start=0, deadline=1),),
    )
    assert check(given, plan) is None
    seen = Observation(np.array([stated, 1000.0]), np.array([True]))
    imported = SimpleNamespace(program=replace(given))
    assert stall_cycles(imported, plan, seen) == pytest.approx(stall)  # type: ignore[arg-type]
    # What has a price hides copies for that too.
    hiding = with_prices(given, {0: Price(300.0 / given.hardware.clock_hz)})
    imported = SimpleNamespace(program=hiding)
    plan = replace(plan, program_hash=content_hash(hiding))
    left = max(0.0, stall - 300.0)
    assert stall_cycles(imported, plan, seen) == pytest.approx(left)  # type: ignore[arg-type]


def test_the_total_charges_a_copy_between_the_memories_as_the_observation_does() -> None:
    """The compiler states no cycles for it."""
    text = """  a = A parameter(0)
  b = f32[64,128]{{1,0{space}}} negate(a),
    backend_config={{"window_config":{{"estimated_cycles":"900"}}}}
  ROOT c = A copy(b)"""
    hardware = find_device("tpu-v5e").hardware
    compiled = Compiled(module(text.format(space=":S(1)")), "")
    answers: Any = SimpleNamespace(full=lambda options: compiled)
    session = CompileSession(imported(module(text.format(space="")), hardware), answers)
    outcome = session.full({})
    moved_s = A_BYTES / hardware.bandwidth
    assert outcome.cycles == pytest.approx(900 + moved_s * hardware.clock_hz)
    assert outcome.cycles == pytest.approx(np.sum(outcome.observation.cycles))


def test_a_compile_without_cycles_takes_its_prices() -> None:
    """Of kernels alone."""
    text = module('  a = A parameter(0)\n  ROOT k = A custom-call(a), custom_call_target="x"')
    hardware = find_device("tpu-v5e").hardware
    made = build_program(decoded(text), "k", hardware, "k", pricing=lambda _: Price(3e-6))
    answers: Any = SimpleNamespace(full=lambda options: Compiled(text, ""))
    session = CompileSession(made, answers).with_costs(with_prices(made.program, made.prices))
    found = session.full({})
    assert (found.cycles, found.stall_cycles) == (0.0, 0.0)
    assert found.total_cycles == pytest.approx(3e-6 * hardware.clock_hz)


def test_a_program_without_any_time_cannot_be_verified() -> None:
    """A kernel that works in place and has no price: a share of nothing says nothing."""
    text = module('  a = A parameter(0)\n  ROOT k = A custom-call(a), custom_call_target="x"')
    hardware = find_device("tpu-v5e").hardware
    made = build_program(decoded(text), "k", hardware, "k", pricing=lambda _: Price(0.0))
    compiled = Compiled(text, "")
    answers: Any = SimpleNamespace(full=lambda options: compiled, early=lambda options: compiled)
    session = CompileSession(made, answers)
    for verified in (verify, early_result):
        with pytest.raises(CompilerError, match="nothing to gain: the compiler states no time"):
            verified(session, DEFAULT)

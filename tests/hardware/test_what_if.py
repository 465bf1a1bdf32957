"""Derived programs: nothing changes at the original hardware, and the rest follows the roofline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import ProgramFormatError, UnknownNameError
from engine.hardware.presets import DEVICES, MIB
from engine.hardware.what_if import KIND, WhatIf, derive, name_of, wish_of
from engine.plan.bounds import lower_bound
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import content_hash, from_json, to_json
from engine.program.model import Program
from engine.solvers import solve
from tests.program.floored import FLOOR_S, floored
from tests.program.uncertain import uncertain
from tests.strategies import all_slow_plan


@pytest.fixture(scope="module")
def program() -> Program:
    return library.load_sample("alexnet-v4-b24")


def test_the_original_hardware_changes_nothing(program: Program) -> None:
    same = derive(program, WhatIf("tpu-v4"), "same")
    assert content_hash(same) == content_hash(program)
    assert same.provenance["kind"] == KIND
    assert same.provenance["original_hash"] == content_hash(program)
    assert "xla_plan" not in same.provenance


def test_less_memory_only_changes_the_memory(program: Program) -> None:
    small = derive(program, WhatIf(fast_bytes=32 * MIB), "small")
    assert small.hardware.fast_bytes == 32 * MIB
    assert small.accesses == program.accesses
    assert content_hash(small) != content_hash(program)
    assert lower_bound(small, 20).bound_s >= lower_bound(program, 20).bound_s * (1 - 1e-9)
    assert check(small, solve("greedy", small)) is None


def test_savings_follow_the_bandwidth(program: Program) -> None:
    half = derive(program, WhatIf(bandwidth=program.hardware.bandwidth / 2), "half")
    double = derive(program, WhatIf(bandwidth=program.hardware.bandwidth * 2), "double")
    assert half.all_fast_s == program.all_fast_s == double.all_fast_s
    assert half.all_slow_s > program.all_slow_s > double.all_slow_s
    for time in range(program.num_slots):
        before, after = _of(program, time), _of(half, time)
        drawn = sum(a.slow_bytes for a in before)
        saved = sum(a.saving_s for a in before)
        more_s = sum(a.saving_s for a in after) - saved
        if saved > 0:
            assert more_s == pytest.approx(drawn / program.hardware.bandwidth)
        assert more_s >= -1e-15
        assert [a.slow_bytes for a in after] == [a.slow_bytes for a in before]


def test_there_and_back_again(program: Program) -> None:
    """What was exposed stays exposed on slower memory, so going back restores the savings."""
    slower = derive(program, WhatIf(bandwidth=program.hardware.bandwidth / 2), "slower")
    back = derive(slower, WhatIf(bandwidth=program.hardware.bandwidth), "back")
    for time in range(program.num_slots):
        saved = sum(a.saving_s for a in _of(program, time))
        assert sum(a.saving_s for a in _of(back, time)) == pytest.approx(saved, abs=1e-12)


def test_what_is_uncertain_grows_as_the_bandwidth_shrinks(program: Program) -> None:
    accesses = tuple(replace(a, uncertainty_s=1e-6) for a in program.accesses)
    unsure = replace(program, accesses=accesses)
    slower = derive(unsure, WhatIf(bandwidth=program.hardware.bandwidth / 2), "slower")
    assert [a.uncertainty_s for a in slower.accesses] == pytest.approx([2e-6] * len(accesses))


def test_what_must_be_slow_saves_nothing_however_slow_the_memory() -> None:
    program = library.load_sample("t5-v5p-b24")
    slower = derive(program, WhatIf(bandwidth=program.hardware.bandwidth / 4), "slower")
    bound = [a for a in slower.accesses if a.must_be_slow]
    assert bound
    assert not any(a.saving_s for a in bound)
    assert slower.all_slow_s > program.all_slow_s


def test_another_chip(program: Program) -> None:
    other = derive(program, WhatIf("tpu-v5e"), "other")
    scale = DEVICES["tpu-v4"].peak_flops / DEVICES["tpu-v5e"].peak_flops
    assert other.hardware == DEVICES["tpu-v5e"].hardware
    assert other.all_fast_s == pytest.approx(scale * program.all_fast_s)
    assert {i.reserved_bytes for i in other.instructions} == {DEVICES["tpu-v5e"].scoped_bytes}
    assert from_json(to_json(other), "again") == other


def test_a_floor_scales_with_compute_and_leaves_nothing_to_save_below_it() -> None:
    """With 100 times the bandwidth the inputs save less than the floor is above the rest."""
    plain = floored()
    fast = derive(plain, WhatIf(bandwidth=100.0), "fast")
    assert fast.instructions[0].floor_s == FLOOR_S
    assert fast.all_slow_s == pytest.approx(
        FLOOR_S + fast.instructions[1].fast_s + _saved_s(fast, 1)
    )
    assert simulate(fast, all_slow_plan(fast)).latency_s == pytest.approx(fast.all_slow_s)
    slow = derive(plain, WhatIf(bandwidth=0.5), "slow")
    assert slow.instructions[0] == plain.instructions[0]
    assert slow.all_slow_s > plain.all_slow_s


def _saved_s(program: Program, time: int) -> float:
    return sum(a.saving_s for a in _of(program, time))


def test_an_unknown_rate_leaves_compute_alone(program: Program) -> None:
    strange = replace(program, hardware=replace(program.hardware, name="strange"))
    assert derive(strange, WhatIf("tpu-v5e"), "x").all_fast_s == program.all_fast_s


def test_impossible_wishes_say_why(program: Program) -> None:
    scoped = library.load_sample("bert-v5e-b32")
    with pytest.raises(ProgramFormatError, match="scratch"):
        derive(scoped, WhatIf(fast_bytes=MIB), "tiny")
    with pytest.raises(ProgramFormatError, match="bandwidth"):
        derive(program, WhatIf(bandwidth=0.0), "still")
    for bandwidth in (float("inf"), float("nan"), 1e-3):
        hardware = replace(program.hardware, bandwidth=1e308)
        said = "endless: (hardware has no|a bandwidth of nan|access 0 has no finite)"
        with pytest.raises(ProgramFormatError, match=said):
            derive(replace(uncertain(), hardware=hardware), WhatIf(bandwidth=bandwidth), "endless")
    with pytest.raises(UnknownNameError):
        derive(program, WhatIf("tpu-v99"), "what")


def _of(program: Program, time: int) -> list:  # type: ignore[type-arg]
    return [a for a in program.accesses if a.time == time]


@pytest.mark.parametrize(
    "wish",
    [
        WhatIf("tpu-v6e"),
        WhatIf(fast_bytes=48 * MIB),
        WhatIf(bandwidth=1.5e12),
        WhatIf("tpu-v5p", MIB // 2, 819e9),
        WhatIf(fast_bytes=1),
        WhatIf(fast_bytes=2**40 - 1),
        WhatIf(fast_bytes=2 * 10**12 + 1),
        WhatIf(bandwidth=1e5),
        WhatIf(bandwidth=2e15),
        WhatIf(bandwidth=123_456.7e9),
        WhatIf(bandwidth=1e22),
        WhatIf(bandwidth=4e-4),
        WhatIf(bandwidth=1.7e308),
        WhatIf(bandwidth=1.1 * 819.2e9),
    ],
)
@pytest.mark.parametrize("name", ["bert-v5e-b32", "a~", "a~x", "a~1MiB~x"])
def test_the_name_says_what_was_wished(wish: WhatIf, name: str) -> None:
    assert wish_of(name_of(name, wish)) == (name, wish)
    assert len(name_of(name, wish)) < len(name) + 32


@pytest.mark.parametrize("name", ["bert-v5e-b32", "a~", "a~1e3MiB~x", "a~x~y", "~64MiB", "a~eGBps"])
def test_other_names_wish_nothing(name: str) -> None:
    assert wish_of(name) is None

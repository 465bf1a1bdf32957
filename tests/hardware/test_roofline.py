"""Roofline costs: the textbook cases, and what every cost must satisfy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.hardware.presets import DEVICES
from engine.hardware.roofline import fast_time_s, roofline, roofline_cost, slow_time_s

V5E = DEVICES["tpu-v5e"]
FLOPS = st.floats(0, 1e15)
BYTES = st.lists(st.integers(0, 2**40), max_size=8)


def test_a_compute_bound_instruction_saves_nothing() -> None:
    cost = roofline_cost(V5E, 197e12, [1000, 2000])
    assert cost.fast_s == pytest.approx(1.0)
    assert cost.savings_s == (0.0, 0.0)


def test_a_memory_bound_instruction_saves_by_bytes() -> None:
    cost = roofline_cost(V5E, 0.0, [819_000, 2 * 819_000])
    assert cost.slow_s == pytest.approx(3e-6)
    assert cost.fast_s == pytest.approx(3e-6 / 22)
    assert cost.savings_s[1] == pytest.approx(2 * cost.savings_s[0])


def test_the_saving_ends_where_compute_begins() -> None:
    cost = roofline_cost(V5E, 197e6, [819_000 * 3])
    assert cost.fast_s == pytest.approx(1e-6)
    assert cost.savings_s[0] == pytest.approx(2e-6)


@given(flops=FLOPS, access_bytes=BYTES)
def test_costs_add_up_to_the_roofline(flops: float, access_bytes: list[int]) -> None:
    cost = roofline_cost(V5E, flops, access_bytes)
    total = sum(access_bytes)
    assert len(cost.savings_s) == len(access_bytes)
    assert min(cost.savings_s, default=0.0) >= 0
    assert cost.slow_s == pytest.approx(slow_time_s(V5E, flops, total), rel=1e-9)
    assert cost.fast_s == fast_time_s(V5E, flops, total)
    assert roofline(V5E)(flops, total) == slow_time_s(V5E, flops, total)

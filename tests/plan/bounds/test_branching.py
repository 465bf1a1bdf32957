"""Branch and bound: never above the best 0/1 point, equal to it when closed, whatever is cut."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.plan.bounds import linear as linear_programs
from engine.plan.bounds.branching import Branching
from engine.plan.bounds.linear import LinearProgram

NUMBERS = st.integers(-9, 9)


@st.composite
def integer_programs(draw: st.DrawFn) -> LinearProgram:
    """Up to six 0/1 variables, one continuous, and rows that may leave no point at all."""
    linear = LinearProgram()
    for _ in range(draw(st.integers(1, 6))):
        linear.costs[linear.add_choice()] = float(draw(NUMBERS))
    linear.add_variable(2.0, float(draw(NUMBERS)))
    for _ in range(draw(st.integers(0, 5))):
        row = [float(draw(NUMBERS)) for _ in linear.costs]
        row[0] = row[0] or 1.0
        side = float(draw(st.integers(-12, 12))) + 0.5
        low, high = draw(st.sampled_from([(side, math.inf), (-math.inf, side), (side, side + 1)]))
        linear.add_row(enumerate(row), low, high)
    return linear


def rows_of(linear: LinearProgram) -> np.ndarray:
    matrix = np.zeros((len(linear.row_low), len(linear.costs)))
    for row, (begin, end) in enumerate(itertools.pairwise(linear.starts)):
        matrix[row, linear.columns[begin:end]] = linear.entries[begin:end]
    return matrix


def best_point(linear: LinearProgram) -> float:
    """The least cost over all 0/1 points; what the continuous variable may be is an interval."""
    matrix, best = rows_of(linear), math.inf
    costs, row_low, row_high = (
        np.array(v) for v in (linear.costs, linear.row_low, linear.row_high)
    )
    for corner in itertools.product((0.0, 1.0), repeat=len(linear.whole)):
        point = np.array([*corner, 0.0])
        least, most = 0.0, linear.high[-1]
        rest, slope = matrix @ point, matrix[:, -1]
        for value, factor, low, high in zip(rest, slope, row_low, row_high, strict=True):
            ends = sorted(((low - value) / factor, (high - value) / factor)) if factor else None
            if ends is None:
                most = most if low <= value <= high else -math.inf
            else:
                least, most = max(least, ends[0]), min(most, ends[1])
        if least <= most:
            best = min(best, float(costs @ point) + min(costs[-1] * least, costs[-1] * most))
    return best


@settings(max_examples=100, deadline=None)
@given(linear=integer_programs())
def test_it_ends_at_the_best_whole_point(linear: LinearProgram) -> None:
    best = best_point(linear)
    found = Branching(linear, math.inf).run(60.0)
    assert found.bound <= best
    # HiGHS may find a box empty and give no ray; the box then keeps the bound of its parent.
    if found.is_closed:
        assert found.bound == pytest.approx(best, abs=1e-6)


def knapsack(seed: int) -> LinearProgram:
    """Ten items of which some fit, under two rows."""
    chance = np.random.default_rng(seed)
    linear = LinearProgram()
    items = [linear.add_choice() for _ in range(10)]
    for item in items:
        linear.costs[item] = -float(chance.integers(5, 30))
    rest = linear.add_variable(2.0, -1.0)
    for _ in range(2):
        sizes = chance.integers(4, 20, size=10).astype(float)
        linear.add_row([*zip(items, sizes, strict=True), (rest, 3.0)], high=40.5)
    # One of the first four at least: where all are out, nothing is left, which a ray must prove.
    linear.add_row([(item, 1.0) for item in items[:4]], low=1.0)
    return linear


@pytest.mark.parametrize("seed", range(8))
def test_a_knapsack_is_solved(seed: int) -> None:
    linear = knapsack(seed)
    found = Branching(linear, math.inf).run(60.0)
    assert found.is_closed
    assert found.bound == pytest.approx(best_point(linear), abs=1e-6)
    assert found.num_nodes > 1
    # With a target just above, values are ruled out by their reduced costs, but not too many.
    for margin in (0.25, 1.0, 3.0):
        aimed = Branching(linear, best_point(linear) + margin).run(60.0)
        assert aimed.bound == pytest.approx(best_point(linear), abs=1e-6)
        assert aimed.num_nodes <= found.num_nodes


def test_whoever_waits_is_asked_within_a_node_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_programs, "ASK_EVERY_S", 0.0)
    linear, told = knapsack(0), list[float]()
    best = best_point(linear)
    whole = Branching(linear, math.inf).run(60.0, lambda bound: not told.append(bound))
    assert whole.is_closed
    assert len(told) > 2 * whole.num_nodes
    assert told == sorted(told)
    assert told[-1] <= best
    # The first question comes before the first node. After a no there is no other question.
    for most in (1, 2, 5, len(told) - 1):
        told.clear()
        search = Branching(linear, math.inf)
        found = search.run(60.0, lambda b, most=most: not told.append(b) and len(told) < most)
        assert len(told) == most
        assert found.num_nodes < most
        assert not found.is_closed
        assert found.bound <= best


@settings(max_examples=100, deadline=None)
@given(linear=integer_programs(), offset=st.integers(-3, 6), stop=st.sampled_from([0, 1, 3, 99]))
def test_a_target_and_an_early_end_leave_a_bound(
    linear: LinearProgram, offset: int, stop: int
) -> None:
    best = best_point(linear)
    # Near the best point, so that values are ruled out by their reduced costs.
    target = (best if math.isfinite(best) else 0.0) + offset
    steps = itertools.count()
    found = Branching(linear, target).run(60.0, lambda bound: next(steps) < stop)
    assert found.bound <= min(best, target)
    assert found.num_nodes <= stop
    if found.is_closed:
        assert found.bound == pytest.approx(min(best, target), abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(linear=integer_programs(), scale=st.floats(-50, 50), seed=st.integers(0, 99))
def test_any_multipliers_are_a_certificate(linear: LinearProgram, scale: float, seed: int) -> None:
    duals = scale * np.random.default_rng(seed).normal(size=len(linear.row_low))
    low, high = np.array(linear.low), np.array(linear.high)
    proven = linear.duality().certify(duals, low, high)
    best = best_point(linear)
    assert proven.value <= best
    # A value is ruled out by its reduced cost only if no better point has it.
    for variable in linear.whole:
        for side, rise in ((1.0, proven.reduced[variable]), (0.0, -proven.reduced[variable])):
            fixed_low, fixed_high = low.copy(), high.copy()
            fixed_low[variable] = fixed_high[variable] = side
            alone = linear.duality().certify(duals, fixed_low, fixed_high).value
            assert proven.value + max(rise, 0.0) <= alone + 1e-9 * (1 + abs(alone))

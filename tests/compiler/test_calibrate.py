"""Fitted savings: what is observed is recovered, what is not follows the prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.compiler.costs.calibrate import (
    LEAST_WEIGHT,
    calibrate,
    compile_weights,
    fit_costs,
    fit_savings,
    total_error,
    with_costs,
)
from engine.compiler.costs.pools import MAX_SAVED_SHARE
from engine.compiler.reading.observation import Observation, observe
from engine.program.hlo.build import Imported, build_program
from tests.program.hlo.modules import HARDWARE, decoded, module

FIRST, SECOND, LARGE = "f32[64,128]", "f32[32,128]", "f32[128,128]"


def instruction(name: str, operands: str, cycles: int) -> str:
    return (
        f'  {name} = {LARGE} custom-call({operands}), custom_call_target="x",'
        f' backend_config={{"window_config":{{"estimated_cycles":"{cycles}"}}}}\n'
    )


def three_calls() -> Imported:
    """`y` and `z` are equal but for their names; `w` has another cost."""
    return build_program(
        decoded(
            module(
                f"  a = {FIRST} parameter(0)\n  b = {SECOND} parameter(1)\n"
                + instruction("y", "a, b", 100_000)
                + instruction("z", "a, b", 100_000)
                + instruction("w", "a, b", 200_000)
                + f"  ROOT r = ({LARGE}, {LARGE}, {LARGE}) tuple(y, z, w)"
            )
        ),
        "x",
        HARDWARE,
        "x",
    )


TRUE_SAVINGS = np.array([30_000.0, 0.0, 20_000.0] * 2 + [10_000.0, 50_000.0, 0.0])


def observation(
    imported: Imported, fast: Sequence[int], savings: NDArray[np.float64] = TRUE_SAVINGS
) -> Observation:
    """What the compiler says if exactly these accesses are fast and savings are additive."""
    program = imported.program
    is_fast = np.isin(np.arange(len(program.accesses)), fast)
    times = [a.time for a in program.accesses]
    saved = np.bincount(times, savings * is_fast, minlength=program.num_slots)
    return Observation(observe(imported, imported.flow).cycles - saved, is_fast)


def fitted(imported: Imported, *placements: list[int]) -> NDArray[np.float64]:
    slow = observe(imported, imported.flow)
    seen = [observation(imported, fast) for fast in placements]
    return calibrate(imported, slow, seen, [])[1].savings


def test_additive_costs_are_recovered() -> None:
    imported = three_calls()
    found = fitted(imported, [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 1, 2, 6, 7])
    assert found == pytest.approx(TRUE_SAVINGS, rel=1e-4, abs=1.0)


def test_equal_instructions_share_what_they_show() -> None:
    """Operand 0 was fast in `y` only and the result in `z` only: both are known of both."""
    found = fitted(three_calls(), [0, 5, 6], [1, 7], [8])
    assert found[:6] == pytest.approx(TRUE_SAVINGS[:6], rel=1e-4, abs=1.0)


def uncertain(
    imported: Imported, *placements: list[int], guess: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Savings, and how much more they may be."""
    slow = observe(imported, imported.flow)
    seen = [observation(imported, fast) for fast in placements]
    fit = calibrate(imported, slow, seen, [], guess)[1]
    return fit.savings, fit.uncertainty


def test_what_was_never_fast_saves_nothing_and_is_uncertain() -> None:
    """By its bytes: as many cycles as the observed accesses saved, here 30000 for 32 KiB."""
    savings, more = uncertain(three_calls(), [0, 3])
    assert savings == pytest.approx([30_000, 0, 0, 30_000, 0, 0, 0, 0, 0], rel=1e-4)
    assert more[6:] == pytest.approx([30_000.0, 15_000.0, 60_000.0], rel=1e-3)
    # The cheaper calls have 67,000 cycles left to save.
    assert more[:3] == pytest.approx([0.0, 15_000.0, 60_000.0], rel=1e-3)


def test_what_is_settled_is_certain() -> None:
    _, more = uncertain(three_calls(), [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 1, 2, 6, 7])
    assert more == pytest.approx(np.zeros(9), abs=1e-6)


def test_what_was_only_seen_together_may_be_the_work_of_one() -> None:
    """Operands 0 and 1 of `w` save 60,000 together: each has a part, and may have all of it."""
    savings, more = uncertain(three_calls(), [6, 7], [8])
    assert savings[6] > savings[7] > 10_000
    assert savings[6] + savings[7] == pytest.approx(60_000.0, rel=1e-4)
    assert (savings + more)[6:8] == pytest.approx([60_000.0, 60_000.0], rel=1e-4)


def test_a_guess_credits_a_share_of_what_bytes_say() -> None:
    savings, more = uncertain(three_calls(), [0, 3], guess=0.5)
    assert savings[6:] == pytest.approx([15_000.0, 7_500.0, 30_000.0], rel=1e-3)
    assert more[6:] == pytest.approx([15_000.0, 7_500.0, 30_000.0], rel=1e-3)
    assert savings[0] == pytest.approx(30_000.0, rel=1e-4)
    assert savings[:3].sum() <= MAX_SAVED_SHARE * 100_000


def test_without_observations_the_bandwidth_decides() -> None:
    savings, more = uncertain(three_calls())
    assert (savings == 0).all()
    assert more[6:] == pytest.approx([32768.0, 16384.0, 65536.0], rel=1e-3)


def test_savings_are_never_negative_and_never_all() -> None:
    imported = three_calls()
    slow = observe(imported, imported.flow)
    worse = replace(observation(imported, [0]), cycles=slow.cycles * 1.2)
    program, fit = calibrate(imported, slow, [worse], [], guess=1.0)
    assert (fit.savings >= 0).all()
    for time, instruction_ in enumerate(program.instructions):
        saved = sum(a.saving_s for a in program.accesses if a.time == time)
        total = instruction_.fast_s + saved
        assert saved <= MAX_SAVED_SHARE * total * (1 + 1e-9)


def test_nearly_all_is_saved_where_that_was_seen() -> None:
    imported = three_calls()
    slow = observe(imported, imported.flow)
    free = replace(observation(imported, [2, 5, 8]), cycles=slow.cycles * 0.01)
    fit = calibrate(imported, slow, [free], [])[1]
    assert fit.savings[[2, 5, 8]] == pytest.approx([99_000, 99_000, 198_000], rel=1e-4)


def test_savings_that_do_not_add_up_have_a_floor() -> None:
    """`w` takes 90,000 less with operand 0 fast, and with operand 1, and no less with both."""
    imported = three_calls()
    slow = observe(imported, imported.flow)

    def seen(fast: list[int]) -> Observation:
        return replace(observation(imported, fast), cycles=slow.cycles - [0, 0, 90_000])

    observed = [seen(fast) for fast in ([6], [7], [6, 7])]
    fit = fit_costs(imported.program, (0, 1, 2), slow, observed)
    assert fit.floor_cycles == pytest.approx([0.0, 0.0, 110_000.0])
    for one in observed:
        assert total_error(imported.program, fit, one) == pytest.approx(0.0, abs=1e-6)
    alone = fit_costs(imported.program, (0, 1, 2), slow, observed[:1])
    assert alone.floor_cycles == pytest.approx(np.zeros(3))
    program = with_costs(imported.program, fit)
    assert program.instructions[2].floor_s == pytest.approx(110_000 / program.hardware.clock_hz)
    assert program.all_slow_s == pytest.approx(slow.cycles.sum() / program.hardware.clock_hz)


def test_equal_instructions_are_told_apart_where_savings_do_not_add_up() -> None:
    """As of copies: one between the memories has no estimate, one within either has.

    `y` is seen with its first operand fast, `z` with its result, and neither takes any time; in
    another compile both of `z` are fast, and it takes nearly as long as slow.
    """
    imported = three_calls()
    slow = observe(imported, imported.flow)
    apart = replace(observation(imported, [0, 5]), cycles=slow.cycles * [0, 0, 1])
    together = replace(observation(imported, [3, 5]), cycles=slow.cycles * [1, 0.9, 1])
    pools = (0, 0, 1)
    fit = fit_costs(imported.program, pools, slow, [apart])
    assert total_error(imported.program, fit, apart) == pytest.approx(0.0, abs=1e-6)
    fit = fit_costs(imported.program, pools, slow, [apart, together])
    assert fit.savings[0] == pytest.approx(slow.cycles[0], rel=1e-3), "y is its own witness"


def test_they_are_told_apart_too_where_all_fast_would_be_slower_than_a_compile() -> None:
    """`z` with its result fast is a little faster than `y` with an operand fast as well."""
    imported = three_calls()
    slow = observe(imported, imported.flow)
    seen = replace(observation(imported, [0, 2, 5]), cycles=slow.cycles - [5_000, 10_000, 0])
    fit = fit_costs(imported.program, (0, 0, 1), slow, [seen])
    assert total_error(imported.program, fit, seen) == pytest.approx(0.0, abs=1e-6)
    clock = imported.program.hardware.clock_hz
    all_fast_s = with_costs(imported.program, fit).all_fast_s
    assert all_fast_s * clock == pytest.approx(385_000, rel=1e-6)


def test_they_are_told_apart_by_what_they_took_where_a_total_is_else_missed() -> None:
    """As of equal copies: what a compile makes in flight takes nothing. Here each has but one."""
    imported = three_calls()
    slow = observe(imported, imported.flow)

    def savings(*taken: float) -> NDArray[np.float64]:
        """Of the results of `y` and `z`, which take so much of their all-slow cycles."""
        placed = observation(imported, [2, 5])
        alone = ([taken[0], np.nan, 1.0], [np.nan, taken[1], 1.0])
        seen = [replace(placed, cycles=slow.cycles * share) for share in alone]
        return fit_costs(imported.program, (0, 0, 1), slow, seen).savings[[2, 5]] / slow.cycles[0]

    assert savings(0.0, 0.6) == pytest.approx([1.0, 0.4], rel=1e-3)
    assert savings(0.6, 0.61) == pytest.approx([0.395, 0.395], rel=1e-3), "a mean says as much"


def test_predictions_need_no_uncertainties() -> None:
    imported = three_calls()
    slow = observe(imported, imported.flow)
    seen = [observation(imported, [0, 1])]
    whole = fit_costs(imported.program, (0, 1, 2), slow, seen, 0.5)
    alone = fit_savings(imported.program, (0, 1, 2), slow, seen, 0.5)
    assert whole.uncertainty.any() and not alone.uncertainty.any()
    for name in ("slow_cycles", "floor_cycles", "savings"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(whole, name))


def test_what_every_compile_shows_slower_than_all_slow_takes_that_long() -> None:
    """`w` takes longer than all slow whatever is fast; with one compile as fast, it does not."""
    imported = three_calls()
    slow = observe(imported, imported.flow)
    observed = [
        replace(observation(imported, fast), cycles=slow.cycles + np.array([0, 0, more]))
        for fast, more in (([6], 5_000), ([7], 9_000), ([6, 7], 9_000))
    ]
    fit = fit_costs(imported.program, (0, 1, 2), slow, observed)
    assert fit.slow_cycles - slow.cycles == pytest.approx([0.0, 0.0, 5_000.0])
    assert fit.floor_cycles == pytest.approx(np.zeros(3))
    assert fit.savings == pytest.approx(np.zeros(len(fit.savings)), abs=1e-6)
    as_fast = replace(observed[0], cycles=slow.cycles)
    fit = fit_costs(imported.program, (0, 1, 2), slow, [*observed, as_fast])
    assert fit.slow_cycles == pytest.approx(slow.cycles)
    assert fit.floor_cycles == pytest.approx(np.zeros(3))


def test_what_neither_sums_nor_a_floor_explain_is_rather_too_slow() -> None:
    """`w` takes longer with its result fast as well: no saving is negative."""
    imported = three_calls()
    slow = observe(imported, imported.flow)
    good, poor = observation(imported, [6, 7]), observation(imported, [6, 7, 8])
    worse = replace(poor, cycles=np.add(good.cycles, [0.0, 0.0, 5_000.0]))
    fit = fit_costs(imported.program, (0, 1, 2), slow, [good, worse])
    assert total_error(imported.program, fit, good) > abs(total_error(imported.program, fit, worse))


def test_the_fastest_compile_counts_most() -> None:
    imported = three_calls()
    slow = observe(imported, imported.flow)
    good, poor = observation(imported, [0, 1, 2, 3, 4, 5, 6, 7, 8]), observation(imported, [0])
    weights = compile_weights(imported.program, [poor, good])
    assert weights[1] == 1.0
    assert LEAST_WEIGHT <= weights[0] < 0.2
    assert compile_weights(imported.program, [slow, slow]) == [1.0, 1.0]


def test_what_must_be_slow_saves_nothing_though_its_like_was_seen_fast() -> None:
    imported = three_calls()
    slow = observe(imported, imported.flow)
    barred = tuple(replace(a, must_be_slow=n == 0) for n, a in enumerate(imported.program.accesses))
    barred_program = replace(imported.program, accesses=barred)
    fit = fit_costs(barred_program, (0, 0, 1), slow, [observation(imported, [3])])
    assert fit.savings[[0, 3]] == pytest.approx([0.0, 30_000.0], rel=1e-4)
    assert fit.uncertainty[0] == 0.0


def test_costs_become_seconds_over_one_run() -> None:
    imported = three_calls()
    slow = observe(imported, imported.flow)
    program, fit = calibrate(imported, slow, [observation(imported, [0, 3, 6])], [])
    assert program.all_slow_s == pytest.approx(400_000 / HARDWARE.clock_hz)
    assert [a.saving_s for a in program.accesses] == pytest.approx(
        list(fit.savings / HARDWARE.clock_hz)
    )
    assert [a.uncertainty_s for a in program.accesses] == pytest.approx(
        list(fit.uncertainty / HARDWARE.clock_hz)
    )
    assert replace(program, accesses=(), instructions=()) == replace(
        imported.program, accesses=(), instructions=()
    )


def test_held_out_errors_are_those_of_the_total() -> None:
    imported = three_calls()
    slow = observe(imported, imported.flow)
    seen = [observation(imported, [n, n + 3, n + 6]) for n in range(3)]
    exact = observation(imported, [0, 7])
    off = replace(exact, cycles=exact.cycles * np.array([1.0, 1.0, 0.5]))
    partly = replace(exact, cycles=np.array([exact.cycles[0], np.nan, np.nan]))
    fit = calibrate(imported, slow, seen, [exact, off, partly])[1]
    # 70000 + 100000 + 150000 predicted, against 70000 + 100000 + 75000.
    assert fit.errors == pytest.approx((0.0, 320 / 245 - 1, 0.0), abs=1e-4)


def test_instructions_without_cycles_cost_and_save_nothing() -> None:
    imported = three_calls()
    slow = observe(imported, imported.flow)
    unknown = replace(slow, cycles=np.array([np.nan, 100_000.0, 200_000.0]))
    program, _ = calibrate(imported, unknown, [], [])
    assert program.instructions[0].fast_s == 0.0
    savings = [(a.time, a.saving_s) for a in program.accesses]
    assert (0, 0.0) in savings
    assert not any(saving_s for time, saving_s in savings if time == 0)


def test_loops_are_multiplied_out_once() -> None:
    body = f"""%b
  q = (s32[], {FIRST}) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  x = {FIRST} get-tuple-element(q), index=1
  y = {FIRST} tanh(x), backend_config={{"window_config":{{"estimated_cycles":"100000"}}}}
  ROOT r = (s32[], {FIRST}) tuple(j, y)"""
    imported = build_program(
        decoded(
            module(
                f"""  a = {FIRST} parameter(0)
  z = s32[] constant(0)
  c = {FIRST} copy(a)
  t = (s32[], {FIRST}) tuple(z, c)
  w = (s32[], {FIRST}) while(t), condition=%c, body=%b,
    backend_config={{"known_trip_count":{{"n":"10"}}}}
  ROOT d = {FIRST} get-tuple-element(w), index=1""",
                f"%c\n  p = (s32[], {FIRST}) parameter(0)\n  ROOT k = pred[] constant(true)",
                body,
            )
        ),
        "x",
        HARDWARE,
        "x",
    )
    slow = observe(imported, imported.flow)
    loop = [n for n, a in enumerate(imported.program.accesses) if a.time == 1]
    is_fast = np.isin(np.arange(len(imported.program.accesses)), loop[:1])
    seen = Observation(slow.cycles - np.array([0.0, 40_000.0]), is_fast)
    program, fit = calibrate(imported, slow, [seen], [seen])
    assert fit.savings[loop[0]] == pytest.approx(40_000, rel=1e-3)
    assert program.accesses[loop[0]].saving_s == pytest.approx(10 * 40_000e-9, rel=1e-3)
    assert program.all_slow_s == pytest.approx(10 * 100_000e-9)
    assert fit.errors == pytest.approx((0.0,), abs=1e-4)

"""Costs after a compile that contradicts them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.compiler.costs.calibrate import calibrate
from engine.compiler.costs.correct import corrected, stated_slow
from engine.compiler.reading.observation import observe
from engine.program.hlo.build import Imported
from engine.program.model import Program
from engine.program.prices import Price, with_prices
from tests.program.hlo.modules import A, flow, imported, module

FAST = "f32[64,128]{1,0:S(1)}"


def text(cycles: int, first: str = A, second: str = A) -> str:
    """A program of one addition, with its operands in the given memories."""
    return module(
        f"""  a = {first} parameter(0)
  b = {second} parameter(1)
  ROOT c = A add(a, b), backend_config={{"window_config":{{"estimated_cycles":"{cycles}"}}}}"""
    )


@pytest.fixture
def guessed() -> Imported:
    """An addition of 900 cycles; its operands were seen to save 200 and 300."""
    known = imported(text(900))
    seen = [observe(known, flow(text(700, FAST, A))), observe(known, flow(text(600, A, FAST)))]
    program, _ = calibrate(known, observe(known, known.flow), seen, [])
    return Imported(program, known.flow, known.events, known.value_of, has_cycles=True)


def cycles(program: Program) -> list[float]:
    return [a.saving_s * program.hardware.clock_hz for a in program.accesses if not a.is_write]


def test_what_nothing_contradicts_stays(guessed: Imported) -> None:
    assert cycles(guessed.program) == pytest.approx([200, 300], abs=1)
    agreeing = observe(guessed, flow(text(400, FAST, FAST)))
    assert cycles(corrected(guessed, [agreeing])) == pytest.approx([200, 300], abs=1)
    assert corrected(guessed, []).accesses == pytest.approx(guessed.program.accesses)


def test_a_compile_corrects_what_it_shows_and_no_more(guessed: Imported) -> None:
    first_fast = observe(guessed, flow(text(880, FAST, A)))
    program = corrected(guessed, [first_fast])
    assert cycles(program) == pytest.approx([20, 300], abs=1)
    assert program.all_slow_s == pytest.approx(guessed.program.all_slow_s)


def test_what_is_seen_only_together_is_changed_alike(guessed: Imported) -> None:
    both_fast = observe(guessed, flow(text(500, FAST, FAST)))
    assert cycles(corrected(guessed, [both_fast])) == pytest.approx([150, 250], abs=1)


def test_the_costs_state_the_all_slow_compile(guessed: Imported) -> None:
    assert stated_slow(guessed.program).cycles == pytest.approx([900])


def test_prices_are_no_cycles_of_the_compilers_and_stay(guessed: Imported) -> None:
    priced = replace(guessed, program=with_prices(guessed.program, {0: Price(5e-6)}))
    assert stated_slow(priced.program).cycles == pytest.approx([900])
    first_fast = observe(guessed, flow(text(880, FAST, A)))
    plain, kept = corrected(guessed, [first_fast]), corrected(priced, [first_fast])
    assert cycles(kept) == pytest.approx(cycles(plain))
    assert kept.instructions[0].priced_s == pytest.approx(5e-6)
    assert kept.all_slow_s == pytest.approx(plain.all_slow_s + 5e-6)

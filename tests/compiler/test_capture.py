"""Placements kept out of a fit, and the options that make placements differ."""

from __future__ import annotations

import pytest

from engine.compiler.capture import _calibrated
from engine.compiler.raw import DEFAULT, MAX_PLACEMENTS, SLOW, placements
from engine.program.hlo.flow import Flow
from tests.program.hlo.modules import A, flow, imported, module

FAST = "f32[64,128]{1,0:S(1)}"
NO_EARLY = "xla_msa_max_cross_program_prefetches"


def text(cycles: int, first: str = A, second: str = A) -> str:
    """A program of one addition, with its operands in the given memories."""
    return module(
        f"""  a = {first} parameter(0)
  b = {second} parameter(1)
  ROOT c = A add(a, b), backend_config={{"window_config":{{"estimated_cycles":"{cycles}"}}}}"""
    )


def both_fast(cycles: int) -> Flow:
    return flow(text(cycles, FAST, FAST))


def test_a_kept_out_placement_is_unknown_to_the_fit_under_any_name() -> None:
    flows = {
        DEFAULT: flow(text(700, first=FAST)),
        "varied-1": flow(text(600, second=FAST)),
        "varied-2": both_fast(200),
    }
    _, fit, held_out = _calibrated(imported(text(900)), flows)
    # 900 - 200 - 300 = 400 cycles are foretold where the compiler says 200.
    assert held_out == ["varied-2"]
    assert fit.errors == pytest.approx([1.0], abs=0.01)
    twins = {**flows, "varied-3": both_fast(200), "varied-4": both_fast(200)}
    _, fit, held_out = _calibrated(imported(text(900)), twins)
    assert held_out == ["varied-2"]
    assert fit.errors == pytest.approx([1.0], abs=0.01)


@pytest.mark.parametrize("hardware", ["tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"])
def test_placements_differ_by_their_options(hardware: str) -> None:
    found = dict(placements(MAX_PLACEMENTS, hardware))
    assert list(found)[:2] == [SLOW, DEFAULT]
    assert found[DEFAULT] == {}
    assert len({str(options) for options in found.values()}) == MAX_PLACEMENTS
    without = [options.get(NO_EARLY) for options in found.values()].count("0")
    assert without == (11 if hardware == "tpu-v5p" else 0)

"""Which results can be written to fast memory on hardware with two cores per device."""

from __future__ import annotations

import pytest

from engine.compiler.reading.writable import with_unwritable
from engine.hardware.presets import PRESETS
from engine.program.hlo.build import Imported
from tests.program.hlo.modules import imported, module

WINDOW = '"window_config":{"estimated_cycles":"900"}'
FUSED = "%f\n  p = A parameter(0)\n  ROOT n = A negate(p)"
TEXT = module(
    f"""  a = A parameter(0)
  loop = A fusion(a), kind=kLoop, calls=%f, backend_config={{{WINDOW}}}
  product = A fusion(loop), kind=kOutput, calls=%f,
    backend_config={{{WINDOW},"convolution_algorithm_config":{{}}}}
  gathered = A fusion(product), kind=kCustom, calls=%f,
    backend_config={{"integer_config":{{"integer":"1"}}}}
  ROOT alone = A tanh(gathered), backend_config={{{WINDOW}}}""",
    FUSED,
)


def slow_writes(program: Imported) -> set[str]:
    """Names of the values whose writes must be slow."""
    values, accesses = program.program.values, program.program.accesses
    return {values[a.value].name for a in accesses if a.must_be_slow}


def test_results_of_loop_fusions_alone_are_written_fast_on_v5p() -> None:
    made = imported(TEXT, PRESETS["tpu-v5p"])
    marked = with_unwritable(made)
    assert slow_writes(made) == set()
    assert slow_writes(marked) == {"product", "gathered", "alone"}
    assert all(v.may_be_fast for v in marked.program.values)
    assert not any(a.saving_s for a in marked.program.accesses if a.must_be_slow)
    assert marked.program.all_slow_s == pytest.approx(made.program.all_slow_s)


@pytest.mark.parametrize("hardware", sorted(set(PRESETS) - {"tpu-v5p"}))
def test_elsewhere_everything(hardware: str) -> None:
    made = imported(TEXT, PRESETS[hardware])
    assert with_unwritable(made) is made


def test_a_dump_without_cycles_tells_nothing_about_the_backend() -> None:
    text = module("  a = A parameter(0)\n  ROOT b = A negate(a)")
    made = imported(text, PRESETS["tpu-v5p"])
    assert with_unwritable(made) is made

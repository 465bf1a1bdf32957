"""Which results may live in fast memory on hardware with two cores per device."""

from __future__ import annotations

import pytest

from engine.compiler.writable import without_unwritable
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


def placeable(program: Imported) -> set[str]:
    """Names of the values that may be fast."""
    return {v.name for v in program.program.values if v.may_be_fast}


def test_only_inputs_and_results_of_loop_fusions_on_v5p() -> None:
    made = imported(TEXT, PRESETS["tpu-v5p"])
    assert placeable(made) == {"a", "loop", "product", "gathered", "alone"}
    assert placeable(without_unwritable(made)) == {"a", "loop"}


@pytest.mark.parametrize("hardware", sorted(set(PRESETS) - {"tpu-v5p"}))
def test_elsewhere_everything(hardware: str) -> None:
    made = imported(TEXT, PRESETS[hardware])
    assert without_unwritable(made) is made


def test_a_dump_without_cycles_tells_nothing_about_the_backend() -> None:
    text = module("  a = A parameter(0)\n  ROOT b = A negate(a)")
    made = imported(text, PRESETS["tpu-v5p"])
    assert without_unwritable(made) is made

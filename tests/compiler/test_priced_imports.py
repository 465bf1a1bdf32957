"""Prices of programs that the real compiler made: collectives, the host, a kernel of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.compiler.capture.importer import import_hlo
from engine.compiler.steering.outcome import _total_cycles
from engine.plan.bounds import lower_bound
from engine.plan.io import plan_from_json
from engine.plan.simulate import simulate
from engine.program.hlo.flow import Flow
from engine.program.hlo.parse import parse_hlo_file
from engine.program.prices import priced_s
from tests.program.hlo.modules import FIXTURES, module

TILE = 2048 * 2048 * 2
"""Bytes of an array of these modules."""


@pytest.mark.parametrize(
    ("name", "instruction", "seconds"),
    [
        # Over both axes of a 2 x 2 slice of v5e, three quarters of the array are sent.
        ("gather", "all-gather.18", TILE * 3 / 4 / (2 * 5e10)),
        # Half of it crosses the middle, over one link for each chip.
        ("permute", "all_to_all.9", TILE / 2 / 5e10),
        ("host", "copy-start", TILE / 1.5e10),
        # 32 MiB are read and written.
        ("kernel", "program.1", 8 * TILE / 819e9),
    ],
)
def test_prices_stand_beside_what_the_compiler_states(
    name: str, instruction: str, seconds: float
) -> None:
    slow, fast = (FIXTURES / f"{name}_{way}.hlo.gz" for way in ("off", "on"))
    program = import_hlo(slow, fast, "tpu-v5e")
    found = {i.name: i.priced_s for i in program.instructions}
    assert found[instruction] == pytest.approx(seconds)
    stated = _total_cycles(Flow(parse_hlo_file(fast), name), program) / program.hardware.clock_hz
    plan = plan_from_json(program.provenance["xla_plan"], name)
    timed = simulate(program, plan)
    assert timed.compute_s == pytest.approx(stated + priced_s(program), rel=1e-3)
    assert lower_bound(program).bound_s <= timed.latency_s


@pytest.mark.parametrize("head", ["num_partitions=8", "replica_count=8"])
def test_a_collective_that_names_no_devices_is_between_all_of_the_module(
    head: str, tmp_path: Path
) -> None:
    def price(groups: str) -> float:
        text = module(
            f"""  a = A parameter(0)
  b = A tanh(a), backend_config={{"window_config":{{"estimated_cycles":"1500"}}}}
  ROOT c = A all-reduce(b), replica_groups={groups}, to_apply=%sum""",
            "%sum\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT s = f32[] add(p, q)",
            head=f", {head}",
        )
        path = tmp_path / "reduced.hlo"
        path.write_text(text)
        program = import_hlo(path, None, "tpu-v5e")
        assert program.provenance["topology"] == "v5e:2x4"
        assert program.provenance["devices"] == 8
        return priced_s(program)

    assert price("{}") == price("{{0,1,2,3,4,5,6,7}}") > 1.5e-6

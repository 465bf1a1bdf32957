"""What a visitor is told of the files that were brought."""

from dataclasses import replace

import pytest

from engine.compiler.reading.xla_plan import REPACKED
from engine.program.provenance import FITTED
from tests.program.hlo.modules import FIXTURES
from tests.ui.network import residual_network
from ui.model.programs import uploads

SLOW, FAST, BUFFERS = (FIXTURES / n for n in ("mlp_off.hlo", "mlp_on.hlo", "mlp_on.buffers.txt"))


def told(*names: str) -> dict[str, str]:
    files = [(name, (FIXTURES / name).read_bytes()) for name in names]
    return dict(uploads.summary(uploads.read(files, "tpu-v5e"), names))


def test_everything_leaves_nothing_to_wish() -> None:
    facts = told(SLOW.name, FAST.name, BUFFERS.name)
    assert facts["Files"] == (
        "mlp_off.hlo (all slow), mlp_on.hlo (XLA's placements), mlp_on.buffers.txt (addresses)"
    )
    assert facts["Costs"].startswith("fitted to both dumps; the second one's total is met within")
    assert facts["XLA's plan"] == "100.0\N{NO-BREAK SPACE}% of its saving was read"
    assert "Would help" not in facts


def test_a_pair_asks_for_the_addresses() -> None:
    facts = told(FAST.name, SLOW.name)
    assert "packed anew" in facts["XLA's plan"]
    assert "buffer-assignment" in facts["Would help"]


@pytest.mark.parametrize("names", [(SLOW.name,), (FAST.name, BUFFERS.name)])
def test_one_dump_asks_for_another(names: tuple[str, ...]) -> None:
    facts = told(*names)
    assert "estimated from the bytes" in facts["Costs"]
    assert "second compile" in facts["Would help"]
    assert ("not in these files" in facts["XLA's plan"]) == (len(names) == 1)


@pytest.mark.parametrize(
    "origin",
    [
        {"costs": FITTED, "fit_error": "x"},
        {"costs": FITTED},
        {"slow": [1], "fast": {}},
        {"fast": "p.json"},
        {"xla_plan": [1]},
        {"xla_plan": {"notes": []}},
        {"xla_plan": {"notes": {"left_out_saving_share": "x"}}},
    ],
)
def test_a_provenance_may_say_anything(origin: dict[str, object]) -> None:
    facts = dict(uploads.summary(replace(residual_network(), provenance=origin), ["p.json"]))
    assert facts["Files"] == "p.json", "no dump"


def test_what_was_left_out_of_the_plan_is_counted() -> None:
    program = residual_network()
    notes = {"left_out_saving_share": 0.25, "offsets": REPACKED}
    program.provenance["xla_plan"] = {"notes": notes}
    facts = dict(uploads.summary(program, ["p.json"]))
    assert facts["Files"] == "p.json" and facts["Costs"] == "as the file says"
    assert facts["XLA's plan"].startswith("75.0") and "packed anew" in facts["XLA's plan"]

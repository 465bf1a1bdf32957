"""Time and memory by layer: sums that lose nothing, at any fold."""

from __future__ import annotations

import numpy as np
import pytest

from engine.analysis.attribution import breakdown
from engine.analysis.layers import Origin
from engine.plan.io import plan_from_json
from engine.plan.simulate import simulate
from engine.program import library
from ui.model.compare.by_layer import MEASURES, LayerTree, folded, icicle, layer_tree, origin_text

NAMES = ("resnet50-v5e-b64", "gpt-v5e-b8-train", "gptdecode-v5e-b8")


@pytest.fixture(scope="module", params=NAMES)
def tree(request: pytest.FixtureRequest) -> tuple[LayerTree, float, float]:
    """The layers of a sample under XLA's plan, its runtime, and its bytes × seconds held."""
    program = library.load_sample(request.param)
    plan = plan_from_json(program.provenance["xla_plan"], "provenance.xla_plan")
    simulation = simulate(program, plan)
    parts = breakdown(program, simulation)
    begin = np.append(0.0, np.cumsum(parts.total_s))
    held = sum(
        (begin[s.end] - begin[max(0, s.start)]) * program.groups[s.group].size_bytes
        for s in plan.stays
    )
    return layer_tree(program, plan, parts), simulation.latency_s, float(held)


def test_the_whole_is_the_run(tree: tuple[LayerTree, float, float]) -> None:
    found, latency_s, held = tree
    whole = found.sums[()]
    assert whole.total_s == pytest.approx(latency_s, rel=1e-9)
    assert whole.held == pytest.approx(held, rel=1e-9)
    assert whole.instructions == sum(found.origins.values())


def test_layers_hold_at_most_what_is_in_them(tree: tuple[LayerTree, float, float]) -> None:
    found, _, _ = tree
    for path, sums in found.sums.items():
        inner = [s for p, s in found.sums.items() if p and p[:-1] == path]
        assert sum(s.total_s for s in inner) <= sums.total_s * (1 + 1e-9)
        assert sum(s.instructions for s in inner) <= sums.instructions


@pytest.mark.parametrize("depth", [1, 2, 3, 99])
def test_every_fold_adds_up_to_the_run(tree: tuple[LayerTree, float, float], depth: int) -> None:
    found, latency_s, held = tree
    rows = folded(found, depth)
    assert rows["total"].sum() == pytest.approx(1e6 * latency_s, rel=1e-9)
    assert rows["held"].sum() == pytest.approx(held / 2**20 / latency_s, rel=1e-9)
    assert rows["instructions"].sum() == found.sums[()].instructions
    assert rows["layer"].is_unique
    slots = [slot for slot in rows["slot"] if slot >= 0]
    assert slots == sorted(slots), "in schedule order"


@pytest.mark.parametrize("measure", list(MEASURES))
def test_the_icicle_is_a_tree(tree: tuple[LayerTree, float, float], measure: str) -> None:
    found, _, _ = tree
    (trace,) = icicle(found, MEASURES[measure], "plan").data
    ids = set(trace.ids)
    assert len(ids) == len(trace.ids)
    assert [p for p in trace.parents if p not in ids] == [""], "one root"
    values = dict(zip(trace.ids, trace.values, strict=True))
    for parent in ids:
        inner = [values[i] for i, p in zip(trace.ids, trace.parents, strict=True) if p == parent]
        assert sum(inner) <= values[parent] * (1 + 1e-9)


def test_a_training_step_begins_with_its_phases() -> None:
    program = library.load_sample("gpt-v5e-b8-train")
    plan = plan_from_json(program.provenance["xla_plan"], "provenance.xla_plan")
    found = layer_tree(program, plan, breakdown(program, simulate(program, plan)))
    assert {"forward", "backward", "update"} <= {p[0] for p in found.sums if len(p) == 1}
    assert ("backward", "blocks 3", "attention") in found.sums
    assert found.origins[Origin.SOURCE] == 0
    assert "0 by their source path" in origin_text(found)

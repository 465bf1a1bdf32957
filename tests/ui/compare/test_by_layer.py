"""Time and memory by layer: sums that lose nothing, at any fold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.attribution import breakdown
from engine.analysis.layers import Origin
from engine.plan.check import check
from engine.plan.io import plan_from_json
from engine.plan.model import Copy, Plan, Stay
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.io import content_hash
from engine.program.model import (
    INPUT_TIME,
    Access,
    Hardware,
    Instruction,
    Program,
    Region,
    Value,
)
from ui.model.compare.by_layer import MEASURES, LayerTree, folded, icicle, layer_tree, origin_text

MIB = 2**20
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


def test_three_instructions_worked_by_hand() -> None:
    """`first` makes a, `second` makes b of it, while w (2 MiB) is copied in, which takes 30 us:
    `head` waits for 10 us. It reads v from slow memory, 8 us more, and hands out the result.
    """
    chip = Hardware("by hand", 16 * MIB, 1, 2 * MIB / 30e-6, 1e9)
    program = Program(
        name="by hand",
        hardware=chip,
        instructions=tuple(
            Instruction(name, "dot", fast_s=us * 1e-6, op_name=f"jit(f)/{layer}/dot")
            for name, us, layer in (
                ("first", 10, "encoder/first"),
                ("second", 20, "encoder/second"),
                ("head", 30, "head"),
            )
        ),
        values=(
            Value("a", "", MIB, 0, 0, False),
            Value("b", "", MIB, 1, 1, False),
            Value("w", "", 2 * MIB, INPUT_TIME, 2, False),
            Value("v", "", MIB // 2, INPUT_TIME, 3, False),
            Value("result", "", MIB // 4, 2, 4, True),
        ),
        accesses=(
            Access(0, 0, True, 5e-6, MIB, 0),
            Access(1, 0, False, 5e-6, MIB, 0),
            Access(1, 1, True, 5e-6, MIB, 0),
            Access(2, 1, False, 5e-6, MIB, 0),
            Access(2, 2, False, 9e-6, 2 * MIB, 1),
            Access(2, 3, False, 8e-6, MIB // 2, 2),
            Access(2, 4, True, 0.0, MIB // 4, 0),
        ),
    )
    plan = Plan(
        program_hash=content_hash(program),
        solver="by hand",
        is_fast=(True, True, True, True, True, False, False),
        stays=(Stay(0, 0, 0, 2), Stay(1, MIB, 1, 3), Stay(2, 2 * MIB, 1, 3)),
        copies=(Copy(2, True, 1, 2),),
    )
    assert check(program, plan) is None
    tree = layer_tree(program, plan, breakdown(program, simulate(program, plan)))
    us, of = 1e-6, pytest.approx
    figures = {
        path: (s.instructions, s.compute_s, s.slow_s, s.stall_s, s.slow_bytes, s.held, s.slot)
        for path, s in tree.sums.items()
    }
    a, b, w = 30 * us * MIB, 68 * us * MIB, 68 * us * 2 * MIB  # seconds stood times bytes
    assert figures == {
        (): (3, of(60 * us), of(8 * us), of(10 * us), 0.75 * MIB, of(a + b + w), 0),
        ("encoder",): (2, of(30 * us), of(0), of(0), 0, of(a + b), 0),
        ("encoder", "first"): (1, of(10 * us), of(0), of(0), 0, of(a), 0),
        ("encoder", "second"): (1, of(20 * us), of(0), of(0), 0, of(b), 1),
        ("head",): (1, of(30 * us), of(8 * us), of(10 * us), 0.75 * MIB, of(w), 2),
    }
    rows = folded(tree, 1).set_index("layer")
    assert list(rows.index) == ["encoder", "head"]
    assert rows["total"].tolist() == [of(30), of(48)]
    assert rows["lost"].tolist() == [of(0), of(18)]
    assert rows["held"].tolist() == [of(98 / 78), of(136 / 78)], "MiB in the mean of the run"


def test_what_runs_by_chance_is_told_so_and_does_not_make_the_rest_rarer() -> None:
    """Slots 0 to 2 are a loop of twelve rounds; slot 1 is a branch that every other one takes."""
    regions = (Region("loop", 0, 3, 12.0), Region("if[0]", 1, 2, 6.0, parent=0, kind="branch"))
    program = Program(
        name="by chance",
        hardware=Hardware("by hand", 16 * MIB, 1, 1e9, 1e9),
        instructions=tuple(
            Instruction("it", "dot", fast_s=us * 1e-6, level=level, op_name="jit(f)/layer/dot")
            for us, level in ((12, 0), (18, 1), (12, 0), (5, -1))
        ),
        values=(),
        accesses=(),
        regions=regions,
    )
    plan = Plan(content_hash(program), "by hand", (), (), ())
    tree = layer_tree(program, plan, breakdown(program, simulate(program, plan)))
    assert tree.sums[()].times == 1.0
    rows = folded(tree, 1).set_index("layer")
    assert rows["times"]["loop ×12"] == 12
    assert rows["each"]["loop ×12"] == pytest.approx(42 / 12)
    deep = folded(tree, 2).set_index("layer")
    assert deep["times"]["loop ×12 / if[0] ×0.5"] == 6
    alone = replace(
        program,
        regions=(Region("if[0]", 1, 2, 0.5, kind="branch"),),
        instructions=tuple(
            replace(i, level=0 if number == 1 else -1)
            for number, i in enumerate(program.instructions)
        ),
    )
    plan = replace(plan, program_hash=content_hash(alone))
    tree = layer_tree(alone, plan, breakdown(alone, simulate(alone, plan)))
    rows = folded(tree, 1).set_index("layer")
    assert rows["times"].to_dict() == {"if[0] ×0.5": 0.5, "layer": 1.0}
    assert rows["each"]["if[0] ×0.5"] == pytest.approx(36)

"""Layers: read off source paths, weights and neighbours."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.analysis.layers import (
    Origin,
    Path,
    layers_of,
    outermost,
    paths_of_groups,
    source_path,
    tree_path,
    weight_path,
)
from engine.program.library import load_sample


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("jit(infer)/conv2_block1_1_conv/dot_general", ("conv2", "block1", "1_conv")),
        ("jit(infer)/block_12_expand/add", ("block_12", "expand")),
        ("jit(infer)/predictions/dot_general", ("predictions",)),
        ("jit(step)/transpose(jvp(head))/while/body/mlp/add", ("head", "mlp")),
        ("jit(step)/jvp(Model)/closed_call/checkpoint/attention/div;mul", ("Model", "attention")),
        ("jit(step)/transpose(jvp(bhts,bshk->bthk))/dot_general", ()),
        ("jit(step)/jit(_where)/select_n", ()),
        ("jit(step)/jvp()/div", ()),
        ("", ()),
    ],
)
def test_a_source_path_says_the_scopes_that_the_author_named(source: str, path: Path) -> None:
    assert source_path(source) == path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("params__blocks___0___attention____key__.1", ("blocks 0", "attention", "key")),
        ("first__pooler____bias__.1", ("pooler",)),
        ("params__tables___3_.1", ("tables 3",)),
        ("params['scalars'][0]['kernel']", ("scalars 0",)),
        ("tokens.1", ()),
        ("data_0_.1", ()),
        ("constant.249", ()),
    ],
)
def test_a_weight_says_its_layer_by_its_name(name: str, path: Path) -> None:
    assert weight_path(name) == path


def test_a_training_step_without_scopes_is_named_by_its_weights() -> None:
    program = load_sample("gpt-v5e-b8-train")
    layers = layers_of(program)
    assert set(layers.phases) == {"forward", "backward", "update"}
    assert all(layers.paths)
    assert {path[0] for path in layers.paths} >= {f"blocks {n}" for n in range(4)}
    reading = [
        time
        for access in program.accesses
        if not access.is_write
        and program.values[access.value].name.startswith("params__blocks___2___mlp____up")
        for time in [access.time]
    ]
    forward = [t for t in reading if layers.phases[t] == "forward"]
    assert forward and all(layers.paths[t][:2] == ("blocks 2", "mlp") for t in forward)
    # Forward goes up through the blocks, backward down.
    order = [layers.paths[t][0] for t in range(program.num_slots) if layers.phases[t] == "backward"]
    assert order.index("blocks 3") < order.index("blocks 2") < order.index("blocks 1")


def test_what_lies_between_two_known_ones_is_in_what_both_are_in() -> None:
    program = load_sample("resnet50-v5e-b64")
    instructions = list(program.instructions)
    for slot, name in enumerate(("a/b/c/op", "", "a/b/d/op", "", "e/op")):
        instructions[slot] = replace(instructions[slot], op_name=name)
    layers = layers_of(replace(program, instructions=tuple(instructions)))
    assert layers.paths[:5] == (("a", "b", "c"), ("a", "b"), ("a", "b", "d"), ("a",), ("e",))
    assert layers.origins[1] is Origin.NEIGHBOURS and layers.origins[0] is Origin.SOURCE


def test_loops_are_part_of_the_tree_with_their_counts() -> None:
    program = load_sample("gptdecode-v5e-b8")
    inner = program.regions[1]
    path = tree_path(program, layers_of(program), inner.start)
    assert path[:2] == (f"{program.regions[0].name} ×16", f"{inner.name} ×4")


@pytest.mark.parametrize(
    ("count", "told"), [(1023.0, "1,023"), (20000.0, "20,000"), (12345.6, "12,346"), (0.3, "0.3")]
)
def test_a_count_is_told_to_the_last_round(count: float, told: str) -> None:
    program = load_sample("gptdecode-v5e-b8")
    outer, inner = program.regions[:2]
    regions = (
        replace(outer, multiplicity=3.7),
        replace(inner, multiplicity=3.7 * count),
        *program.regions[2:],
    )
    program = replace(program, regions=regions)
    path = tree_path(program, layers_of(program), inner.start)
    assert path[:2] == (f"{outer.name} ×3.7", f"{inner.name} ×{told}")


def test_without_any_name_the_operations_stand_for_the_layers() -> None:
    program = load_sample("teach-prefetch")
    plain = [replace(i, op_name=f"jit(f)/{n}") for n, i in enumerate(program.instructions)]
    values = [replace(v, name=f"v.{n}") for n, v in enumerate(program.values)]
    layers = layers_of(replace(program, instructions=tuple(plain), values=tuple(values)))
    assert layers.paths == (("0",), ("1",), ("2",))


def test_the_outermost_layers_of_a_network_are_told_apart() -> None:
    program = load_sample("llama-v6e-b2")
    names = outermost(paths_of_groups(program, layers_of(program)))
    assert len(names) == len(program.groups)
    assert {f"layers {n}" for n in range(32)} <= set(names)
    assert outermost([("a", "b"), ("a", "c"), None]) == ["a / b", "a / c", "no source"]

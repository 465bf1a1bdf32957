"""The value curve adds up to the simulator's saving; layers are read off source paths."""

from dataclasses import replace

import pytest

from engine.game.move_list import moves
from engine.plan.simulate import simulate
from engine.program.library import load_sample
from tests.strategies import random_program
from tests.ui.builders import first_fit_plan
from ui.components.memory_map.actions import actions_of
from ui.components.memory_map.board import (
    UNNAMED,
    estimates_of,
    layer_of,
    layers_of_groups,
    saved_before,
)
from ui.model.play.film import Film


@pytest.mark.parametrize("seed", range(6))
def test_the_curve_ends_at_the_saving_of_the_plan(seed: int) -> None:
    program = random_program(seed, 30)
    film = Film(program, first_fit_plan(program))
    every = moves(program)
    simulation = simulate(program, film.plan)
    saved = saved_before(program, every, actions_of(program, film.plan, every), simulation)
    assert len(saved) == len(every) + 1
    assert saved[-1] == pytest.approx(program.all_slow_s - simulation.latency_s, abs=1e-12)
    assert film.saved_s[-1] == pytest.approx(saved[-1], abs=1e-6 * program.all_slow_s)


def test_estimates_are_one_number_per_move() -> None:
    plan = first_fit_plan(random_program(1, 10))
    noted = replace(plan, notes={"value_estimates": [1, 2.5]})
    assert estimates_of(noted, 2) == (1.0, 2.5)
    for bad in ([1], [1, "x"], "12", [1, float("nan")]):
        assert estimates_of(replace(plan, notes={"value_estimates": bad}), 2) is None
    assert estimates_of(plan, 2) is None


@pytest.mark.parametrize(
    ("source", "layer"),
    [
        ("jit(infer)/conv2_block1/dot_general", "conv2_block1"),
        ("jit(step)/transpose(jvp(head))/while/body/mlp/add", "mlp"),
        ("jit(step)/jvp()/div", "div"),
        ("", UNNAMED),
    ],
)
def test_the_layer_is_the_outermost_named_scope(source: str, layer: str) -> None:
    assert layer_of(source) == layer


def test_layers_come_in_order_of_use() -> None:
    program = load_sample("resnet50-v5e-b64")
    names, layers = layers_of_groups(program)
    assert names[0].startswith("conv1") and names[-1] == "predictions"
    assert len(layers) == len(program.groups)
    assert set(range(len(names))) <= set(layers)

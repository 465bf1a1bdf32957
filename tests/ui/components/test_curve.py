"""The value curve adds up to the simulator's saving; the layers are named."""

from dataclasses import replace

import pytest

from engine.game.move_list import moves
from engine.plan.io import plan_from_json
from engine.plan.simulate import simulate
from engine.program.library import load_sample
from tests.strategies import random_program
from tests.ui.builders import first_fit_plan
from ui.components.memory_map.board import board, estimates_of, saved_before
from ui.components.memory_map.plan_actions import actions_of
from ui.components.packing import unpack
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


def test_layers_come_in_order_of_use() -> None:
    program = load_sample("resnet50-v5e-b64")
    plan = plan_from_json(program.provenance["xla_plan"], "provenance.xla_plan")
    packed = board(program, plan, moves(program), simulate(program, plan), "plan")
    header, columns = unpack(packed)
    names, layers = header["layers"], columns["group_layer"]
    assert names[0] == "conv1" and names[-1] == "predictions"
    assert len(layers) == len(columns["group_path"]) == len(program.groups)
    assert set(range(len(names))) <= set(layers.tolist())
    assert header["paths"][columns["slot_path"][-1]] == "predictions"
    assert "conv2 / block1 / 1_conv" in header["paths"]

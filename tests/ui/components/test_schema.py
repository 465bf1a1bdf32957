"""The board, a draft's rows and the browser's script read one layout of the tables."""

import json

import numpy as np
import pytest

from engine.game.move_list import moves
from engine.plan.simulate import simulate
from engine.program.model import Program
from tests.strategies import random_program
from tests.ui.builders import first_fit_plan
from ui.components.memory_map.board import board
from ui.components.memory_map.draft import picture
from ui.components.memory_map.schema import TABLES, javascript, table_columns
from ui.components.packing import unpack
from ui.model.play.film import Film

TYPES = {"i4": np.int32, "u1": np.uint8, "f8": np.float64}


@pytest.fixture(scope="module", params=range(3))
def program(request: pytest.FixtureRequest) -> Program:
    return random_program(request.param, 40)


def test_rows_of_a_draft_are_rows_of_the_board(program: Program) -> None:
    """A whole game as the board sends it, and as the rows of its picture."""
    film = Film(program, first_fit_plan(program))
    shown = picture(film.game_at(film.num_moves))
    message = board(program, shown.plan, moves(program), simulate(program, shown.plan), "one")
    _, columns = unpack(message)
    for table, specs in TABLES.items():
        rows = getattr(shown, table)
        assert rows, table
        for number, spec in enumerate(specs):
            sent = columns[spec.name]
            assert sent.dtype == TYPES[spec.kind]
            as_rows = [row[number] * spec.unit for row in rows]
            assert sent.tolist() == pytest.approx(as_rows, abs=1e-12), spec.name


def test_the_board_has_no_such_column_besides(program: Program) -> None:
    plan = first_fit_plan(program)
    _, columns = unpack(board(program, plan, moves(program), simulate(program, plan), "one"))
    named = {spec.name for specs in TABLES.values() for spec in specs}
    prefixes = ("stay_", "copy_", "service_")
    assert {name for name in columns if name.startswith(prefixes)} == named


def test_the_script_takes_the_layout_from_here() -> None:
    declared = json.loads(javascript().removeprefix("const TABLES = ").rstrip(";\n"))
    assert {name: [c for c, _ in pairs] for name, pairs in declared.items()} == {
        name: [spec.name for spec in specs] for name, specs in TABLES.items()
    }


def test_an_empty_table_has_typed_columns() -> None:
    assert [c.dtype for c in table_columns("service", []).values()] == [
        np.uint8,
        np.float64,
        np.float64,
    ]

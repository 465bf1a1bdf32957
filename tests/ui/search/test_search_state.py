"""Traces as files, games of the agent in a session, and what is listed of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.agent.trace_io import load_trace, save_trace, trace_from_bytes
from engine.debugging.findings import findings
from engine.debugging.games import traced_game
from engine.debugging.regret import study_of
from engine.debugging.surprise import surprises
from engine.errors import CheckpointError
from engine.game.move_list import moves
from engine.game.moves import ACTION_NAMES, Rules
from engine.game.notes import noted_rules
from engine.game.reference.game import ReferenceGame
from tests.ui.network import residual_network
from tests.ui.search_traces import made_up_trace
from ui.jobs.protocol import DONE, DUEL, RESEARCH, RETRACE, Order
from ui.jobs.protocol import TRACE as TRACE_FILE
from ui.jobs.run import Job, Run
from ui.model.play.film import Film
from ui.model.search.inbox import inbox
from ui.model.search.state import Again, Searches, brought, practised, search_name

PROGRAM = residual_network()
TRACE = made_up_trace(PROGRAM)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("trace") / "a.npz"
    save_trace(TRACE, path)
    return path.read_bytes()


def test_a_trace_comes_back_as_it_was(data: bytes) -> None:
    again = trace_from_bytes(data, "a")
    assert again.settings == TRACE.settings
    for name in ("par", "action", "legal", "tree_parent", "tree_value", "imagined_reward"):
        assert np.array_equal(getattr(again, name), getattr(TRACE, name))


def test_a_missing_trace_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_trace(tmp_path / "none.npz")


@pytest.mark.parametrize("damage", [b"", b"PK\3\4 nonsense", b"\x93NUMPY"])
def test_rubbish_is_no_trace(damage: bytes) -> None:
    with pytest.raises(CheckpointError, match="not a readable"):
        trace_from_bytes(damage, "x.npz")


def test_a_damaged_stream_is_told(data: bytes) -> None:
    for place in range(60, len(data), max(1, len(data) // 40)):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        try:
            trace_from_bytes(bytes(damaged), "x.npz")
        except CheckpointError as error:
            assert "x.npz" in str(error)


def changed(column: str, node: int, number: int) -> dict[str, Any]:
    """A column of the tree with another number at a node of the first move."""
    cells = getattr(TRACE, column).copy()
    cells[0, node] = number
    return {column: cells}


@pytest.mark.parametrize(
    "change",
    [
        changed("tree_parent", 1, 5),
        changed("tree_parent", 0, 0),
        changed("tree_visits", 0, 0),
        changed("tree_visits", 1, 0),
        changed("tree_visits", 24, -1),
        changed("tree_visits", 24, 26),
        {"tree_visits": TRACE.tree_visits.astype(np.float32)},
        {"action": TRACE.action.astype(np.float64)},
        {"value": TRACE.value.astype(np.complex64)},
        {"value": np.zeros(TRACE.num_moves, "m8[s]")},
        {"legal": TRACE.legal.astype(np.int32)},
        {name: np.tile(getattr(TRACE, name), 2) for name in ("prior", "legal", "policy")},
        {"tree_action": TRACE.tree_action + 3},
        {"par": TRACE.par[:-1]},
        {"value": np.full_like(TRACE.value, np.nan)},
        {"action": TRACE.action - 1},
        {"point_s": 0.0},
        {"settings": {"value_scale": [1]}},
        {"place": "anywhere"},
        {"planned": ((0, 1),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_trace_that_contradicts_itself_is_refused(
    change: dict[str, object], tmp_path: Path
) -> None:
    save_trace(replace(TRACE, **change), tmp_path / "bad.npz")
    with pytest.raises(CheckpointError, match=r"bad\.npz"):
        load_trace(tmp_path / "bad.npz")


@pytest.mark.parametrize("axis", ["tree", "imagined"])
def test_a_trace_without_moves_is_no_wider_than_a_search(axis: str, tmp_path: Path) -> None:
    """Nothing of it is in the file, so its size is no bound."""
    arrays = {name: cells for name, cells in vars(TRACE).items() if isinstance(cells, np.ndarray)}
    none: dict[str, Any] = {name: cells[:0] for name, cells in arrays.items()}
    none["par"] = TRACE.par[:1]
    save_trace(replace(TRACE, **none), tmp_path / "a.npz")
    assert load_trace(tmp_path / "a.npz").num_moves == 0
    wide = {
        name: np.zeros((0, 2**44), cells.dtype)
        for name, cells in arrays.items()
        if name.startswith(axis)
    }
    save_trace(replace(TRACE, **none | wide), tmp_path / "a.npz")
    with pytest.raises(CheckpointError, match=r"a\.npz"):
        load_trace(tmp_path / "a.npz")


def test_a_brought_trace_is_a_film_of_its_game(data: bytes) -> None:
    thought = brought(PROGRAM, data, "mine.npz")
    film = Film(PROGRAM, thought.plan)
    assert film.actions == tuple(TRACE.action.tolist())


def test_a_game_in_planned_places_is_found_in_its_trace(tmp_path: Path) -> None:
    plain = ReferenceGame(PROGRAM, Rules())
    planned = tuple(
        (group, 0, 3 * number)
        for number, group in enumerate(sorted({m.group for m in plain.moves}))
    )
    save_trace(made_up_trace(PROGRAM, planned=planned), tmp_path / "p.npz")
    thought = brought(PROGRAM, (tmp_path / "p.npz").read_bytes(), "p.npz")
    rules = noted_rules(thought.plan)
    assert rules is not None and rules.planned == planned
    old = replace(made_up_trace(PROGRAM), place="", planned=())
    found = traced_game(PROGRAM, old)
    assert found is not None and found.rules == Rules(), "an older trace does not say"


def test_a_trace_of_another_program_is_refused(tmp_path: Path) -> None:
    save_trace(replace(TRACE, program_hash="0" * 64, program="other"), tmp_path / "b.npz")
    with pytest.raises(CheckpointError, match="of the program other"):
        brought(PROGRAM, (tmp_path / "b.npz").read_bytes(), "b.npz")


def test_a_practice_is_named_by_what_it_cost(data: bytes) -> None:
    plan = brought(PROGRAM, data, "x").plan
    facts = {"seconds": 30.0, "seed": 0, "weights": "fresh"}
    files = {TRACE_FILE: data, "manifest.json": b"{}", "arrays.npz": b"x"}
    thought = practised(plan, files, facts)
    assert thought.name == "practised 30 s"
    assert set(thought.weights) == {"manifest.json", "arrays.npz"}
    assert practised(plan, files, {**facts, "seed": 2}).name == "practised 30 s, seed 2"


def test_games_of_one_name_stand_side_by_side(data: bytes) -> None:
    state, thought = Searches(), brought(PROGRAM, data, "x")
    state.add(thought)
    state.add(thought)
    assert list(state.thoughts) == ["x"]
    state.jump(5)
    state.add(replace(thought, identity="another"))
    assert list(state.thoughts) == ["x", "x (2)"]
    assert state.current == "x (2)"
    assert state.move == 5


def test_only_searches_of_the_position_are_shown(data: bytes) -> None:
    state, thought = Searches(), brought(PROGRAM, data, "x")
    assert state.of_move() == []
    state.add(thought)
    state.jump(3)
    here = Again(thought.identity, 3, TRACE, {"weights": "fresh"})
    state.again += [here, replace(here, move=4), replace(here, thought="another")]
    assert state.of_move() == [here]


def done(kind: str, basis: str, data: bytes, weights: str = "fresh", move: int = 3) -> Job:
    order = Order(kind, "it", 1.0, basis=basis, details=(("move", move), ("weights", weights)))
    run = Run(order, "", state=DONE, files={TRACE_FILE: data}, result={"weights": weights})
    return Job(run)


def test_what_is_ordered_again_is_shown_and_not_listed_again(data: bytes) -> None:
    state, thought = Searches(), brought(PROGRAM, data, "x")
    state.add(thought)
    of = thought.identity
    for weights in ("fresh", "practised", "fresh"):
        state.jobs = [done(RESEARCH, of, data, weights), done(DUEL, of, data, weights)]
        assert state.collect()
        assert state.move == 3
        assert state.of_move()[state.beside - 1].facts["weights"] == weights
        assert dict(state.duels[-1].order.details)["weights"] == weights
    assert [again.facts["weights"] for again in state.again] == ["fresh", "practised"]
    assert len(state.duels) == 2
    state.jobs = [done(RESEARCH, of, data, move=4)]
    assert state.collect()
    assert len(state.again) == 3 and len(state.of_move()) == 1
    for weights in ("fresh", "practised", "fresh"):
        state.jobs = [done(RETRACE, of, data, weights)]
        assert state.collect()
        assert state.of_game()[state.beside - 1].facts["weights"] == weights
    assert len(state.seconds) == 2


def test_names_say_what_was_searched_with() -> None:
    name = search_name({"weights": "fresh"}, TRACE)
    assert name == "24 simulations · learned model · fresh weights"
    classic = replace(TRACE, settings={"algorithm": "muzero"})
    assert "classic MuZero" in search_name({}, classic)


def test_the_inbox_is_sorted_and_knows_what_was_measured() -> None:
    found, study = surprises(TRACE), study_of(TRACE, PROGRAM, Rules())
    first = found.order()[0]
    study.at(first)
    known = {f.move: f for f in findings("", TRACE, study)}
    rows = inbox(PROGRAM, moves(PROGRAM), TRACE, found, known)
    assert rows["surprise"].is_monotonic_decreasing
    assert rows["move"][0] == first + 1
    seen = ("class", "regret", "better", "punished")
    of = known[first]
    assert [rows[c][0] for c in seen] == [of.verdict, of.regret_us, of.better, of.punished]
    assert rows["regret"][1:].isna().all()
    assert rows["played"][0] == ACTION_NAMES[TRACE.action[first]]

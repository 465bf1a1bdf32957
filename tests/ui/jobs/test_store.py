"""Results outlive the page and the server."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.plan.check import check
from engine.program.io import content_hash
from tests.ui.builders import first_fit_plan
from tests.ui.network import residual_network
from tests.ui.waiting import are_over, eventually
from ui.jobs.protocol import BOUND, DONE, PLAY, RESULT, SOLVE, TRACE, Order
from ui.jobs.queue import Workshop
from ui.jobs.store import ORDER, PLAN, VARIABLE, Result, ResultStore, default_folder

PROGRAM = residual_network()
HASH = content_hash(PROGRAM)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResultStore]:
    yield ResultStore(tmp_path / "results", most_kept=3)


def test_a_result_comes_back_as_it_was(store: ResultStore) -> None:
    order = Order(SOLVE, "muzero", 30.0, 1, "basis", (("model", "learned"), ("simulations", 8)))
    plan = first_fit_plan(PROGRAM)
    store.save(HASH, order, Result(plan, {"games": 3}, {TRACE: b"trace"}))
    found = store.find(HASH, order)
    assert found == Result(plan, {"games": 3}, {TRACE: b"trace"})
    assert store.orders(HASH) == [order]
    assert store.find(HASH, Order(SOLVE, "muzero", 30.0)) is None
    assert store.orders("another program") == []


def test_results_of_other_weights_or_rules_are_not_found(tmp_path: Path) -> None:
    order = Order(PLAY, "the agent's first game", 60.0)
    old, new = (ResultStore(tmp_path / "results", stamp=stamp) for stamp in ("3 a", "4 a"))
    old.save(HASH, order, Result(facts={"weights": "generalist"}))
    assert old.find(HASH, order) is not None and old.orders(HASH) == [order]
    assert new.find(HASH, order) is None and new.orders(HASH) == []


def test_only_the_latest_are_kept(store: ResultStore, tmp_path: Path) -> None:
    for seed in range(5):
        store.save(HASH, Order(SOLVE, "random", 5.0, seed), Result(facts={"seed": seed}))
        for place in (tmp_path / "results").iterdir():
            os.utime(place, (seed, seed)) if place.stat().st_mtime > 100 else None
    assert [order.seed for order in store.orders(HASH)] == [2, 3, 4]


def test_only_so_many_bytes_are_kept(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results", most_bytes=5000)
    for seed in range(4):
        store.save(HASH, Order(SOLVE, "random", 5.0, seed), Result(files={TRACE: b"x" * 2000}))
        for place in (tmp_path / "results").iterdir():
            os.utime(place, (seed, seed)) if place.stat().st_mtime > 100 else None
    assert [order.seed for order in store.orders(HASH)] == [2, 3]


@pytest.mark.parametrize("name", [PLAN, ORDER])
def test_a_damaged_result_counts_as_none(store: ResultStore, tmp_path: Path, name: str) -> None:
    order = Order(SOLVE, "greedy", 5.0)
    store.save(HASH, order, Result(first_fit_plan(PROGRAM)))
    (place,) = (tmp_path / "results").iterdir()
    (place / name).write_text('{"details": 3}')
    assert store.orders(HASH) == [] if name == ORDER else store.find(HASH, order) is None


@pytest.mark.parametrize("name", [PLAN, ORDER, RESULT, TRACE])
def test_a_result_without_one_of_its_parts_counts_as_none(
    store: ResultStore, tmp_path: Path, name: str
) -> None:
    order = Order(SOLVE, "muzero", 5.0)
    store.save(HASH, order, Result(first_fit_plan(PROGRAM), {}, {TRACE: b"trace"}))
    (place,) = (tmp_path / "results").iterdir()
    (place / name).unlink()
    assert store.find(HASH, order) is None


def test_an_older_result_which_does_not_tell_its_parts_is_read_where_it_can_be_whole(
    store: ResultStore, tmp_path: Path
) -> None:
    solved, bounded = Order(SOLVE, "greedy", 5.0), Order(BOUND, BOUND, 5.0)
    store.save(HASH, solved, Result(first_fit_plan(PROGRAM)))
    store.save(HASH, bounded, Result(facts={"bound_s": 1.0}))
    for path in (tmp_path / "results").glob(f"*/{ORDER}"):
        fields = json.loads(path.read_text())
        fields.pop("parts", None)
        path.write_text(json.dumps(fields))
    assert store.find(HASH, solved) == Result(first_fit_plan(PROGRAM))
    assert store.find(HASH, bounded) == Result(facts={"bound_s": 1.0})
    assert sorted(order.kind for order in store.orders(HASH)) == sorted([SOLVE, BOUND])
    next((tmp_path / "results").glob(f"*/{PLAN}")).unlink()
    assert store.find(HASH, solved) is None


def test_a_server_that_is_killed_while_it_removes_a_result_leaves_no_half_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store, remove = ResultStore(tmp_path / "results", most_kept=1), shutil.rmtree

    def begun(place: Path, *args: Any, **options: Any) -> None:
        plan = Path(place) / PLAN
        plan.unlink() if plan.exists() else remove(place, *args, **options)

    first, second, third = (Order(SOLVE, "greedy", 5.0, seed) for seed in range(3))
    whole = Result(first_fit_plan(PROGRAM))
    monkeypatch.setattr(shutil, "rmtree", begun)
    for order in (first, first, second):
        store.save(HASH, order, whole)
        for place in (tmp_path / "results").iterdir():
            os.utime(place, (order.seed, order.seed))
        assert store.find(HASH, order) == whole
    assert store.find(HASH, first) is None and store.orders(HASH) == [second]
    monkeypatch.undo()
    store.save(HASH, third, whole)
    (left,) = (tmp_path / "results").iterdir()
    assert store.find(HASH, third) == whole and (left / PLAN).exists()


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for store in (ResultStore(None), ResultStore(tmp_path / "file")):
        store.save(HASH, Order(BOUND, BOUND, 5.0), Result(facts={"bound_s": 1.0}))
        assert store.find(HASH, Order(BOUND, BOUND, 5.0)) is None
        assert store.orders(HASH) == []


def test_the_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert default_folder() is None
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert default_folder() == tmp_path


def test_another_server_has_the_result_without_working(store: ResultStore) -> None:
    first = Workshop(store=store)
    job = first.start(PROGRAM, "greedy", 5)
    assert are_over([job]) and job.state == DONE, job.error
    assert eventually(lambda: store.orders(HASH) != []), "it is written once it is done"
    first.close()
    second = Workshop(store=store, at_once=0)
    again = second.start(PROGRAM, "greedy", 5)
    assert again.state == DONE
    assert again.plan == job.plan and check(PROGRAM, again.plan) is None  # type: ignore[arg-type]
    assert [held.order for held in second.kept(PROGRAM)] == [again.order]

"""The plan file: exact round trips, and one line of error for everything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.errors import EngineError, PlanError, ProgramFormatError
from engine.files import LARGEST
from engine.plan.io import load_plan, plan_from_json, plan_to_json, save_plan
from engine.plan.model import Copy, Plan, Stay
from engine.program.model import Program
from tests.strategies import programs_with_plans

PLAN = Plan(
    program_hash="0123456789abcdef",
    solver="greedy",
    is_fast=(True, False, True),
    stays=(Stay(0, 512, -1, 4), Stay(1, 0, 2, 3)),
    copies=(Copy(1, True, 0, 2), Copy(0, False, 3, 4)),
    notes={"seed": 3, "seconds": 0.1, "name": "größer", "nested": {"list": [1, None]}},
)


@pytest.mark.parametrize("name", ["plan.json", "plan.json.gz"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    save_plan(PLAN, tmp_path / name)
    loaded = load_plan(tmp_path / name)
    assert loaded == PLAN
    assert loaded.notes == PLAN.notes
    assert [type(flag) for flag in loaded.is_fast] == [bool] * 3
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_columns() -> None:
    body = plan_to_json(PLAN)
    assert (body["format"], body["version"]) == ("mallocmuzero-plan", 1)
    assert body["stays"] == {"group": [0, 1], "offset": [512, 0], "start": [-1, 2], "end": [4, 3]}
    assert body["copies"]["is_prefetch"] == [True, False]


@settings(max_examples=30)
@given(programs_with_plans())
def test_round_trip_of_random_plans(case: tuple[Program, Plan]) -> None:
    _, plan = case
    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan))), "memory") == plan


def test_empty_plan(tmp_path: Path) -> None:
    plan = Plan("0", "none", (), (), ())
    save_plan(plan, tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json") == plan


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.pop("notes"),
        lambda b: b.update(extra=1),
        lambda b: b.update(program_hash=7),
        lambda b: b.update(solver=None),
        lambda b: b.update(is_fast="101"),
        lambda b: b.update(is_fast=[1, 0, 1]),
        lambda b: b.update(stays=[]),
        lambda b: b["stays"].pop("offset"),
        lambda b: b["stays"].update(size=[1, 2]),
        lambda b: b["stays"]["offset"].append(0),
        lambda b: b["stays"].update(offset=[0.0, 0.0]),
        lambda b: b["stays"].update(offset=[LARGEST + 1, 0]),
        lambda b: b["stays"].update(start=[-LARGEST - 1, 0]),
        lambda b: b["stays"].update(group=[True, False]),
        lambda b: b["stays"].update(group={"0": 1}),
        lambda b: b["copies"].update(is_prefetch=[1, 0]),
        lambda b: b["copies"].update(deadline=[None, 4]),
        lambda b: b.update(notes=[]),
    ],
)
def test_malformed_bodies(change: Change) -> None:
    body = plan_to_json(PLAN)
    change(body)
    with pytest.raises(PlanError) as caught:
        plan_from_json(body, "some.json")
    assert str(caught.value).startswith("some.json: not a valid plan file")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("body", [[], None, {}, {"format": "mallocmuzero-program", "version": 1}])
def test_other_formats(body: Any) -> None:
    with pytest.raises(ProgramFormatError, match="not a mallocmuzero-plan file"):
        plan_from_json(body, "some.json")


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_other_versions(version: Any) -> None:
    with pytest.raises(ProgramFormatError, match="version"):
        plan_from_json({**plan_to_json(PLAN), "version": version}, "some.json")


@pytest.mark.parametrize("data", [b"", b"{", b"\x1f\x8b\x08", b"[" * 10**5, b"9" * 10**5])
def test_files_that_are_no_json(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(data)
    with pytest.raises(EngineError) as caught:
        load_plan(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ProgramFormatError, match="cannot be read"):
        load_plan(tmp_path / "none.json")


@pytest.mark.parametrize("note", [object(), float("nan"), {1, 2}])
def test_notes_that_are_no_json(tmp_path: Path, note: object) -> None:
    plan = Plan("0", "none", (), (), (), notes={"note": note})
    with pytest.raises(PlanError, match="notes"):
        save_plan(plan, tmp_path / "plan.json")
    assert list(tmp_path.iterdir()) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=100)
@example("copies", {"\n": None})
@given(st.sampled_from(sorted(plan_to_json(PLAN))), JSON)
def test_any_field_replaced_by_anything(key: str, value: Any) -> None:
    body = {**plan_to_json(PLAN), key: value}
    try:
        plan = plan_from_json(body, "some.json")
    except (PlanError, ProgramFormatError) as error:
        assert "\n" not in str(error)
    else:
        assert plan_to_json(plan)[key] == value

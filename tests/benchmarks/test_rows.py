"""Rows say what they are of; one of an earlier program, bound, version of the rules is stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import rows
from benchmarks.rows import REAL_SETS, Row, dependencies, is_current, keep, keep_of, put, read
from engine.errors import MissingDependencyError
from engine.program import library

NAME = "t5-v5e-b24"


def test_large_programs_are_a_set_of_their_own() -> None:
    assert {rows.set_of(entry.name) for entry in library.large()} == {"large"}
    assert {rows.set_of(entry.name) for entry in library.held_out()} == {"held out"}
    assert {rows.set_of(entry.name) for entry in library.index()} == {"samples"}
    assert {rows.set_of(entry.name) for entry in library.real()} == set(REAL_SETS)


@pytest.mark.parametrize("section", ["reading", *rows.DEPENDS])
def test_a_row_is_stale_where_anything_that_it_depends_on_differs(section: str) -> None:
    row: Row = {"program": NAME, **dependencies(section, NAME)}
    assert is_current(section, row)
    for field in dependencies(section, NAME):
        assert not is_current(section, {**row, field: "another"})
        assert not is_current(section, {k: v for k, v in row.items() if k != field})
    assert not is_current(section, {**row, "program": "no-such-program"})


def test_plans_of_no_game_do_not_depend_on_the_rules() -> None:
    row = {"key": [NAME, "local"], **dependencies("solver_table", NAME)}
    assert is_current("solver_table", {**row, "rules": None})
    assert not is_current("solver_table", {**row, "rules": row["rules"] - 1})


def test_a_row_that_tells_no_content_is_known_by_what_the_plan_of_xla_takes() -> None:
    row = {"program": NAME, "xla_s": library.find_sample(NAME).xla_latency_s}
    assert is_current("plans", row)
    assert not is_current("plans", {**row, "xla_s": 1.001 * row["xla_s"]})


def test_without_a_compiler_its_versions_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row: Row = {"program": NAME, **dependencies("exported", NAME)}

    def missing() -> dict[str, str]:
        raise MissingDependencyError("no compiler")

    monkeypatch.setattr(rows, "versions", missing)
    assert is_current("exported", {**row, "versions": {"libtpu": "another"}})
    assert not is_current("exported", {**row, "rules": row["rules"] - 1})


def test_a_row_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    for number in range(2):
        for name in ("a", "b"):
            put(path, {"key": [name, 0], "number": number})
    assert read(path) == [{"key": [name, 0], "number": 1} for name in ("a", "b")]
    keep(path, [{"program": name, "number": 0} for name in ("a", "b", "c")])
    keep_of(path, ("a",), [{"program": name, "number": 1} for name in ("a", "b")])
    assert [(row["program"], row["number"]) for row in read(path)] == [("c", 0), ("a", 1), ("b", 1)]

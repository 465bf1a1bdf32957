"""The bench of sizes: how times grow, and what is measured once alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import sizes
from benchmarks.rows import Row, read
from benchmarks.settings import Settings
from engine.program.library import find_sample


def row(name: str, touches: int, seconds: dict[str, float | None]) -> Row:
    return {"key": [name, "hash"], "touches": touches, "seconds": seconds}


def test_growth_is_the_slope_of_logarithms() -> None:
    assert sizes.exponent([10, 100, 1000], [2.0, 200.0, 20_000.0]) == pytest.approx(2.0)
    rows = [row("a", 10, {"bound": 1.0, "import": None}), row("b", 40, {"bound": 8.0})]
    assert sizes.growth(rows) == [("bound", "exponent 1.50 over 2 programs; 8 s at 40 touches")]


def test_what_takes_too_long_is_marked() -> None:
    told = sizes.line(row("a", 10, {"import": None, "bound": 61.0, "simulate": 0.05}))
    assert "import" not in told
    assert "bound 61!" in told
    assert "simulate 0.05" in told
    assert "0.05!" not in told


def test_a_program_is_measured_once_until_its_costs_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sizes, "ROWS", tmp_path / "sizes.json")
    settings = Settings(programs=("mlpae-v5p-b4096", "alexnet-v4-b24"))
    sizes.run("sizes", settings)
    rows = read(sizes.ROWS)
    assert [row["touches"] for row in rows] == [44, 70]
    assert set(rows[0]["seconds"]) >= {"open", "simulate", "bound", "greedy", "first plan"}
    monkeypatch.setattr(sizes, "_row", lambda entry: pytest.fail(entry.name))
    sizes.run("sizes", settings)
    assert read(sizes.ROWS) == rows
    stale = {**rows[0], "key": [rows[0]["key"][0], "another program"]}
    sizes.keep(sizes.ROWS, [stale, rows[1]])
    monkeypatch.setattr(sizes, "_row", lambda entry: {**rows[0]})
    sizes.run("sizes", settings)
    assert [row["key"] for row in read(sizes.ROWS)] == [rows[1]["key"], rows[0]["key"]]
    assert rows[0]["key"][1] == find_sample("mlpae-v5p-b4096").content_hash
    capsys.readouterr()

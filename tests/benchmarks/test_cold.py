"""The bench of cold starts: what is run, what counts as behind XLA's plan and as late."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchmarks import cold, failures
from benchmarks.rows import Row, read
from benchmarks.settings import Settings

SOLVERS = ("none-such", "rounded")


def row(latency_s: float, wall_s: float, not_counted_s: float = 0.0, seconds: float = 2.0) -> Row:
    key = ["a program", "local", seconds, 0, cold.CACHED]
    return {
        "key": key,
        "latency_s": latency_s,
        "xla_s": 3.0,
        "bound_s": 1.0,
        "found_by": "local",
        "wall_s": wall_s,
        "cpu_s": 1.0,
        "not_counted_s": not_counted_s,
        "load": 0.5,
    }


def test_who_is_behind_and_who_is_late() -> None:
    rows = [row(2.0, 3.1), row(3.1, 3.3), row(3.0, 9.0, not_counted_s=6.0)]
    assert [cold.is_behind(some) for some in rows] == [False, True, False]
    assert [cold.is_late(some) for some in rows] == [False, True, False]
    assert cold.line(rows[0]).count("BEHIND") == cold.line(rows[0]).count("LATE") == 0
    assert "BEHIND LATE" in cold.line(rows[1])
    told = (
        "cached       2 s local        15.0% of the gap, 1 of 3 behind XLA, 1 late, at most 3.3 s,"
        " 1.0 s of the processor"
    )
    assert cold.summary(rows) == [told]


def test_a_solver_without_a_clock_is_run_once() -> None:
    keys = list(cold.keys(Settings(solvers=("local", "rounded"), programs=("p",))))
    assert [key[1:3] for key in keys] == [
        ("local", 1.0),
        ("local", 2.0),
        ("local", 10.0),
        ("rounded", 1.0),
    ]


def test_a_row_is_measured_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cold, "ROWS", tmp_path / "cold.json")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    settings = Settings(programs=("mlpae-v5p-b4096",), solvers=("rounded",), seconds=0.1)
    cold.run("cold", settings)
    (some,) = read(cold.ROWS)
    assert not cold.is_behind(some)
    assert some["wall_s"] > 0 and some["cpu_s"] > 0 and some["not_counted_s"] == 0
    assert "rounded" in capsys.readouterr().out


def test_busy_cores_are_free_again_afterwards() -> None:
    before_s = cold.children_cpu_s()
    with cold.busy_cores():
        begun = time.perf_counter()
        while time.perf_counter() < begun + 1.0:
            pass
    assert cold.children_cpu_s() > before_s + 0.05


def test_a_run_that_fails_says_why_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "mlpae-v5p-b4096"
    monkeypatch.setattr(cold, "ROWS", tmp_path / "cold.json")
    monkeypatch.setattr(cold, "keys", lambda _: [(name, s, 0.1, 0, cold.CACHED) for s in SOLVERS])
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    failures.take()
    cold.run("cold", Settings())
    assert [some["key"][1] for some in read(cold.ROWS)] == ["rounded"]
    (told,) = failures.take()
    assert "no solver is called" in told, "what the process said last"
    assert told in capsys.readouterr().err

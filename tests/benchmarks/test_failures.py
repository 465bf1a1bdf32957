"""What fails is told in a line and counted; the rest is measured all the same."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import agent_games, failures, runs
from benchmarks.rows import Row, read
from benchmarks.runs import Run
from benchmarks.settings import Settings
from engine.errors import CompilerError

NAMES = ("alexnet-v4-b24", "t5-v5e-b24", "bert-v5e-b32")


@pytest.fixture(autouse=True)
def nothing_has_failed_yet() -> Iterator[None]:
    failures.take()
    yield
    failures.take()


def test_a_section_that_fails_ends_no_other_and_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[str] = []

    def run(section: str, settings: Settings) -> None:
        begun.append(section)
        if section == "cold":
            raise CompilerError("the compiler is ill")

    monkeypatch.setattr(benchmarks, "import_module", lambda _: SimpleNamespace(run=run))
    with pytest.raises(SystemExit) as ended:
        benchmarks.main(["cold", "table"])
    assert begun == ["cold", "table"] and "1 failed" in str(ended.value)
    assert capsys.readouterr().err == "cold: the compiler is ill\n"
    benchmarks.main(["table"])


def test_a_run_that_fails_ends_neither_its_section_nor_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(run: Run, free: Any) -> Row:
        if run.program == NAMES[1]:
            raise RuntimeError("killed")
        return {"key": run.key, "program": run.program}

    monkeypatch.setattr(runs, "measure", measured)
    wanted = [Run(name, "local", 1.0) for name in NAMES]
    rows = runs.fill(tmp_path / "solver_table.json", wanted, lambda _: None)
    assert sorted(row["program"] for row in rows) == sorted({NAMES[0], NAMES[2]})
    assert len(failures.take()) == 1 and "killed" in capsys.readouterr().err


def test_a_program_that_fails_leaves_the_games_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rows_of(name: str) -> list[Row]:
        if name == NAMES[0]:
            raise ValueError("no game")
        return [{"program": name}]

    def pool(number: int, *_: object) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1)

    monkeypatch.setattr(agent_games, "ProcessPoolExecutor", pool)
    monkeypatch.setattr(agent_games, "_alone", lambda rows_of, name: rows_of(name))
    path = tmp_path / "agent_games.json"
    for _ in range(2):
        list(agent_games.fill(path, rows_of, NAMES))
    assert {row["program"] for row in read(path)} == {*NAMES[1:]} and len(read(path)) == 2
    assert failures.take() == [f"{NAMES[0]}: no game"] * 2

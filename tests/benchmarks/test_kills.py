"""The campaign of kills: what it finds, and what counts as one."""

from __future__ import annotations

import gzip
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import kills
from benchmarks.settings import Settings
from engine.agent.arrays import pack
from tests.ui.waiting import eventually

HALF = """
import sys, time
from pathlib import Path
folder = Path(sys.argv[1])
is_again = (folder / "begun").exists()
(folder / "plan.json").write_text("{")
(folder / "begun").touch()
time.sleep(0 if is_again else 3600)
sys.exit(3)
"""
"""It leaves half a file, and its second start fails."""


def kill(
    monkeypatch: pytest.MonkeyPatch, folder: Path, code: str, when: Callable[[float], object]
) -> list[str] | None:
    command = [sys.executable, "-c", code, str(folder)]
    clock = SimpleNamespace(sleep=when, monotonic=time.monotonic, monotonic_ns=time.monotonic_ns)
    monkeypatch.setattr(kills, "time", clock)
    return kills.faults_of(lambda _: command, folder, 0.0)


def test_half_a_file_and_a_start_that_fails_are_faults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    found = kill(monkeypatch, tmp_path, HALF, lambda _: eventually(begun.exists))
    assert found is not None
    assert len(found) == 3
    assert "plan.json" in found[0]
    assert found[1] == "started again, it ends with 3"


def test_half_a_file_is_found_in_folders_and_of_every_kind(tmp_path: Path) -> None:
    within = tmp_path / "run" / "rounds"
    within.mkdir(parents=True)
    (tmp_path / "plan.json").write_text("{}")
    (tmp_path / "answer.json.gz").write_bytes(gzip.compress(b"{}"))
    (within / "0.npz").write_bytes(pack({"a": np.zeros(3)}))
    assert kills.half_written(tmp_path) == []
    for path in (tmp_path / "answer.json.gz", within / "0.npz"):
        path.write_bytes(path.read_bytes()[:-9])
    found = kills.half_written(tmp_path)
    assert [text.partition(":")[0] for text in found] == ["answer.json.gz", "0.npz"]


def test_what_had_ended_was_not_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def until_it_ends(_: float) -> None:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)

    assert kill(monkeypatch, tmp_path, "", until_it_ends) is None


def test_kills_of_the_living_are_counted_each_in_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = iter([None, [], ["process 7 goes on"], None, [], *[[]] * 7])
    folders = []

    def faults_of(command: kills.Command, folder: Path, after_s: float) -> list[str] | None:
        assert 0.0 <= after_s <= 5.0
        folders.append(folder)
        return next(found)

    monkeypatch.setattr(kills, "length_s", lambda command: 5.0)
    monkeypatch.setattr(kills, "faults_of", faults_of)
    monkeypatch.setattr(kills, "ROWS", tmp_path / "kills.json")
    kills.run("kills", Settings(games=3))
    assert capsys.readouterr().out.splitlines()[-2] == "3 kills, 1 faults"
    assert len(set(folders)) == 5
    # A second run adds to the first.
    kills.run("kills", Settings(games=7))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("in all: 2 of `bench`, 1 of `explorer`, 1 of `server`, 2 of `solve`, ")
    assert last.endswith("; 1")

"""The section `soundness`: rows of earlier programs, bounds or rules do not count."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import soundness
from benchmarks.rows import Row, dependencies, keep, read
from benchmarks.settings import Settings
from engine.program import library
from engine.solvers.local.search import compile_all

NAMES = ("alexnet-v4-b24", "t5-v5e-b24", "bert-v5e-b32")


def row(name: str, **other: object) -> Row:
    counts = {"plans": 1000, "invalid": 0, "below": 0, "apart": 0.0, "least": 1.0, "most": 1.0}
    own = {"program": name, "bound_method": "mip", **counts}
    return {**own, **dependencies("soundness", name), **other}


def test_stale_rows_are_dropped_and_programs_without_a_row_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soundness, "RESULTS", tmp_path)
    monkeypatch.setattr(soundness, "compile_all", lambda _: None)
    monkeypatch.setattr(soundness, "_row", lambda entry, *_: row(entry.name))
    path = tmp_path / "soundness.json"
    keep(path, [row(NAMES[0]), row(NAMES[1], bound_s=0.1), {**row(NAMES[0]), "program": "gone"}])
    soundness.run("soundness", Settings(programs=NAMES[2:]))
    assert [one["program"] for one in read(path)] == [NAMES[0], NAMES[2]]
    said = capsys.readouterr().out
    assert "2,000 plans of 2 programs" in said
    (without,) = [line for line in said.splitlines() if "without a row" in line]
    assert NAMES[1] in without and NAMES[0] not in without


def test_a_row_says_what_it_is_of() -> None:
    entry = library.find_sample("teach-prefetch")
    found = soundness._row(entry, 1, 0, compile_all(lambda share, message: True))
    assert found.items() >= dependencies("soundness", entry.name).items()
    assert found["plans"] == 1 and found["below"] == 0

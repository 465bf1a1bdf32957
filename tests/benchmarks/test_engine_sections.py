"""Sections about programs play those that are asked for, and have each once in their rows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import agreement, engine_sections, game_speed
from benchmarks.rows import is_current, read
from benchmarks.settings import Settings

NAMES = ("alexnet-v4-b24", "t5-v5e-b24")


class Child:
    """A process that plays nothing, and prints a row for each program that it is told of."""

    returncode = 0

    def __init__(self, command: Sequence[str], **_: Any) -> None:
        row = {"games": 1, "moves": 2, "difference": ""}
        self.stdout = [json.dumps({"program": name, **row}) for name in command[4:]]

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def raced(command: Sequence[str], **_: Any) -> SimpleNamespace:
    row = {"moves": 1, "reference_moves_per_s": 1.0, "vmapped_moves_per_s": 2.0, "ratio": 2.0}
    return SimpleNamespace(stdout=json.dumps([{"program": name, **row} for name in command[3:]]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(engine_sections, "RESULTS", tmp_path)
    fake = SimpleNamespace(Popen=Child, run=raced, PIPE=subprocess.PIPE)
    monkeypatch.setattr(engine_sections, "subprocess", fake)
    return tmp_path


@pytest.mark.parametrize("section", ["agreement", "speed", "calibration"])
def test_programs_that_are_measured_again_have_their_rows_once(section: str, folder: Path) -> None:
    for programs in (NAMES, NAMES[:1], NAMES[:1]):
        engine_sections.run(section, Settings(programs=programs))
    rows = read(folder / f"{section}.json")
    told = [
        json.dumps({k: v for k, v in row.items() if k != "simulate_ms_per_1000"}) for row in rows
    ]
    assert len(set(told)) == len(told) and all(is_current(section, row) for row in rows)
    wanted = NAMES[:1] if section == "speed" else NAMES
    assert {row["program"] for row in rows} == set(wanted)


def test_a_program_is_played_with_random_numbers_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds: dict[str, list[int]] = {}

    def compared(program: Any, games: int, seed: int) -> tuple[int, str]:
        seeds.setdefault(program.name, []).append(seed)
        return games, ""

    monkeypatch.setattr(agreement, "compare_many", compared)
    for names in (NAMES, NAMES[1:]):
        agreement.main(10, names)
    assert [len(set(own)) for own in seeds.values()] == [1, 1]
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["program"], row["games"]) for row in rows] == [
        (NAMES[0], 5),
        (NAMES[1], 5),
        (NAMES[1], 10),
    ]


def test_the_speeds_are_those_of_the_programs_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one: Callable[..., float] = lambda *_: 1.0  # noqa: E731
    monkeypatch.setattr(game_speed, "reference_speed", one)
    monkeypatch.setattr(game_speed, "vmapped_speed", one)
    game_speed.main(NAMES[:1])
    assert [row["program"] for row in json.loads(capsys.readouterr().out)] == [NAMES[0]]

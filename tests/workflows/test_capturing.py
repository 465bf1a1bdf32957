"""Where compile results are cached."""

from __future__ import annotations

from pathlib import Path

import pytest

import mallocmuzero
from engine.errors import ConfigError, UsageError
from engine.folders import VARIABLE
from engine.program.model import Program
from engine.workflows.capturing import answers_folder, capturing
from engine.workflows.tuning import planner


class Caught(Exception):
    """Ends a call that has said enough."""


def test_verify_caches_compile_results_with_the_user_and_not_where_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []

    def answers(program: Program, folder: Path, *_: object) -> None:
        folders.append(folder)
        raise Caught

    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr("engine.compiler.reading.own_compile.stored_answers", answers)
    with pytest.raises(Caught):
        mallocmuzero.verify(mallocmuzero.load("gptdecode-v5e-b8"))
    assert folders == [tmp_path / "compiles" / "answers"]
    assert capturing().raw == tmp_path / "compiles"


def test_without_a_cache_compiles_need_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    for make in (answers_folder, capturing):
        with pytest.raises(UsageError, match=VARIABLE):
            make()


def test_limits_that_there_are_not_are_refused(tmp_path: Path) -> None:
    for compiles in (0, -3):
        with pytest.raises(UsageError, match=f"--compiles {compiles}"):
            capturing(raw=tmp_path, compiles=compiles)
    for seconds in (float("nan"), -1.0):
        with pytest.raises(ConfigError, match="seconds: name a number from 0"):
            capturing(raw=tmp_path, seconds=seconds)


def test_the_compilers_own_plan_is_none_for_other_costs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="xla_compiled plans nothing"):
        capturing("local, xla_compiled", raw=tmp_path)
    with pytest.raises(UsageError, match="xla_compiled plans nothing"):
        planner("xla_compiled")


def test_a_number_of_compiles_that_the_user_names_is_not_doubled(tmp_path: Path) -> None:
    assert (capturing(raw=tmp_path).compiles, capturing(raw=tmp_path).may_double) == (8, True)
    named = capturing(raw=tmp_path, compiles=8)
    assert (named.compiles, named.may_double) == (8, False)

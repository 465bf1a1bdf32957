"""Where compile results are cached."""

from __future__ import annotations

from pathlib import Path

import pytest

import mallocmuzero
from engine.errors import UsageError
from engine.folders import VARIABLE
from engine.program.model import Program
from engine.workflows.capturing import answers_folder, capturing


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

"""What is cached is met again as long as its files are the same, and no longer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st

from engine.compiler.costs.observations import kept_path, observations_path
from engine.errors import ProgramFormatError
from engine.lessons.catalogue import FOLDER as LESSONS
from engine.plan.io import save_plan
from engine.program import library
from engine.program.io import save
from engine.program.model import Program
from engine.solvers import solve
from tests.strategies import random_program
from ui.session import caching

NAME = "mine"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(library, "SAMPLES_FOLDER", tmp_path)
    yield tmp_path
    st.cache_resource.clear()


def install(program: Program, folder: Path, **known: object) -> None:
    save(program, folder / "mine.json")
    entry = library.describe(program, "mine.json", "Mine", **known)
    library.write_index([entry], folder / library.INDEX_NAME)


def renamed(seed: int) -> Program:
    return replace(random_program(seed, 6), name=NAME)


def test_an_index_that_was_unreadable_is_read_once_it_is_whole(folder: Path) -> None:
    (folder / library.INDEX_NAME).write_text("{")
    assert caching.sample_index() == ()
    install(renamed(1), folder)
    assert [entry.name for entry in caching.sample_index()] == [NAME]


def test_a_program_that_changes_is_read_anew(folder: Path) -> None:
    first, second = renamed(1), renamed(2)
    install(first, folder)
    assert caching.sample(NAME) is caching.sample(NAME)
    assert caching.sample(NAME) == first
    install(second, folder)
    assert caching.sample(NAME) == second
    save(first, folder / "mine.json")
    with pytest.raises(ProgramFormatError, match="not the program of the index"):
        caching.sample(NAME)


def test_a_best_plan_that_was_damaged_is_there_once_it_is_whole(folder: Path) -> None:
    program = renamed(1)
    install(program, folder, best_plan="plan.json")
    assert caching.best_plan(NAME) is None
    (folder / "plan.json").write_text("{}")
    assert caching.best_plan(NAME) is None
    save_plan(solve("greedy", program), folder / "plan.json")
    assert caching.best_plan(NAME) is not None
    install(renamed(2), folder, best_plan="plan.json")
    assert caching.best_plan(NAME) is None, "the plan of another program"


def test_compiles_of_a_held_out_program_are_met_once_they_are_there(folder: Path) -> None:
    (entry,) = (e for e in library.index(LESSONS.parent) if e.name == "lstm-v5e-b128")
    (folder / library.HELD_OUT).mkdir()
    shutil.copy(entry.path, folder / library.HELD_OUT / entry.file)
    library.write_index([entry], folder / library.HELD_OUT / library.INDEX_NAME)
    library.write_index([], folder / library.INDEX_NAME)
    program, kept = library.load_sample(entry.name), kept_path(entry.name)
    assert caching.kept_compiles("x", program) == ()
    kept.parent.mkdir()
    shutil.copy(observations_path(entry.name, entry.folder), kept)
    assert caching.kept_compiles("x", program)


def test_a_lesson_that_changes_is_judged_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = caching.lesson_catalogue().lessons[0]
    path = tmp_path / f"{first.name}.toml"
    shutil.copy(LESSONS / path.name, path)
    monkeypatch.setattr(caching, "LESSONS", tmp_path)
    (before,) = caching.lesson_catalogue().lessons
    judge = caching.judge_of(before)
    assert caching.judge_of(before) is judge
    path.write_text(path.read_text() + "\n# A remark.\n")
    (after,) = caching.lesson_catalogue().lessons
    assert caching.judge_of(after) is not judge

"""The sample library: names, near matches, files that do not fit their index."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ProgramFormatError, UnknownNameError
from engine.program import library
from engine.program.io import save
from engine.program.model import Program
from tests.strategies import random_program


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(library, "SAMPLES_FOLDER", tmp_path)
    return tmp_path


@pytest.fixture
def program(folder: Path) -> Program:
    program = replace(random_program(1, 12), name="alpha-v5e-b8")
    save(program, folder / "alpha-v5e-b8.json.gz")
    entry = library.describe(
        program, "alpha-v5e-b8.json.gz", "Alpha", model="alpha", batch=8, bound_s=1.5
    )
    library.write_index([entry], folder / "index.json")
    return program


def rewritten(folder: Path, **changes: Any) -> None:
    path = folder / "index.json"
    body = json.loads(path.read_text())
    body["programs"][0].update(changes)
    path.write_text(json.dumps(body))


def test_an_index_round_trips(folder: Path, program: Program) -> None:
    (entry,) = library.index()
    assert (entry.name, entry.batch, entry.bound_s, entry.best_s) == ("alpha-v5e-b8", 8, 1.5, None)
    assert entry.path == folder / "alpha-v5e-b8.json.gz"
    assert entry.touches == len(program.touches)
    library.write_index([entry], folder / "index.json")
    assert library.index() == (entry,)


def test_captured_programs_come_before_teaching_ones(folder: Path, program: Program) -> None:
    taught = replace(program, name="teach")
    (folder / "teaching").mkdir()
    save(taught, folder / "teaching" / "t.json")
    entry = library.describe(taught, "t.json", "T")
    library.write_index([entry], folder / "teaching" / "index.json")
    assert library.sample_names() == ["alpha-v5e-b8", "teach"]
    assert library.load_sample("teach") == taught


def test_names_and_files_are_resolved(
    folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert library.resolve("alpha-v5e-b8") == program
    assert library.resolve(str(folder / "alpha-v5e-b8.json.gz")) == program
    monkeypatch.chdir(folder)
    (folder / "plain").write_bytes((folder / "alpha-v5e-b8.json.gz").read_bytes())
    assert library.resolve("plain") == program


def test_unknown_names_are_answered_with_near_ones(program: Program) -> None:
    with pytest.raises(UnknownNameError, match=r"near it: alpha-v5e-b8.*no such file"):
        library.resolve("alpha-v5e-b9")
    with pytest.raises(UnknownNameError, match="there are alpha-v5e-b8"):
        library.load_sample("zzz")
    with pytest.raises(ProgramFormatError, match=r"nowhere/p\.json: cannot be read"):
        library.resolve("nowhere/p.json")


def test_a_changed_program_file_is_noticed(folder: Path, program: Program) -> None:
    rewritten(folder, content_hash="0" * 16)
    with pytest.raises(ProgramFormatError, match="not the program of the index"):
        library.load_sample("alpha-v5e-b8")


def test_a_missing_index_is_an_error(folder: Path) -> None:
    with pytest.raises(ProgramFormatError, match="not installed"):
        library.index()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"surprise": 1}, "unknown field surprise"),
        ({"batch": "8"}, "batch: expected int, got str"),
        ({"batch": True}, "batch: expected int, got bool"),
        ({"touches": 1.5}, "touches: expected int, got float"),
        ({"bound_s": "fast"}, "bound_s: expected float . null, got str"),
        ({"train": 1}, "train: expected bool, got int"),
        ({"file": "../alpha.json"}, "not inside the folder"),
        ({"file": "/alpha.json"}, "not inside the folder"),
        ({"best_plan": "../plan.json"}, "best_plan is not inside the folder"),
    ],
)
def test_malformed_entries_are_refused(
    folder: Path, program: Program, changes: dict[str, Any], message: str
) -> None:
    rewritten(folder, **changes)
    with pytest.raises(ProgramFormatError, match=message):
        library.index()


def test_whole_numbers_may_stand_for_seconds(folder: Path, program: Program) -> None:
    rewritten(folder, bound_s=2)
    assert library.index()[0].bound_s == 2


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"format": "mallocmuzero-index", "version": 2, "programs": []},
        {"format": "mallocmuzero-program", "version": 1, "programs": []},
        {"format": "mallocmuzero-index", "version": 1},
        {"format": "mallocmuzero-index", "version": 1, "programs": {}},
        {"format": "mallocmuzero-index", "version": 1, "programs": [{"name": "a"}]},
        {"format": "mallocmuzero-index", "version": 1, "programs": ["a"]},
    ],
)
def test_malformed_indexes_are_refused(folder: Path, body: Any) -> None:
    (folder / "index.json").write_text(json.dumps(body))
    with pytest.raises(ProgramFormatError):
        library.index()


def test_two_programs_may_not_share_a_name(folder: Path, program: Program) -> None:
    library.write_index([*library.index(), *library.index()], folder / "index.json")
    with pytest.raises(ProgramFormatError, match="one name"):
        library.index()


@pytest.mark.parametrize("kind", ["held_out", "large", "real"])
def test_programs_apart_have_a_name_but_are_no_samples(
    folder: Path, program: Program, kind: str
) -> None:
    listed = {"held_out": library.held_out, "large": library.large, "real": library.real}
    assert {name: entries() for name, entries in listed.items()} == {
        "held_out": (),
        "large": (),
        "real": (),
    }
    apart = replace(program, name="apart")
    (folder / kind).mkdir()
    save(apart, folder / kind / "apart.json")
    entry = library.describe(apart, "apart.json", "Apart")
    library.write_index([entry], folder / kind / "index.json")
    found = {name: [e.name for e in entries()] for name, entries in listed.items()}
    assert found == {"held_out": [], "large": [], "real": []} | {kind: ["apart"]}
    assert library.sample_names() == ["alpha-v5e-b8"]
    assert library.load_sample("apart") == apart
    assert library.resolve("apart") == apart


def test_what_no_file_can_be_called_is_no_file(program: Program) -> None:
    with pytest.raises(UnknownNameError, match="no such file"):
        library.resolve("x" * 300)


def test_the_entry_of_a_program_is_found_by_its_content(folder: Path, program: Program) -> None:
    assert library.entry_of(program) == library.find_sample("alpha-v5e-b8")
    assert library.proven_bound_s(program) == 1.5
    other = replace(random_program(2, 12), name="alpha-v5e-b8")
    assert library.entry_of(other) is None
    assert library.proven_bound_s(other) is None
    assert library.entry_of(replace(program, name="beta")) is None

"""One `load` and one `save` for what files of ours hold."""

from __future__ import annotations

from pathlib import Path

import pytest

import mallocmuzero
from engine.errors import CheckpointError, EngineError, ProgramFormatError, UsageError
from mallocmuzero import Flags, Plan, Program, SearchTrace
from tests.ui.search_traces import made_up_trace

PROGRAM = mallocmuzero.load("teach-prefetch", Program)
PLAN = mallocmuzero.solve(PROGRAM, "greedy")
FLAGS = Flags("net", "0123", "tpu-v5e", {"xla_some_knob": "7"})


@pytest.mark.parametrize(
    ("content", "name"), [(PROGRAM, "a.json"), (PLAN, "a.json.gz"), (FLAGS, "a.json")]
)
def test_what_is_saved_is_loaded(
    content: Program | Plan | Flags, name: str, tmp_path: Path
) -> None:
    mallocmuzero.save(content, tmp_path / name)
    assert mallocmuzero.load(tmp_path / name) == content
    assert mallocmuzero.load(str(tmp_path / name), type(content)) == content


def test_a_search_trace_is_loaded_as_one(tmp_path: Path) -> None:
    trace = made_up_trace(PROGRAM)
    mallocmuzero.save(trace, tmp_path / "game.npz")
    loaded = mallocmuzero.load(tmp_path / "game.npz", SearchTrace)
    assert loaded.action.tolist() == trace.action.tolist()
    with pytest.raises(UsageError, match=r"\.npz"):
        mallocmuzero.save(trace, tmp_path / "game.json")
    with pytest.raises(UsageError, match=r"\.npz"):
        mallocmuzero.save(PLAN, tmp_path / "plan.npz")
    with pytest.raises(ProgramFormatError, match="holds a search trace, not a plan"):
        mallocmuzero.load(tmp_path / "game.npz", Plan)


def test_what_is_of_no_kind_is_refused_by_its_path(tmp_path: Path) -> None:
    for name, text in (("a.json", "{}"), ("b.json", "[1]"), ("c.json", '{"format": ["x"]}')):
        (tmp_path / name).write_text(text)
        with pytest.raises(ProgramFormatError, match=f"{name}: holds none of a program, a plan"):
            mallocmuzero.load(tmp_path / name)
    (tmp_path / "d.npz").write_bytes(b"none")
    with pytest.raises(CheckpointError, match=r"d\.npz"):
        mallocmuzero.load(tmp_path / "d.npz")
    with pytest.raises(ProgramFormatError, match=r"e\.json"):
        mallocmuzero.load(tmp_path / "e.json")


def test_another_kind_than_the_one_asked_for_is_refused(tmp_path: Path) -> None:
    mallocmuzero.save(PLAN, tmp_path / "plan.json")
    with pytest.raises(ProgramFormatError, match="holds a plan, not a program"):
        mallocmuzero.load(tmp_path / "plan.json", Program)
    with pytest.raises(UsageError, match="is none of Program, Plan"):
        mallocmuzero.load(tmp_path / "plan.json", int)  # type: ignore[type-var]
    with pytest.raises(UsageError, match="int is none of"):
        mallocmuzero.save(3, tmp_path / "plan.json")  # type: ignore[arg-type]


def test_a_check_is_true_for_a_valid_plan_and_says_what_a_broken_one_breaks() -> None:
    assert mallocmuzero.check(PROGRAM, PLAN)
    result = mallocmuzero.check(mallocmuzero.load("teach-keep-or-drop"), PLAN)
    assert not result
    assert str(result).startswith("breaks wrong-program: the plan is for")
    with pytest.raises(EngineError, match="breaks wrong-program"):
        mallocmuzero.simulate(mallocmuzero.load("teach-keep-or-drop"), PLAN)

"""One `load` and one `save` for what files of ours hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    for name in ("teach-prefetch", str(tmp_path / "gone.json")):
        with pytest.raises(UsageError, match="'Plan' is none of Program, Plan"):
            mallocmuzero.load(name, "Plan")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="int is none of"):
        mallocmuzero.save(3, tmp_path / "plan.json")  # type: ignore[arg-type]


def test_a_check_is_true_for_a_valid_plan_and_says_what_a_broken_one_breaks() -> None:
    assert mallocmuzero.check(PROGRAM, PLAN)
    result = mallocmuzero.check(mallocmuzero.load("teach-keep-or-drop"), PLAN)
    assert not result
    assert str(result).startswith("breaks wrong-program: the plan is for")
    with pytest.raises(EngineError, match="breaks wrong-program"):
        mallocmuzero.simulate(mallocmuzero.load("teach-keep-or-drop"), PLAN)


@pytest.mark.parametrize("solvers", ["greedy", ["greedy"], ("greedy",)])
def test_one_name_is_compared_as_a_list_of_one(solvers: Any) -> None:
    rows = mallocmuzero.compare(PROGRAM, solvers)["results"]
    assert [row["solver"] for row in rows] == ["greedy"]


def test_a_comparison_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="compare: no solver is named"):
        mallocmuzero.compare(PROGRAM, [])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mallocmuzero.solve("teach-prefetch", "greedy"), "solve: program .*load it first"),
        (lambda: mallocmuzero.check(PROGRAM, "plan.json"), "check: plan .*load it first"),
        (lambda: mallocmuzero.verify(PROGRAM, 3), "verify: plan cannot be 3"),
        (lambda: mallocmuzero.solver_names(None), "solver_names: program cannot be None"),
        (lambda: mallocmuzero.solve(PROGRAM, None), "solve: solver cannot be None"),
        (lambda: mallocmuzero.solve(PROGRAM, "local", 0, progress=3), "progress cannot be 3"),
        (lambda: mallocmuzero.compare(PROGRAM, [None]), "no solver is called None"),
        (lambda: mallocmuzero.bound(PROGRAM, target_s="x"), "bound: target_s cannot be 'x'"),
        (lambda: mallocmuzero.recounted(PROGRAM, {"a": 1}), "counts .*mallocmuzero.Counts"),
        (lambda: mallocmuzero.environment(PROGRAM, prices=3), "prices .*mallocmuzero.bound"),
        (lambda: mallocmuzero.environment(PROGRAM, rules=3), "rules .*mallocmuzero.Rules"),
        (lambda: mallocmuzero.load(None), "load: name_or_path cannot be None: give a path"),
        (lambda: mallocmuzero.save(PLAN, "\0"), r"save: path cannot be '\\x00': give a path"),
        (lambda: mallocmuzero.load("\ud800.json"), "load: name_or_path cannot be"),
        (lambda: mallocmuzero.solve(PROGRAM, "muzero", 1, trace="\0"), "muzero: trace cannot be"),
        (lambda: mallocmuzero.capture(None, hardware=5), "capture: hardware cannot be 5: name a"),
        (
            lambda: mallocmuzero.capture(None, hardware="tpu-v5e", topology=4),
            "topology cannot be 4",
        ),
        (
            lambda: mallocmuzero.tune(None, hardware=b"tpu-v5e"),
            "tune: hardware cannot be b'tpu-v5e'",
        ),
        (lambda: mallocmuzero.export_program(None, path=3), "path cannot be 3: give a path"),
    ],
)
def test_what_no_argument_can_be_is_refused_in_one_line(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(EngineError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)

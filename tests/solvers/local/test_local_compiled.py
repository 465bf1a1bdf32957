"""The compiled search is held to the interpreted one, and where compiled code is kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from engine.folders import VARIABLE
from engine.solvers import Budget, solve
from engine.solvers.local import machine, search, warming
from engine.solvers.local.compiled import interpreted
from engine.solvers.registry import NOT_COUNTED
from tests.solvers.local.recorded_runs import PROGRAMS, record
from tests.strategies import random_program

IGNORED = shutil.ignore_patterns("__pycache__")
COMPILE_TIMEOUT_S = 1800
"""Compiling takes a minute of processor time, on a busy machine many minutes."""


def run_child(*words: str, **variables: str) -> str:
    """What a Python process of its own prints, with these environment variables."""
    environment = os.environ | variables
    child = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, check=True, text=True
    )
    return child.stdout


@pytest.mark.nightly
@pytest.mark.timeout(COMPILE_TIMEOUT_S)
def test_compiled_code_makes_the_same_moves() -> None:
    answer = json.loads(run_child("-m", "tests.solvers.local.recorded_runs", NUMBA_DISABLE_JIT="0"))
    assert not answer["is_interpreted"]
    assert len(answer["runs"]) == PROGRAMS
    for seed, compiled in enumerate(answer["runs"]):
        plain = record(seed, interpreted)
        for key in ("present", "stays", "copies", "is_fast"):
            assert compiled[key] == plain[key]
        assert compiled["is_taken_up"]
        for key in ("told_s", "best_s"):
            assert compiled[key] == pytest.approx(plain[key], rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("folder", ["", "/dev/null/never"])
def test_without_a_folder_nothing_is_kept(folder: str) -> None:
    words = "from engine.solvers.local.machine import cached_sources; print(cached_sources())"
    assert run_child("-c", words, **{VARIABLE: folder}).strip() == "None"


READY = """
import sys
from engine.solvers.local.machine import machine_code
machine_code()
from numba import njit
njit(lambda: 1)()
print("scipy.linalg" in sys.modules)
import scipy.linalg
"""


def test_a_search_starts_without_linear_algebra_which_others_import_later() -> None:
    assert run_child("-c", READY, NUMBA_DISABLE_JIT="0").strip() == "False"


KEPT = "from engine.solvers.local.machine import cached_sources; print(cached_sources())"


def test_compiled_code_is_kept_where_the_user_wants_it_and_not_beside_the_sources(
    tmp_path: Path,
) -> None:
    folder = Path(run_child("-c", KEPT, **{VARIABLE: str(tmp_path)}).strip())
    assert folder.parent == tmp_path / "numba"
    assert (folder / "search.py").read_bytes() == Path(search.__file__).read_bytes()


def test_another_checkout_shares_the_compiled_code_until_its_sources_differ(
    tmp_path: Path,
) -> None:
    root = Path(search.__file__).parents[3]
    copied = tmp_path / "copied"
    shutil.copytree(root / "engine", copied / "engine", ignore=IGNORED)
    variables = {VARIABLE: str(tmp_path), "PYTHONPATH": str(copied), "PYTHONSAFEPATH": "1"}
    here = run_child("-c", KEPT, **variables | {"PYTHONPATH": str(root)})
    assert run_child("-c", KEPT, **variables) == here
    with (copied / "engine/solvers/local/ruin.py").open("a") as file:
        file.write("# another source\n")
    assert run_child("-c", KEPT, **variables) != here


def test_code_for_other_features_of_a_processor_of_this_name_is_not_taken_for_its(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import llvmlite.binding

    monkeypatch.setenv(VARIABLE, str(tmp_path))
    find = machine._folder.__wrapped__
    here = find()
    features = llvmlite.binding.get_host_cpu_features()
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: features)
    assert find() == here
    features["another"] = True
    assert find() != here


def test_kept_code_that_is_anothers_is_not_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(machine, "IS_INTERPRETED", False)
    monkeypatch.setattr(machine, "_folder", lambda: tmp_path)
    machine.note_warm()
    assert (tmp_path / "complete").exists()
    monkeypatch.setattr(Path, "touch", refuse)
    machine.note_warm()


def test_code_compiled_without_optimisation_is_not_taken_for_the_users() -> None:
    assert run_child("-c", KEPT, NUMBA_OPT="0") != run_child("-c", KEPT, NUMBA_OPT="3")


@pytest.mark.parametrize(("share_of_core", "is_used"), [(1.0, True), (0.1, False)])
def test_compiled_code_is_not_waited_for_where_the_machine_is_too_busy_to_load_it(
    monkeypatch: pytest.MonkeyPatch, share_of_core: float, is_used: bool
) -> None:
    now_s = 100.0
    clocks = {"perf_counter": lambda: now_s, "process_time": lambda: share_of_core * now_s}
    monkeypatch.setattr(warming, "time", SimpleNamespace(**clocks))
    monkeypatch.setattr(warming, "IS_INTERPRETED", False)
    monkeypatch.setattr(warming, "is_warm", lambda: True)
    monkeypatch.setattr(warming, "is_loaded", lambda: False)
    monkeypatch.setattr(warming, "machine_code", lambda: "machine code")
    with warming.Warming() as some:
        now_s += 2.0
        assert (some.code(8.0) == "machine code") == is_used
        assert some.code(0.9 * machine.LOAD_S) is interpreted
        monkeypatch.setattr(warming, "is_loaded", lambda: True)
        assert some.code(0.1) == "machine code"


def test_what_a_process_has_loaded_serves_small_programs_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = lru_cache(maxsize=1)(lambda: "machine code")
    monkeypatch.setattr(machine, "machine_code", code)
    monkeypatch.setattr(machine, "is_warm", lambda: True)
    small = random_program(0, 3)
    assert not machine.is_loaded() and machine.code_at_hand(small, 60.0) is interpreted
    code()
    assert machine.is_loaded() and machine.code_at_hand(small, 0.1) == "machine code"


@pytest.mark.parametrize(
    ("touches", "seconds", "is_at_once"),
    [
        (machine.LARGE, 0.1, True),
        (machine.MEDIUM, machine.USEFUL_S, True),
        (machine.MEDIUM, 0.9 * machine.USEFUL_S, False),
        (machine.MEDIUM - 1, 60.0, False),
    ],
)
def test_code_is_loaded_at_once_where_an_interpreted_pass_takes_as_long(
    monkeypatch: pytest.MonkeyPatch, touches: int, seconds: float, is_at_once: bool
) -> None:
    monkeypatch.setattr(machine, "is_warm", lambda: True)
    monkeypatch.setattr(machine, "is_loaded", lambda: False)
    monkeypatch.setattr(machine, "machine_code", lambda: "machine code")
    program: Any = SimpleNamespace(touches=range(touches))
    assert (machine.code_at_hand(program, seconds) == "machine code") == is_at_once


def test_compiling_is_not_counted_and_ends_where_nobody_wants_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[str] = []
    told: list[str] = []
    wanted = 3

    def code(function: Callable[..., Any]) -> Callable[..., Any]:
        called.append(function.__name__)
        return function

    def progress(share: float, words: str) -> bool:
        assert share == 0.0
        told.append(words)
        return len(told) < wanted

    completed = Mock()
    monkeypatch.setattr(search, "machine_code", lambda: code)
    monkeypatch.setattr(search, "handles_of", lambda code, facts, state: (facts, state))
    monkeypatch.setattr(search, "is_warm", lambda: False)
    monkeypatch.setattr(search, "note_warm", completed)
    assert search.compile_all(progress) is interpreted
    assert len(told) == wanted and not completed.called
    early, wanted = len(called), 100
    told.clear()
    assert search.compile_all(progress) is code
    assert len(called) - early > early and completed.called
    assert told and all(words.endswith(NOT_COUNTED) for words in told)


def test_a_search_by_moves_that_nobody_wants_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    program, asked = random_program(3, 200), list[str]()
    monkeypatch.setattr(search, "is_warm", lambda: False)
    monkeypatch.setattr(search, "machine_code", lambda: interpreted)
    budget = Budget(60.0, 0, lambda _, words: bool(asked.append(words)), options={"moves": 50})
    plan = solve("local", program, budget)
    assert plan.notes["moves"] == 0 and len(plan.stays) < len(solve("density", program).stays)


def test_nothing_of_numba_is_imported_for_a_search_that_is_interpreted() -> None:
    words = (
        "import sys; from engine.program.library import load_sample;"
        "from engine.solvers.local.search import Run;"
        "run = Run(load_sample('teach-prefetch'), 0); run.build(lambda: True); run.make_moves(3);"
        "print(run.moves, 'numba' in sys.modules, 'jax' in sys.modules)"
    )
    assert run_child("-c", words).split() == ["3", "False", "False"]

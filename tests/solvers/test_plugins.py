"""Solvers of other packages: found by their names, imported when they run, in nobody's way."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mallocmuzero
from benchmarks import solver_table
from benchmarks.settings import Settings
from benchmarks.solver_table import own_names
from engine.cli import main
from engine.errors import BrokenSolverError, SolverError, UnknownNameError
from engine.solvers import SOLVERS, find
from engine.workflows.compare import compare
from mallocmuzero import Budget
from tests.solvers.broken_plugin import plugins_of

HERE = "tests.solvers.broken_plugin"
PROGRAM = mallocmuzero.load("teach-prefetch")


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    solvers = {
        "fine": f"{HERE}:fine",
        "greedy": f"{HERE}:raises",
        "raises": f"{HERE}:raises",
        "leaves": f"{HERE}:leaves",
        "returns_none": f"{HERE}:returns_none",
        "stops": f"{HERE}:stops",
        "closes": f"{HERE}:closes",
        "interrupted": f"{HERE}:interrupted",
        "cannot": f"{HERE}:cannot",
        "prints": f"{HERE}:prints",
        "prints_past_python": f"{HERE}:prints_past_python",
        "notes_nan": f"{HERE}:notes_nan",
        "overlaps": f"{HERE}:overlaps",
        "numpy_numbers": f"{HERE}:numpy_numbers",
        "is missing": "no_such_module_at_all:solve",
        "lost_name": f"{HERE}:no_such_function",
    }
    with plugins_of(tmp_path, monkeypatch, **solvers):
        yield


def test_a_plugin_is_a_solver_like_others(plugins: None) -> None:
    assert "fine" in mallocmuzero.solver_names(PROGRAM)
    assert find("fine").description == "of the package broken-plugin"
    assert "fine" not in own_names() and "greedy" in own_names()
    named = Settings(solvers=("fine",), programs=("teach-prefetch",), seconds=1.0)
    assert [run.solver for run in solver_table.runs(named)] == ["fine"]
    heard: list[tuple[float, str]] = []

    def progress(share: float, word: str) -> bool:
        heard.append((share, word))
        return True

    plan = mallocmuzero.solve(PROGRAM, "fine", seed=7, progress=progress)
    assert (plan.solver, plan.notes["seed"], heard) == ("fine", 7, [(0.5, "half of it")])
    assert mallocmuzero.check(PROGRAM, plan)


def test_a_name_that_is_taken_gets_its_packages_before_it(plugins: None) -> None:
    assert mallocmuzero.solve(PROGRAM, "greedy").solver == "greedy"
    with pytest.raises(BrokenSolverError, match="a key"):
        mallocmuzero.solve(PROGRAM, "broken-plugin:greedy")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises", r"raises of broken-plugin failed \(KeyError: 'a key\\nof two lines'\)"),
        ("leaves", r"leaves of broken-plugin failed \(SystemExit: goodbye\)"),
        ("stops", r"stops of broken-plugin failed \(Stopped: enough\)"),
        ("closes", r"closes of broken-plugin failed \(GeneratorExit:\)"),
        ("notes_nan", "returned a malformed plan .*its notes: cannot be written as JSON"),
        ("returns_none", "returned a NoneType, not a Plan"),
        ("overlaps", "the plan of overlaps breaks the rule"),
        ("numpy_numbers", "returned a malformed plan .*expected int, got numpy.int64"),
        ("is_missing", r"cannot be loaded \(ModuleNotFoundError: .*no_such_module_at_all"),
        ("lost_name", r"cannot be loaded \(AttributeError: .*no_such_function"),
    ],
)
def test_a_broken_one_says_what_is_wrong_in_one_line(plugins: None, name: str, reason: str) -> None:
    with pytest.raises(BrokenSolverError, match=reason) as caught:
        mallocmuzero.solve(PROGRAM, name)
    assert len(str(caught.value).splitlines()) == 1


def test_what_it_refuses_is_told_as_its_own(plugins: None) -> None:
    with pytest.raises(SolverError) as caught:
        mallocmuzero.solve(PROGRAM, "cannot")
    assert type(caught.value) is SolverError
    assert str(caught.value) == "cannot of broken-plugin: it is too large"


def test_an_interrupt_passes(plugins: None) -> None:
    with pytest.raises(KeyboardInterrupt):
        mallocmuzero.solve(PROGRAM, "interrupted")


def test_what_it_prints_is_not_among_the_results(
    plugins: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", "teach-prefetch", "--solver", "prints", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["solver"] == "prints"
    assert err == "at work\n"

    def progress(share: float, word: str) -> bool:
        print(f"{share:.0%}: {word}")
        return True

    mallocmuzero.solve(PROGRAM, "fine", progress=progress)
    assert capsys.readouterr() == ("50%: half of it\n", "")


def test_with_json_what_it_prints_past_python_is_not_there_either(plugins: None) -> None:
    command = [sys.executable, "-m", "engine", "solve", "teach-prefetch", "--json", "--solver"]
    done = subprocess.run([*command, "prints_past_python"], capture_output=True, check=True)
    assert json.loads(done.stdout)["solver"] == "prints_past_python"
    said = [b"at work", b"at work below", b"at work beside", b"at work in C"]
    assert sorted(done.stderr.splitlines()) == said
    gone = 'exec "$@" 2>&-'
    done = subprocess.run(
        ["sh", "-c", gone, "sh", *command, "prints_past_python"], capture_output=True, check=True
    )
    assert json.loads(done.stdout)["solver"] == "prints_past_python"


def test_others_are_compared_beside_broken_ones(plugins: None) -> None:
    names = ["leaves", "fine", "is_missing", "greedy"]
    rows = {row["solver"]: row for row in compare(PROGRAM, names, Budget(1.0))["results"]}
    assert list(rows) == ["fine", "greedy", "leaves", "is_missing"]
    assert rows["fine"]["valid"] and rows["greedy"]["valid"]
    assert "goodbye" in rows["leaves"]["violation"]


def test_a_plugin_is_imported_when_it_runs_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_to_import.py").write_text("raise RuntimeError('imported')\n")
    with plugins_of(tmp_path, monkeypatch, late="slow_to_import:solve"):
        assert "late" in mallocmuzero.solver_names(PROGRAM)
        assert "slow_to_import" not in sys.modules
        with pytest.raises(SolverError, match="RuntimeError: imported"):
            mallocmuzero.solve(PROGRAM, "late")


def test_what_is_not_installed_any_more_is_unknown() -> None:
    assert "fine" not in SOLVERS
    with pytest.raises(UnknownNameError):
        find("fine")

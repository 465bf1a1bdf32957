"""The section `exported`: plans that no fit has seen count apart from those that one has."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import exported
from benchmarks.rows import Row, read
from benchmarks.settings import Settings
from engine.errors import PlanError
from engine.solvers import Budget


def row(key: list[object], error: float, was_fitted: bool) -> Row:
    gains = {"gain": 0.1, "predicted_gain": 0.1, "set": "samples"}
    return {"key": key, "error": error, "was_fitted": was_fitted, **gains}


def test_errors_have_no_sign_and_what_was_fitted_to_stands_apart() -> None:
    told = [("a", -0.03, False), ("a", 0.01, False), ("b", 0.002, False), ("c", 0.0, True)]
    rows = [row([name, "local", 10.0, 0], error, fitted) for name, error, fitted in told]
    new, fitted = exported.lines_of(rows)
    assert new.startswith("samples, seen by no fit: 3 plans of 2 programs, median error 1.00%")
    assert "worst 3.00% (goal 2%), 2 within 2%" in new
    held_out = exported.lines_of([{**rows[0], "set": "held out"}, rows[1]])
    assert [line.split(":")[0] for line in held_out] == [
        "samples, seen by no fit",
        "held out, seen by no fit",
    ]
    assert fitted.startswith(
        "samples, among those fitted to: 1 plans of 1 programs, median error 0.00%"
    )


def test_gains_of_each_solver_are_told_as_planned_placed_and_compiled() -> None:
    rows = [
        {**row([name, "local", 10.0, 0], 0.0, False), "planned_gain": planned}
        for name, planned in (("a", 0.2), ("b", 0.4))
    ]
    rows.append(row(["a", "greedy", 10.0, 0], 0.0, False))
    assert exported.lines_of(rows)[1:] == [
        "samples, local: 2 plans, below the default by 30.0% as planned (simulated),"
        " 10.0% as placed (simulated), 10.0% compiled"
    ]


def test_what_has_a_row_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled: list[str] = []

    def measured(name: str, solver: str, budget: Budget) -> Row:
        compiled.append(f"{name} {solver} {budget.seconds:.0f} s")
        if solver == "random":
            raise PlanError("nothing to steer to")
        found = row([], 0.01, False)
        del found["key"]
        return found

    monkeypatch.setattr(exported, "ROWS", tmp_path / "exported.json")
    monkeypatch.setattr(exported, "_measured", measured)
    for solvers in (("local",), ("local", "random", "greedy")):
        exported.run("exported", Settings(programs=("t5-v5e-b24",), solvers=solvers))
    assert compiled == [f"t5-v5e-b24 {solver} 10 s" for solver in ("local", "random", "greedy")]
    assert len(read(tmp_path / "exported.json")) == 2
    said = capsys.readouterr().out
    assert "2 plans of 1 programs" in said
    assert "t5-v5e-b24 random: nothing to steer to" in said

"""The section `fidelity` predicts the compiles of our own plans by costs that never saw them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import fidelity
from benchmarks.rows import read
from benchmarks.settings import Settings
from engine.compiler.calibrate import fit_costs, total_error
from engine.compiler.observations import load_observations, observations_path
from engine.program import library

NAME, COMPILE = "lstm-v5e-b128", "plan-3"


def test_a_plan_is_predicted_by_all_other_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fidelity, "RESULTS", tmp_path)
    fidelity.run("fidelity", Settings(programs=(NAME,)))
    rows = {row["compile"]: row for row in read(tmp_path / "fidelity.json")}
    program = library.load_sample(NAME)
    found = load_observations(observations_path(NAME), program)
    (one,) = (c for c in found.compiles if c.name == COMPILE)
    others = [c.seen for c in found.compiles if (c.seen.is_fast != one.seen.is_fast).any()]
    fit = fit_costs(program, found.pools, found.slow.seen, others)
    assert rows[COMPILE]["error"] == pytest.approx(total_error(program, fit, one.seen), rel=1e-5)
    assert rows[COMPILE]["error"] != 0
    assert set(rows) == {c.name for c in found.compiles if c.name.startswith("plan-")}
    assert "samples: 2 plans of 1 programs" in capsys.readouterr().out

"""The section `fidelity` predicts the compiles of our own plans by costs that never saw them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import fidelity
from benchmarks.rows import keep, read
from benchmarks.settings import Settings
from engine.compiler.costs.calibrate import fit_costs, total_error
from engine.compiler.costs.observations import load_observations, observations_path
from engine.compiler.reading.observation import Observation
from engine.program import library

NAME, COMPILE = "lstm-v5e-b128", "plan-3"


def test_a_plan_is_predicted_by_all_other_compiles_and_by_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fidelity, "RESULTS", tmp_path)
    fidelity.run("fidelity", Settings(programs=(NAME,)))
    rows = {row["compile"]: row for row in read(tmp_path / "fidelity.json")}
    program = library.load_sample(NAME)
    found = load_observations(observations_path(NAME), program)
    names = [c.name for c in found.compiles]
    seen = [c.seen for c in found.compiles]
    one = seen[names.index(COMPILE)]

    def error(known: list[Observation]) -> float:
        fit = fit_costs(program, found.pools, found.slow.seen, known)
        return total_error(program, fit, one)

    others = [s for s in seen if (s.is_fast != one.is_fast).any()]
    row = rows[COMPILE]
    assert row["others"] == pytest.approx(error(others), rel=1e-5)
    assert row["before"] == pytest.approx(error(seen[: names.index(COMPILE)]), rel=1e-5)
    assert len({row["others"], row["before"], error(seen)}) == 3
    assert set(rows) == {name for name in names if name.startswith("plan-")}
    others_row = {"program": "another", "set": "samples"}
    keep(tmp_path / "fidelity.json", [others_row, {**row, "others": 1.0}])
    fidelity.run("fidelity", Settings(programs=(NAME,)))
    assert read(tmp_path / "fidelity.json") == [others_row, *rows.values()], "others' rows stay"
    assert f"samples: {len(rows)} plans of 1 programs" in capsys.readouterr().out

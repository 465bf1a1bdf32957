"""The committed rows: they reach the goals, none is missing, and the figures can be printed."""

from __future__ import annotations

import pytest

from benchmarks import figures
from benchmarks.rows import rows_of
from benchmarks.settings import Settings


def test_every_figure_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    figures.run("figures", Settings())
    told = [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()]
    assert set(told) == set(figures.FIGURES)


def test_plans_of_ours_take_what_was_predicted_and_none_is_below_its_bound() -> None:
    assert max(abs(row["others"]) for row in rows_of("fidelity")) <= 0.02
    assert not any(row["invalid"] or row["below"] for row in rows_of("soundness"))


def test_a_program_that_was_not_measured_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in rows_of("solver_table") if row["key"][:2] != ["t5-v5e-b24", "local"]]
    monkeypatch.setattr(figures, "rows_of", lambda section: rows)
    with pytest.raises(ValueError, match="have no row"):
        figures.closed("local", 10.0)

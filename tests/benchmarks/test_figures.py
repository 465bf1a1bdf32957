"""The committed rows: they reach the goals, none is missing, and the figures can be printed."""

from __future__ import annotations

import re

import pytest

from benchmarks import figures
from benchmarks.rows import MARK, RESULTS, Row, dependencies, rows_of
from benchmarks.settings import Settings

NAMES = {"solver_table": "table", "agent_speed": "search-speed", "agent_ablations": "ablations"}
"""The sections that do not have the name of their file of rows."""


def test_every_figure_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    figures.run("figures", Settings())
    told = " ".join(line.partition(": ")[0] for line in capsys.readouterr().out.splitlines())
    files = {path.stem for path in RESULTS.glob("*.json") if rows_of(path.stem)}
    # Read by the presets, and by the agent's own page.
    files -= {"fast_memory", "baselines"}
    sections = {NAMES.get(name, name) for name in files}
    assert sections <= set(re.findall(r"[\w-]+", told)) and len(sections) > 20


def test_plans_of_ours_take_what_was_predicted_and_none_is_below_its_bound() -> None:
    assert max(abs(row["others"]) for row in rows_of("fidelity")) <= 0.02
    assert {(row["invalid"], row["below"]) for row in rows_of("soundness")} == {(0, 0)}


def test_a_program_that_was_not_measured_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in rows_of("solver_table") if row["key"][:2] != ["t5-v5e-b24", "local"]]
    monkeypatch.setattr(figures, "rows_of", lambda section: rows)
    with pytest.raises(ValueError, match="have no row"):
        figures.contested_rows("local", 10.0)


def test_a_figure_with_stale_rows_is_marked() -> None:
    name = "t5-v5e-b24"
    row = {"program": name, **dependencies("reading", name)}
    sets = {"samples": [row], "held out": [row, {**row, "content_hash": "another"}], "large": []}
    found = figures.figure("reading", "rows", sets, lambda rows: str(len(rows)))
    assert str(found) == f"reading: rows: samples 1; held out 2 {MARK}"


def test_tables_stand_where_the_page_has_a_place_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = figures.Figure("reading", "rows", {"samples": "1", "large": "3"})
    two = figures.Figure("plans", "rows", {"large": "2"})
    monkeypatch.setattr(figures, "GROUPS", {"costs": (lambda: iter([one, two]),)})
    page = "before\n<!-- figures: costs -->\nold\n<!-- end -->\nafter\n"
    written = figures.written(page)
    assert written.splitlines() == [
        "before",
        "<!-- figures: costs -->",
        "| section: what | samples | large |",
        "| --- | --- | --- |",
        "| `reading`: rows | 1 | 3 |",
        "| `plans`: rows |  | 2 |",
        "<!-- end -->",
        "after",
    ]
    assert figures.written(written) == written
    with pytest.raises(ValueError, match="no place"):
        figures.written("nothing")


def test_what_is_counted_is_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("alexnet-v4-b24", "t5-v5e-b24", "bert-v5e-b32")
    rows: list[Row] = [{"program": name, **dependencies("soundness", name)} for name in names]
    rows[1]["rules"] -= 1
    monkeypatch.setattr(figures, "rows_of", lambda section: rows)
    told = figures.counted("soundness", "plans", names, lambda rows: str(len(rows)))
    assert str(told) == f"soundness: plans: 2; no row of today: {names[1]}"


def test_a_search_without_a_baseline_is_ahead_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "offloadtrain-v5e-b8192-train"
    row = {"key": [name, 0], "ours": 0.2, "predicted": 0.1}

    def told(**more: float) -> str:
        monkeypatch.setattr(figures, "rows_of", lambda _: [{**row, **more}])
        return "\n".join(str(one) for one in figures.tuned() if one.found)

    assert f"{name} 20.0, 10.0" in told()
    assert "random rules" not in told() and "random rules" in told(chosen=0.1)

"""The pages are what the committed rows give; gaps are held to the bounds of now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import agent_tables, report, runs
from benchmarks.rows import NOISE, RESULTS
from engine.program import library

NAME = "t5-v5e-b24"


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    return report.pages()


def test_the_committed_pages_are_what_the_rows_give(pages: dict[Path, str]) -> None:
    assert {path.name for path in pages} == {"README.md", "agent.md", "solvers.md"}
    for path, text in pages.items():
        assert path.parent == RESULTS
        assert path.read_text() == text, f"{path.name}: run `python -m benchmarks report`"


def test_ablations_are_held_to_the_best_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = library.find_sample(NAME)
    assert entry.xla_latency_s is not None
    known = {"latency_s": 0.75 * entry.xla_latency_s, "xla_s": entry.xla_latency_s, "bound_s": 0.0}
    gone = {"key": ["gone", "muzero", 60.0, 0, "default"], "program": "gone", **known}
    row = {"key": [NAME, "muzero", 60.0, 0, "default"], "program": NAME, **known}
    monkeypatch.setattr(report, "rows_of", lambda _: [row, gone])
    halfway = replace(entry, bound_s=0.5 * entry.xla_latency_s)
    monkeypatch.setattr(runs.library, "find_sample", lambda _: halfway)
    (found,) = report._runs("ablations")
    assert found["gap_closed"] == pytest.approx(0.5)


def test_a_win_over_xla_is_more_than_noise() -> None:
    excess = {"a": 0.1, "b": 0.1, "c": 0.1}
    closed = {"a": NOISE, "b": -0.1, "c": 0.5}
    assert agent_tables._wins(closed, excess) == "1 of 3"

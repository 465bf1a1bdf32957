"""`portfolio` against `local`: pairs of two versions of the code are told."""

from __future__ import annotations

from benchmarks import portfolio
from benchmarks.rows import Row
from engine.program import library

ENTRY = library.find_sample("bert-v5e-b32")


def row(solver: str, seconds: float, on: str, share: float, commit: str) -> Row:
    assert ENTRY.xla_latency_s is not None and ENTRY.bound_s is not None
    latency_s = ENTRY.xla_latency_s - share * (ENTRY.xla_latency_s - ENTRY.bound_s)
    known = {"commit": commit, "xla_s": ENTRY.xla_latency_s, "latency_s": latency_s}
    return {"key": [ENTRY.name, solver, seconds, 0, on], "program": ENTRY.name, **known}


def test_pairs_of_two_commits_are_told() -> None:
    rows = [
        row("local", 10.0, "1 core", 0.5, "a"),
        row("portfolio", 10.0, "1 core", 0.6, "a"),
        row("portfolio", 10.0, "2 cores", 0.4, "b"),
    ]
    even, uneven = portfolio.duels(rows)
    assert (even.is_fair, uneven.is_fair) == (True, False)
    assert (even.counts, uneven.counts) == ("1, 0, 0", "0, 0, 1")
    told = portfolio.table(rows).splitlines()[2:]
    assert told == [
        "| 10 | 1 | 1 | 50.0% | 60.0% | 1, 0, 0 | 0.0% |",
        "| 10 | 2 | 1, some of two commits | 50.0% | 40.0% | 0, 0, 1 | 10.0% |",
    ]

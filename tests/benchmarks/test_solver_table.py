"""The table of solvers: which programs, which headings, and gaps to the bound of the index."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import solver_table
from benchmarks.settings import Settings
from engine.program import library
from engine.program.model import Program


def row(program: str, latency_s: float) -> dict[str, object]:
    xla_s = library.find_sample(program).xla_latency_s
    return {"program": program, "latency_s": latency_s, "xla_s": xla_s, "bound_s": 0.0}


def test_held_out_programs_are_in_it_under_a_heading_of_their_own() -> None:
    names = solver_table.programs(Settings())
    assert set(names) >= {e.name for e in library.held_out() if e.is_contested} != set()
    assert solver_table.kind("mamba-v6e-b32") == solver_table.HELD_OUT
    assert solver_table.kind("bert-v5e-b32") == solver_table.OTHER_FAMILIES
    assert solver_table.kind("t5-v5e-b24") == solver_table.TRAINING
    assert {solver_table.kind(name) for name in names} <= set(solver_table.KINDS)


def test_a_row_measured_to_a_looser_bound_is_held_to_the_best_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = library.find_sample("t5-v5e-b24")
    assert entry.xla_latency_s is not None
    halfway = replace(entry, bound_s=0.5 * entry.xla_latency_s)
    monkeypatch.setattr(solver_table.library, "find_sample", lambda name: halfway)
    found = solver_table.with_best_bound(row("t5-v5e-b24", 0.75 * entry.xla_latency_s))
    assert found["bound_s"] == halfway.bound_s
    assert found["gap_closed"] == pytest.approx(0.5)


def test_solvers_that_end_by_themselves_run_once() -> None:
    wanted = Settings(programs=("t5-v5e-b24",), solvers=("greedy", "local", "portfolio"))
    found = [(run.solver, run.seconds) for run in solver_table.runs(wanted)]
    assert found.count(("greedy", 1.0)) == 1
    assert [seconds for name, seconds in found if name == "local"] == [1.0, 10.0, 60.0]
    assert len(found) == 7


def test_programs_measured_with_several_seeds_have_a_line() -> None:
    def measured(program: str, seed: int, closed: float) -> dict[str, object]:
        return {"key": [program, "local", 60.0, seed, ""], "gap_closed": closed}

    rows = [measured("a", 0, 0.5), measured("a", 2, 0.25), measured("b", 0, 1.0)]
    lines = solver_table.table_of_seeds(rows).splitlines()[2:]
    assert lines == ["| `local` | 60 | a | 0, 2 | 25.0% | 50.0% |"]


def test_faster_than_a_plan_that_was_read_in_part_is_no_win(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = library.load_sample("teach-prefetch")
    parts = {"whole": 1.0, "part": 0.98}

    def load(name: str) -> Program:
        plan = {"notes": {"left_out_saving_share": 1.0 - parts[name]}}
        return replace(program, provenance={"xla_plan": plan})

    monkeypatch.setattr(solver_table.library, "load_sample", load)
    solver_table.is_xla_a_measure.cache_clear()
    rows = [
        {
            "key": [name, "local", 60.0, 0, ""],
            "program": name,
            "latency_s": 1.0,
            "xla_s": 2.0,
            "gap_closed": 0.5,
        }
        for name in parts
    ]
    (line,) = solver_table.table(rows, 2).splitlines()[2:]
    (partial,) = solver_table.table(rows[1:], 2).splitlines()[2:]
    solver_table.is_xla_a_measure.cache_clear()
    assert line == "| `local` † | 60 | 2 of 2 | 50.0% | 50.0% | 50.0% | 1 of 1 |"
    assert partial == "| `local` † | 60 | 1 of 2 |  |  |  | 0 of 0 |", "no mean of some programs"


def test_an_advantage_that_is_noise_is_no_win() -> None:
    name = "t5-v5e-b24"
    xla_s = library.find_sample(name).xla_latency_s
    assert xla_s is not None
    for share, wins in ((1e-9, 0), (1e-3, 1)):
        known = {"program": name, "xla_s": xla_s, "latency_s": (1 - share) * xla_s, "rules": None}
        some = [{"key": [name, "local", 60.0, 0, ""], "gap_closed": 0.0, **known}]
        (line,) = solver_table.table(some, 1).splitlines()[2:]
        assert line.startswith("| `local` | 60 |"), "not stale"
        assert line.endswith(f"| {wins} of 1 |")


def test_the_page_says_how_many_cores_those_had_that_get_all() -> None:
    def measured(solver: str, cores: int | None) -> dict[str, object]:
        known = {} if cores is None else {"cores": cores}
        return {"key": ["a", solver, 60.0, 0, ""], **known}

    assert solver_table.cores_in_words([measured("local", 1), measured("portfolio", 4)]) == "4"
    some = [measured("portfolio", 4), measured("portfolio", None)]
    assert solver_table.cores_in_words(some) == "all of the machine's"

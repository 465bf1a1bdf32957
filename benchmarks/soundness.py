"""The section `soundness`: is any valid plan faster than what is proven to be the least?

The local search passes as many good plans as one cares to look at. Each is checked and
simulated, and held to the best bound known; the search's own latency is held to the simulator's.
`--games` says how many plans in all. Rows count while program, bound and rules are what they were.
"""

from __future__ import annotations

from benchmarks.rows import RESULTS, Row, commit, dependencies, is_current, keep, read
from benchmarks.settings import Settings
from engine.plan.check import check
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.library import SampleEntry
from engine.solvers.local.compiled import Code
from engine.solvers.local.search import Run, compile_all
from engine.solvers.local.state import COMPUTE_S, STALL_S

STRIDE = 20
"""Moves of the search from one plan to the next."""
TOLERANCE = 1e-9
"""The share by which a latency may be below a bound: both are sums of floats."""


def run(section: str, settings: Settings) -> None:
    """Look at plans of all programs, or of those asked for; the rows of others stay if current."""
    path = RESULTS / f"{section}.json"
    every = bounded()
    entries = [e for e in every if not settings.programs or e.name in settings.programs]
    code = compile_all(lambda share, message: True)
    for entry in entries:
        row = _row(entry, -(-settings.num_games() // len(entries)), settings.seed, code)
        print(_line(row), flush=True)
        others = [r for r in read(path) if r["program"] != entry.name]
        keep(path, [*(r for r in others if is_current(section, r)), row])
    rows = read(path)
    without = {entry.name for entry in every} - {row["program"] for row in rows}
    print(
        f"{sum(row['plans'] for row in rows):,} plans of {len(rows)} programs:"
        f" {sum(row['invalid'] for row in rows)} break a rule,"
        f" {sum(row['below'] for row in rows)} are below the bound;"
        f" the search and the simulator differ by {max(row['apart'] for row in rows):.1e} at most"
    )
    if without:
        print(f"without a row of today: {', '.join(sorted(without))}")


def bounded() -> list[SampleEntry]:
    """The programs of all sets of which a bound is known."""
    entries = (*library.index(), *library.held_out(), *library.large(), *library.real())
    return [entry for entry in entries if entry.bound_s is not None]


def _row(entry: SampleEntry, plans: int, seed: int, code: Code) -> Row:
    """The row of `plans` plans of one program; latencies as multiples of the bound.

    Stays that find no places are no plan; the search moves on to others.
    """
    assert entry.bound_s is not None
    program = library.load_entry(entry)
    run = Run(program, seed, code=code)
    run.build(lambda: True)
    invalid, apart = 0, 0.0
    ratios: list[float] = []
    while len(ratios) < plans:
        run.make_moves(run.moves + STRIDE)
        plan = run.present_plan()
        if plan is None:
            continue
        latency_s = simulate(program, plan).latency_s
        invalid += check(program, plan) is not None
        ratios.append(latency_s / entry.bound_s)
        own_s = float(run.state.sums[COMPUTE_S] + run.state.sums[STALL_S])
        apart = max(apart, abs(own_s / latency_s - 1.0))
    return {
        "program": entry.name,
        **dependencies("soundness", entry.name),
        "plans": plans,
        "invalid": invalid,
        "below": sum(ratio < 1.0 - TOLERANCE for ratio in ratios),
        "least": min(ratios),
        "most": max(ratios),
        "apart": apart,
        "bound_method": entry.bound_method,
        "commit": commit(),
    }


def _line(row: Row) -> str:
    return (
        f"{row['program']:28} {row['plans']:6} plans, {row['invalid']} break a rule,"
        f" {row['below']} below the bound ({row['bound_method']}), from {row['least']:.5f}"
        f" to {row['most']:.5f} of it; search and simulator {row['apart']:.1e} apart"
    )

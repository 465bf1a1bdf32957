"""The index of the captured samples: what the compiler's plan, the bound and our solvers reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from engine.analysis.catalogue_readme import write_readme
from engine.plan.bounds import lower_bound
from engine.plan.simulate import simulate
from engine.program.io import content_hash, load
from engine.program.library import INDEX_NAME, SampleEntry, describe, index, write_index
from engine.program.model import Program
from engine.solvers import Budget, solve

QUICK_SOLVERS = ("xla_compiled", "xla_like", "greedy")


def write_catalogue(folder: Path, names: Sequence[str], note: Callable[[str], None]) -> None:
    """Write `folder/index.json` for the named program files; better known plans are kept."""
    known = {entry.name: entry for entry in index(folder)} if _has_index(folder) else {}
    entries = []
    for name in names:
        note(f"index: {name}")
        entries.append(_entry(load(folder / f"{name}.json.gz"), known.get(name)))
    write_index(entries, folder / INDEX_NAME)
    write_readme(entries, folder / "README.md")


def _has_index(folder: Path) -> bool:
    return (folder / INDEX_NAME).exists()


def _entry(program: Program, before: SampleEntry | None) -> SampleEntry:
    times = {n: simulate(program, solve(n, program, Budget())).latency_s for n in QUICK_SOLVERS}
    best = min(times, key=lambda n: times[n])
    best_s, best_solver = times[best], best
    if (
        before is not None
        and before.best_s is not None
        and before.best_solver is not None
        and before.content_hash == content_hash(program)
        and before.best_s < best_s
    ):
        best_s, best_solver = before.best_s, before.best_solver
    facts = program.provenance
    return describe(
        program,
        f"{program.name}.json.gz",
        _title(program),
        model=facts["model"],
        batch=facts["batch"],
        train=facts["train"],
        xla_latency_s=times["xla_compiled"],
        bound_s=lower_bound(program).bound_s,
        best_s=best_s,
        best_solver=best_solver,
        fit_error=facts["fit"]["worst_held_out_error"],
    )


def _title(program: Program) -> str:
    facts = program.provenance
    kind = "training step" if facts["train"] else "inference"
    description = str(facts["description"]).rstrip(".")
    return f"{description}, {kind}, batch {facts['batch']}, {program.hardware.name}"

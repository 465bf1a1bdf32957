"""The index of captured programs: what the compiler's plan, the bound and our solvers reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.analysis.catalogue_readme import write_readme
from engine.errors import PlanError
from engine.plan.bounds import Bound, lower_bound
from engine.plan.check import check
from engine.plan.io import load_plan, save_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.io import content_hash, load, save
from engine.program.library import INDEX_NAME, SampleEntry, describe, index, load_entry, write_index
from engine.program.model import Program
from engine.solvers import Budget, solve

QUICK_SOLVERS = ("xla_compiled", "xla_like", "greedy")
"""Solvers whose plans anybody can have at once, so that no file is kept of these plans."""
PLANS = "plans"
ROUNDING = 1e-9
"""Latencies that differ by a smaller share are equal."""


def write_catalogue(folder: Path, names: Sequence[str], note: Callable[[str], None]) -> None:
    """Write `folder/index.json` for the named program files; better known plans are kept."""
    known = {entry.name: entry for entry in index(folder)} if _has_index(folder) else {}
    entries = []
    for name in names:
        note(f"index: {name}")
        entries.append(_entry(load(folder / f"{name}.json.gz"), known.get(name)))
    _write(folder, entries)


def keep_best(folder: Path, name: str, plan: Plan) -> bool:
    """Make `plan` the best known of a captured sample; False if a better one or its like is known.

    Raises PlanError if it breaks a rule, ProgramFormatError if the sample's file was changed,
    KeyError if no sample has that name.
    """
    entries = {entry.name: entry for entry in index(folder) if entry.folder == folder}
    entry = entries[name]
    program = load_entry(entry)
    violation = check(program, plan)
    if violation is not None:
        raise PlanError(f"{name}: the plan of {plan.solver} breaks {violation.rule}")
    best_s = simulate(program, plan).latency_s
    if entry.best_s is not None and best_s >= entry.best_s * (1 - ROUNDING):
        return False
    file = f"{PLANS}/{name}.json.gz"
    (folder / PLANS).mkdir(exist_ok=True)
    save_plan(plan, folder / file)
    entries[name] = replace(entry, best_s=best_s, best_solver=plan.solver, best_plan=file)
    _write(folder, list(entries.values()))
    return True


def recost(entry: SampleEntry, program: Program) -> None:
    """Put the same program with other costs in place of a captured one.

    The bound is made anew. The best plan known stays, as what it comes to now, where it is valid
    still.
    """
    known = None if entry.best_plan_path is None else load_plan(entry.best_plan_path)
    save(program, entry.path)
    _write(
        entry.folder,
        [
            _entry(program, None) if other.name == entry.name else other
            for other in index(entry.folder)
            if other.folder == entry.folder
        ],
    )
    if known is None:
        return
    plan = replace(known, program_hash=content_hash(program))
    if check(program, plan) is None:
        keep_best(entry.folder, entry.name, plan)


def keep_bound(folder: Path, name: str, bound: Bound) -> bool:
    """Make `bound` that of a captured sample; False if one that is as high is known.

    A known bound does not count if the index does not say how it was proven. Raises KeyError if no
    sample has that name.
    """
    entries = {entry.name: entry for entry in index(folder) if entry.folder == folder}
    entry = entries[name]
    known_s = entry.bound_s if entry.bound_method is not None else None
    is_higher = known_s is None or bound.bound_s > known_s
    if not is_higher and bound.seconds <= (entry.bound_seconds or 0.0):
        return False
    bound_s = bound.bound_s if is_higher else known_s
    entries[name] = replace(
        entry, bound_s=bound_s, bound_method=bound.method, bound_seconds=round(bound.seconds, 1)
    )
    _write(folder, list(entries.values()))
    return is_higher


def _write(folder: Path, entries: Sequence[SampleEntry]) -> None:
    """The index, the table, and no plan that the index does not name."""
    write_index(entries, folder / INDEX_NAME)
    write_readme(entries, folder / "README.md")
    named = {folder / entry.best_plan for entry in entries if entry.best_plan}
    for path in (folder / PLANS).glob("*.json.gz"):
        if path not in named:
            path.unlink()


def _has_index(folder: Path) -> bool:
    return (folder / INDEX_NAME).exists()


def _entry(program: Program, before: SampleEntry | None) -> SampleEntry:
    if before is not None and before.content_hash != content_hash(program):
        before = None
    times = {n: simulate(program, solve(n, program, Budget())).latency_s for n in QUICK_SOLVERS}
    best = min(times, key=lambda n: times[n])
    best_s, best_solver, best_plan = times[best], best, None
    if (
        before is not None
        and before.best_s is not None
        and before.best_solver is not None
        and before.best_s < best_s
    ):
        best_s, best_solver, best_plan = before.best_s, before.best_solver, before.best_plan
    facts = program.provenance
    return describe(
        program,
        f"{program.name}.json.gz",
        _title(program),
        model=facts["model"],
        batch=facts["batch"],
        train=facts["train"],
        xla_latency_s=times["xla_compiled"],
        **_bound_facts(program, before),
        best_s=best_s,
        best_solver=best_solver,
        best_plan=best_plan,
        fit_error=facts["fit"]["worst_held_out_error"],
    )


def _bound_facts(program: Program, before: SampleEntry | None) -> dict[str, Any]:
    """The linear program's bound, or the index's own if that was proven by branching."""
    if before is not None and (before.bound_method or "").startswith("mip"):
        names = ("bound_s", "bound_method", "bound_seconds")
        return {name: getattr(before, name) for name in names}
    bound = lower_bound(program)
    seconds = round(bound.seconds, 1)
    return {"bound_s": bound.bound_s, "bound_method": bound.method, "bound_seconds": seconds}


def _title(program: Program) -> str:
    facts = program.provenance
    kind = "training step" if facts["train"] else "inference"
    description = str(facts["description"]).rstrip(".")
    return f"{description}, {kind}, batch {facts['batch']}, {program.hardware.name}"

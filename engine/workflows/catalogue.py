"""The index of captured programs, and `sample_programs/README.md` made from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.errors import PlanError
from engine.files import write_bytes
from engine.hardware.unestimated_share import NOTABLE_SHARE, unestimated_share
from engine.plan.bounds import Bound, lower_bound
from engine.plan.bounds.bound import OBSERVED
from engine.plan.check import check
from engine.plan.io import load_plan, save_plan
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.io import content_hash, load, save
from engine.program.library import (
    HELD_OUT,
    INDEX_NAME,
    LARGE,
    REAL,
    SampleEntry,
    describe,
    index,
    load_entry,
    write_index,
)
from engine.program.model import Program
from engine.program.proof import gap, is_optimal
from engine.program.provenance import fastest_compile_s
from engine.solvers import Budget, solve

_HEAD = """# Sample programs

Real programs, compiled by the real XLA TPU compiler on a CPU: schedule, values, costs, the plan
that XLA chose, the options of every compile, and the StableHLO from which to compile again. Beside
them: `teaching/` (hand-made programs whose optimum is known by brute force), `lessons/`
(`docs/lessons.md`), `positions.json` (`mallocmuzero mine`), and `corpus/` (the first random
networks of `mallocmuzero corpus`, to train on; no part of the wheel).

Costs are fitted to compiles at several placements (`docs/costs.md`, which also explains *fit
error*). *Gap*: how far XLA's plan is above the proven lower bound. *Best*: how far the best checked
plan known is, and who found it; *optimal* is less than 0.1 %. *Bound*: how it was proven
(`docs/bound.md`); `python -m benchmarks bounds` proves them again.

`make samples` captures all of them again, in hours, resumable. To capture one
alone, take the arguments from its name:

```
make setup-compiler
mallocmuzero capture lstm --hardware tpu-v5e --batch 64 --train -o P  # lstm-v5e-b64-train
```
"""

_HELD_OUT_HEAD = """# Held-out programs

Captured like the samples one folder up, but no solver, rule, cost model or network was tuned on
them but for what stands below. Most are of families that no sample is of. Results on them are
reported apart.

A program of whose plan by XLA less than 99 % is read, or whose costs are not confirmed, does not
come in here, so what is read of these is high by construction. Of resnet50v2-v5p-b32 98.5 % was
read at first, of mlpae-v6e-b4096-train 94.7 %: the reader was mended on these two, which on reading
are no longer held out. The settings of `tune` that make another program were tried on
mlpae-v5p-b4096 too, which is not held out for a `tune` that tries them. Settings of the agent were
chosen on samples, and those of `rounded` on the training corpus, with a look at what they do here.

`mallocmuzero capture --held-out` captures all of them again, in hours, resumable.
"""

_LARGE_HEAD = """# Large programs

Models at their published depth, to show what the tools do at real size (`python -m benchmarks
sizes`). They are not held out: how far the agent's sweeps look ahead and how `local` uses its first
seconds were chosen by what that gives on these, and the reader was mended on the full U-Net, whose
plan by XLA was refused at first. That `local` begins with roundings made again was tried on
four of them. No cost model was tuned on them.

`mallocmuzero capture --large` captures all of them again, resumable.
"""

_REAL_HEAD = """# Real programs

Small programs with what dense programs for one chip lack: loops of unknown length, branches, many
chips with collectives, kernels of the user's own (Pallas), tensors in the host's memory, flags. No
solver, rule or cost model was tuned on those marked *held out*.

Before the reader was mended on them it read 90.1 % of the saving of XLA's plan of fsdp and 81.0 %
of that of modalities (whose simulated cycles were 5.8 % above the compiler's; on reading it is no
longer held out), 99.6 % of that of lossscale, and all of the others. As first fitted, flash took
0.56 % longer with everything fast than in its default compile; the fit was mended on it, so that on
costs it is no longer held out.

XLA places expertparallel and tensorparallel alike in all 17 orders of values tried on each, as
nearly everything fits, and no order changes the cycles of earlyexit: their last placement has fewer
copies (`xla_tpu_msa_inefficient_use_to_copy_ratio=2`).

`mallocmuzero info P` says what the compiler gives no time for and what is assumed of loops and
branches.
`python -m benchmarks reading` says how well XLA's plans of them are read.
`mallocmuzero capture --real` captures all of them again, resumable.
"""

_COLUMNS = """\
*Placements*: how many different ones were compiled; the fit error is that of one predicted by the
others. *No estimate*: the share of the time for which the compiler states no cycles, where it is
above 1 % (`docs/costs.md`). Programs captured before there were prices leave it out of all other
figures.

| sample | what | instructions | touches | XLA, µs | gap | best | bound | placements \
| fit error | no estimate |
|---|---|---:|---:|---:|---:|---:|---|---:|---:|---:|"""


def write_readme(entries: Sequence[SampleEntry], path: Path) -> None:
    """Write the table of captured samples, whole or not at all."""
    heads = {HELD_OUT: _HELD_OUT_HEAD, LARGE: _LARGE_HEAD, REAL: _REAL_HEAD}
    head = heads.get(path.parent.name, _HEAD)
    table = "\n".join([_COLUMNS, *(_row(e) for e in entries)])
    write_bytes(path, f"{head}\n{table}\n".encode())


def _row(entry: SampleEntry) -> str:
    xla = entry.xla_latency_s or 0.0
    best = f"{_gap(entry.best_s, entry.bound_s)}, {entry.best_solver}" if entry.best_solver else ""
    error = f"{entry.fit_error:.2%}" if entry.fit_error is not None else ""
    share = entry.unestimated_share or 0.0
    unestimated = f"{share:.1%}" if share > NOTABLE_SHARE else ""
    feature = entry.feature + (" (held out)" if entry.is_held_out else "")
    what = f"{feature}: {entry.title}" if feature else entry.title
    return (
        f"| {entry.name} | {what} | {entry.instructions} | {entry.touches}"
        f" | {xla * 1e6:.1f} | {_gap(xla, entry.bound_s)} | {best} | {entry.bound_method or ''}"
        f" | {entry.placements or ''} | {error} | {unestimated} |"
    )


def _gap(latency_s: float | None, bound_s: float | None) -> str:
    above = gap(latency_s, bound_s)
    if above is None:
        return ""
    return "optimal" if is_optimal(latency_s, bound_s) else f"{above:.1%}"


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
    entries[name] = _with_plan(folder, entry, program, plan)
    if entries[name] is entry:
        return False
    _write(folder, list(entries.values()))
    return True


def _with_plan(folder: Path, entry: SampleEntry, program: Program, plan: Plan) -> SampleEntry:
    """The entry with a valid plan, whose file is written, if it is better than what it knows."""
    best_s = simulate(program, plan).latency_s
    if entry.best_s is not None and best_s >= entry.best_s * (1 - ROUNDING):
        return entry
    file = f"{PLANS}/{entry.name}.json.gz"
    (folder / PLANS).mkdir(exist_ok=True)
    save_plan(plan, folder / file)
    return replace(entry, best_s=best_s, best_solver=plan.solver, best_plan=file)


def recost(entry: SampleEntry, program: Program) -> None:
    """Put the same program with other costs in place of a captured one.

    The bound is made anew. The best plan known stays, as what it comes to now, where it is valid
    still.
    """
    fresh = _entry(program, None)
    if entry.best_plan_path is not None:
        plan = replace(load_plan(entry.best_plan_path), program_hash=content_hash(program))
        if check(program, plan) is None:
            fresh = _with_plan(entry.folder, fresh, program, plan)
    save(program, entry.path)
    known = [other for other in index(entry.folder) if other.folder == entry.folder]
    _write(entry.folder, [fresh if other.name == entry.name else other for other in known])


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
        feature=facts.get("feature", ""),
        is_held_out=facts.get("is_held_out", False),
        xla_latency_s=times["xla_compiled"],
        **_bound_facts(program, before),
        best_s=best_s,
        best_solver=best_solver,
        best_plan=best_plan,
        placements=len(facts["fit"]["held_out"]),
        fit_error=facts["fit"]["worst_held_out_error"],
        unestimated_share=round(unestimated_share(program), 4),
    )


def _bound_facts(program: Program, before: SampleEntry | None) -> dict[str, Any]:
    """The linear program's bound, or the index's own if that was proven by branching.

    No bound is above a compile that was observed.
    """
    observed_s = fastest_compile_s(program) or math.inf
    is_proven = before is not None and (before.bound_method or "").startswith("mip")
    if before is not None and is_proven:
        if (before.bound_s or 0.0) <= observed_s:
            names = ("bound_s", "bound_method", "bound_seconds")
            return {name: getattr(before, name) for name in names}
        seconds = before.bound_seconds
        return {"bound_s": observed_s, "bound_method": OBSERVED, "bound_seconds": seconds}
    bound = lower_bound(program)
    seconds = round(bound.seconds, 1)
    return {"bound_s": bound.bound_s, "bound_method": bound.method, "bound_seconds": seconds}


def _title(program: Program) -> str:
    facts = program.provenance
    kind = "training step" if facts["train"] else "inference"
    description = str(facts["description"]).rstrip(".")
    flags = "".join(f", {name}={text}" for name, text in facts.get("compiler_options", {}).items())
    return f"{description}, {kind}, batch {facts['batch']}, {program.hardware.name}{flags}"

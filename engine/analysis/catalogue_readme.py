"""`sample_programs/README.md`: every captured sample, what it is, and the command that made it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.program.io import write_bytes
from engine.program.library import HELD_OUT, LARGE, SampleEntry
from engine.program.proof import gap, is_optimal

_HEAD = """# Sample programs

Real programs, compiled by the real XLA TPU compiler on a CPU machine: schedule, values, costs, and
the plan that XLA's own solver chose. Each file also holds the options of every compile, the
versions of the packages, and the serialised StableHLO, from which the program can be compiled again
without the model's Python code. `teaching/` holds five hand-made programs whose optimum is known by
brute force, `lessons/` the lessons of the explorer (`docs/lessons.md`), `positions.json` positions
from real games (`python -m engine mine`).

How one is made: the model is compiled with everything in slow memory (schedule and all-slow
costs), with the compiler's defaults (its own plan), and at other placements, among them what our
own plans become. Savings per access are fitted to the compiler's cycles (`docs/costs.md`). *Fit
error*: by how much more than foretold a placement takes that is kept out of the fit and is about as
good as the compiler's own; of samples that have no file in `observations/` yet, the worst relative
error on random placements. *Gap* is how far XLA's plan is above the proven lower bound; *best*, how
far the best checked plan known, and who found it: it lies in `plans/`, except where a solver makes
it in a moment. A plan less than 0.1 % above the bound is *optimal*. *Bound* says how it was proven:
by a linear program (lp), or by branching on its 0/1 variables too (mip; unfinished: more time may
prove more); see `docs/bound.md`. `python -m benchmarks bounds` proves them again, resumable.

`make samples` captures all of them again: hours on two cores, resumable. One alone:

```
make setup-compiler
.venv/bin/python -m engine capture MODEL --hardware HARDWARE --batch B [--train] -o P
```
"""

_HELD_OUT_HEAD = """# Held-out programs

Captured like the samples one folder up, and reachable by name like them, but no solver, rule, cost
model or network was tuned on these, and they are not among the programs of which commands, benches
and the explorer speak as *the samples*. Most are of families that no sample is of. Results on them
are reported apart (`python -m benchmarks reading`).

A program of whose plan by XLA less than 99 % is read, or whose costs are not confirmed, does not
come in here, so that what is read of these is high by construction. As first captured
resnet50v2-v5p-b32 had 98.5 % (values split between two cores) and mlpae-v6e-b4096-train 94.7 %
without addresses (slices in each other's way): the reader was mended on them, and on reading these
two are no longer held out.

`python -m engine capture --held-out` captures all of them again: hours on two cores, resumable.
"""

_LARGE_HEAD = """# Large programs

Models at their published depth, captured like the samples one folder up and reachable by name like
them. They are here to show what the tools do at real size (`python -m benchmarks sizes`); no
solver, rule or cost model was tuned on them, and they are not among *the samples* of the commands
and benches. XLA's plan of the full U-Net was refused at first; the reader was mended on it, so that
on reading it is not held out.

`python -m engine capture --large` captures all of them again, resumable.
"""

_COLUMNS = """\
| sample | what | command | instructions | touches | XLA, µs | gap | best | bound | fit error |
|---|---|---|---:|---:|---:|---:|---:|---|---:|"""


def write_readme(entries: Sequence[SampleEntry], path: Path) -> None:
    """Write the table of captured samples, whole or not at all."""
    head = {HELD_OUT: _HELD_OUT_HEAD, LARGE: _LARGE_HEAD}.get(path.parent.name, _HEAD)
    table = "\n".join([_COLUMNS, *(_row(e) for e in entries)])
    write_bytes(path, f"{head}\n{table}\n".encode())


def _row(entry: SampleEntry) -> str:
    train = " --train" if entry.train else ""
    command = f"`{entry.model} --hardware {entry.hardware} --batch {entry.batch}{train}`"
    xla = entry.xla_latency_s or 0.0
    best = f"{_gap(entry.best_s, entry.bound_s)}, {entry.best_solver}" if entry.best_solver else ""
    error = f"{entry.fit_error:.2%}" if entry.fit_error is not None else ""
    return (
        f"| {entry.name} | {entry.title} | {command} | {entry.instructions} | {entry.touches}"
        f" | {xla * 1e6:.1f} | {_gap(xla, entry.bound_s)} | {best} | {entry.bound_method or ''}"
        f" | {error} |"
    )


def _gap(latency_s: float | None, bound_s: float | None) -> str:
    above = gap(latency_s, bound_s)
    if above is None:
        return ""
    return "optimal" if is_optimal(latency_s, bound_s) else f"{above:.1%}"

"""The section `reading`: how well XLA's plan is read and imitated."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.settings import Settings
from engine.compiler.reading.packing import Block, pack
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program import library
from engine.program.model import Program
from engine.program.prices import priced_s
from engine.program.provenance import share_read
from engine.solvers import solve

Rows = list[dict[str, Any]]


def reading(settings: Settings) -> Rows:
    """A row for each captured program: how well XLA's plan of it is read."""
    rows = []
    kinds = {
        "samples": library.index(),
        "held out": library.held_out(),
        "large": library.large(),
        "real": [entry for entry in library.real() if not entry.is_held_out],
        "real, held out": [entry for entry in library.real() if entry.is_held_out],
    }
    for title, entries in kinds.items():
        names = [e.name for e in entries if e.xla_latency_s is not None]
        names = [n for n in names if not settings.programs or n in settings.programs]
        print(f"{title:28} {'read':>8} {'packed':>8} {'cycles':>8} {'xla_like':>8}")
        some = [_reading(library.load_sample(n), title) for n in names]
        for row in some:
            shown = [f"{row[k]:8.4f}" for k in _READ]
            print(f"{row['program']:28} {' '.join(shown)}", flush=True)
        rows += some
        if some:
            _summarise_reading(some)
    return rows


_READ = ("read", "read_without_offsets", "simulated_over_compiled", "xla_like_ratio")


def _reading(program: Program, title: str) -> dict[str, Any]:
    plan = solve("xla_compiled", program)
    real = simulate(program, plan)
    known = program.provenance["default_compile"]
    return {
        "program": program.name,
        "set": title,
        "read": share_read(program),
        "read_without_offsets": 1.0 - known["left_out_without_offsets"]
        if "left_out_without_offsets" in known
        else _packed_share(program, plan),
        "simulated_over_compiled": (real.compute_s - priced_s(program)) / known["compute_s"],
        "stall_share": real.stall_s / real.latency_s,
        "xla_like_ratio": simulate(program, solve("xla_like", program)).latency_s / real.latency_s,
    }


def _packed_share(program: Program, plan: Plan) -> float:
    """Share of the plan's saving that is left where its stays, but not their offsets, are known.

    For a capture that did not try to read the plan without the buffer assignment.
    """
    reserved = [instruction.reserved_bytes for instruction in program.instructions]
    blocks = [
        Block(
            program.groups[stay.group].size_bytes,
            ((stay.start, stay.end),),
            max(reserved[max(0, stay.start) : stay.end]),
        )
        for stay in plan.stays
    ]
    offsets = pack(blocks, program.hardware.fast_bytes, program.hardware.alignment)
    lost = {s.group for s, offset in zip(plan.stays, offsets, strict=True) if offset is None}
    fast = [a for a, is_fast in zip(program.accesses, plan.is_fast, strict=True) if is_fast]
    kept = [a.saving_s for a in fast if program.values[a.value].group not in lost]
    return sum(kept) / sum(a.saving_s for a in fast) if fast else 1.0


def _summarise_reading(rows: Rows) -> None:
    for key in _READ[:2]:
        shares = [row[key] for row in rows]
        print(f"  {key}: 99 % or more on {sum(s >= 0.99 for s in shares)} of {len(shares)}")
    errors = [abs(row[_READ[2]] - 1) for row in rows]
    print(f"  cycles: median {statistics.median(errors):.2%} off, worst {max(errors):.2%}")
    close = sum(abs(row["xla_like_ratio"] - 1) <= 0.03 for row in rows)
    print(f"  xla_like within 3 % of XLA's plan on {close} of {len(rows)}")

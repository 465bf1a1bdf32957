"""The sample programs as a table, and one program's facts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pandas as pd

from engine.program.library import SampleEntry
from engine.program.model import Program
from ui.viewmodel.units import count_text, size_text, time_text


def real(entries: Sequence[SampleEntry]) -> list[SampleEntry]:
    """The samples that a compiler made."""
    return [e for e in entries if e.xla_latency_s is not None]


def made_up(entries: Sequence[SampleEntry]) -> list[SampleEntry]:
    """The samples written by hand to teach one thing each."""
    return [e for e in entries if e.xla_latency_s is None]


def table(entries: Sequence[SampleEntry]) -> pd.DataFrame:
    """One row per sample; latencies in microseconds, gaps to the bound in percent."""
    return pd.DataFrame(
        {
            "title": [short_title(e) for e in entries],
            "hardware": [e.hardware for e in entries],
            "instructions": [e.instructions for e in entries],
            "values": [e.values for e in entries],
            "xla": [1e6 * (e.xla_latency_s or math.nan) for e in entries],
            "over": [_over(e.xla_latency_s, e.bound_s) for e in entries],
            "best": [_over(e.best_s, e.bound_s) for e in entries],
        }
    )


def short_title(entry: SampleEntry) -> str:
    """The title up to the first comma, with the batch size; whole where there is none."""
    if not entry.batch:
        return entry.title or entry.name
    head = re.split("[,:]", entry.title)[0]
    return f"{head}, batch {entry.batch}" + (", training" if entry.train else "")


def _over(latency_s: float | None, bound_s: float | None) -> float:
    return 100 * (latency_s / bound_s - 1) if latency_s and bound_s else math.nan


def facts(program: Program) -> list[tuple[str, str]]:
    """What one sees of a program at a glance."""
    hardware = program.hardware
    savings = program.all_slow_s - program.all_fast_s
    memory = f"{hardware.name}, {size_text(hardware.fast_bytes)} of {hardware.fast_name}"
    weights = sum(g.size_bytes for g in program.groups if g.is_input)
    others = sum(g.size_bytes for g in program.groups if not g.is_input)
    return [
        ("Hardware", f"{memory}, {hardware.bandwidth / 1e9:,.0f} GB/s behind it"),
        ("Length", count_text(program.num_slots, "instruction") + _loops(program)),
        ("Tensors", f"{size_text(weights)} of inputs, {size_text(others)} made on the way"),
        ("All slow", time_text(program.all_slow_s)),
        ("All fast", f"{time_text(program.all_fast_s)}, {time_text(savings)} less"),
    ]


def _loops(program: Program) -> str:
    if not program.regions:
        return ""
    return f", of them {sum(i.level >= 0 for i in program.instructions):,} in loops or branches"

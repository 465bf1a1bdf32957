"""Time that the compiler's estimates leave out: instructions for which it states no cycles.

Kernels of the user's own (Pallas), ragged products, sorts, factorisations, gathers and collectives
have no `estimated_cycles`. A program that is read here has prices for them
(`engine.program.prices`), by a model or a profile, which its times contain. In programs that were
read before there were prices they count as 0 s; what they take at least is told by their operations
and bytes (`engine.hardware.roofline`): `max(F / peak, V / bandwidth)` with all slow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from engine.hardware.presets import DEVICES
from engine.program.model import Program
from engine.program.prices import (
    KERNEL,
    MODEL,
    PRICES,
    PROFILE,
    SOURCES,
    price_sources,
    profile_name,
)
from engine.program.provenance import CYCLES, FITTED

NOTABLE_SHARE = 0.01
"""A larger share of the time without an estimate is said wherever percentages are."""

_MOST_NAMED = 5


def unestimated_s(program: Program) -> Mapping[int, float]:
    """Slot -> seconds over one run of what the compiler does not estimate.

    Empty where costs are not the compiler's. What another thread does (SparseCore) takes no time of
    the schedule and is left out: all that it touches must be slow.
    """
    if is_priced(program):
        return {t: i.priced_s for t, i in enumerate(program.instructions) if i.priced_s > 0}
    origin = program.provenance
    if origin.get("kind") != "captured" and origin.get("costs") not in (CYCLES, FITTED):
        return {}
    slow_s = [instruction.fast_s for instruction in program.instructions]
    drawn: defaultdict[int, int] = defaultdict(int)
    may_be_fast: set[int] = set()
    for access in program.accesses:
        slow_s[access.time] += access.saving_s
        drawn[access.time] += access.slow_bytes
        if not access.must_be_slow:
            may_be_fast.add(access.time)
    device = DEVICES.get(program.hardware.name)
    found = {}
    for time, moved in drawn.items():
        if time in may_be_fast and slow_s[time] <= 0 and moved > 0:
            flops_s = program.instructions[time].flops / device.peak_flops if device else 0.0
            found[time] = max(flops_s, moved / program.hardware.bandwidth)
    return found


def is_priced(program: Program) -> bool:
    """Whether what the compiler does not estimate is part of the program's times."""
    return PRICES in program.provenance or any(i.priced_s > 0 for i in program.instructions)


def unestimated_share(program: Program) -> float:
    """The largest share of a plan's time, stalls aside, that is no estimate of the compiler's.

    It is that of the all-fast time, to which what counts as 0 s is added.
    """
    return _share(program, sum(unestimated_s(program).values()))


def _share(program: Program, left_out_s: float) -> float:
    if not left_out_s:
        return 0.0
    return left_out_s / (program.all_fast_s + (0.0 if is_priced(program) else left_out_s))


def unestimated_remark(program: Program) -> str | None:
    """One line where the share is notable, with the instructions that take most; else None."""
    seconds = unestimated_s(program)
    share = _share(program, sum(seconds.values()))
    if share <= NOTABLE_SHARE:
        return None
    said = f"up to {share:.1%} of the time is without an estimate of the compiler's"
    if not is_priced(program):
        return (
            f"{said}: {_named(program, seconds, seconds)} count as 0 s, and take at least so much"
            " by their operations and bytes"
        )
    sources = price_sources(program)
    parts = []
    for source in SOURCES:
        times = [t for t in seconds if sources.get(program.instructions[t].name, MODEL) == source]
        if times:
            part = _share(program, sum(seconds[t] for t in times))
            who = _SAID[source] + (f" {profile_name(program)}" if source == PROFILE else "")
            parts.append(f"{part:.1%} {who} ({_named(program, seconds, times)})")
    return f"{said}, and priced instead: {'; '.join(parts)}"


_SAID = {
    MODEL: "by our model",
    KERNEL: "by our model of what kernels state of themselves",
    PROFILE: "by the profile",
}


def _named(program: Program, seconds: Mapping[int, float], times: Collection[int]) -> str:
    """The names of those that take longest, and how many there are besides."""
    longest = sorted(times, key=lambda time: -seconds[time])[:_MOST_NAMED]
    more = f" and {len(times) - len(longest)} more" if len(times) > len(longest) else ""
    return ", ".join(program.instructions[time].name for time in longest) + more

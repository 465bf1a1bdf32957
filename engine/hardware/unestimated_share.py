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
    price_sources,
    profile_name,
)
from engine.program.provenance import CYCLES, FITTED

NOTABLE_SHARE = 0.01
"""A larger share of the time without an estimate is said wherever percentages are."""

_MOST_NAMED = 5


def unestimated_s(program: Program) -> Mapping[int, float]:
    """Slot -> seconds over one run of what the compiler does not estimate.

    Empty where costs are not the compiler's. Of what is priced at 0 s, as a kernel is that updates
    all that it touches in place, those by operations and bytes. What another thread does
    (SparseCore) takes no time of the schedule and is left out: all that it touches must be slow.
    """
    if is_priced(program):
        priced = {t: i.priced_s for t, i in enumerate(program.instructions) if i.priced_s > 0}
        return priced | _at_least_s(program, _priced_at_nothing(program))
    origin = program.provenance
    if origin.get("kind") != "captured" and origin.get("costs") not in (CYCLES, FITTED):
        return {}
    slow_s = [instruction.fast_s for instruction in program.instructions]
    may_be_fast: set[int] = set()
    for access in program.accesses:
        slow_s[access.time] += access.saving_s
        if not access.must_be_slow:
            may_be_fast.add(access.time)
    return _at_least_s(program, {time for time in may_be_fast if slow_s[time] <= 0})


def _at_least_s(program: Program, slots: Collection[int]) -> dict[int, float]:
    """Slot -> seconds by operations and bytes with all slow, for those that move any."""
    drawn: defaultdict[int, int] = defaultdict(int)
    for access in program.accesses:
        drawn[access.time] += access.slow_bytes
    device = DEVICES.get(program.hardware.name)
    found = {}
    for time, moved in drawn.items():
        if time in slots and moved > 0:
            flops_s = program.instructions[time].flops / device.peak_flops if device else 0.0
            found[time] = max(flops_s, moved / program.hardware.bandwidth)
    return found


def _priced_at_nothing(program: Program) -> set[int]:
    """The slots of kernels of which our model does not know what they take.

    Others that are priced at 0 s were measured so, or go on beside the schedule.
    """
    sources = price_sources(program)
    modelled = {name for name, source in sources.items() if source != PROFILE}
    return {
        time
        for time, ins in enumerate(program.instructions)
        if ins.opcode == "custom-call" and ins.priced_s == 0 and ins.name in modelled
    }


def is_priced(program: Program) -> bool:
    """Whether what the compiler does not estimate is part of the program's times."""
    return PRICES in program.provenance or any(i.priced_s > 0 for i in program.instructions)


def unestimated_share(program: Program) -> float:
    """The largest share of a plan's time, stalls aside, that is no estimate of the compiler's.

    It is that of the all-fast time, to which what counts as 0 s is added.
    """
    seconds = unestimated_s(program)
    return _share(program, seconds, seconds)


def _share(program: Program, seconds: Mapping[int, float], times: Collection[int]) -> float:
    """The share of some of the slots in `seconds`."""
    taken_s = sum(seconds[time] for time in times)
    uncounted_s = sum(s for t, s in seconds.items() if program.instructions[t].priced_s == 0)
    return taken_s / (program.all_fast_s + uncounted_s) if taken_s else 0.0


def unestimated_remark(program: Program) -> str | None:
    """One line where the share is notable, with the instructions that take most; else None."""
    seconds = unestimated_s(program)
    share = _share(program, seconds, seconds)
    if share <= NOTABLE_SHARE:
        return None
    said = f"up to {share:.1%} of the time is without an estimate of the compiler's"
    if not is_priced(program):
        return (
            f"{said}: {_named(program, seconds, seconds)} count as 0 s, and take at least so much"
            " by their operations and bytes"
        )
    sources = price_sources(program)
    whose: dict[str, list[int]] = defaultdict(list)
    for time in seconds:
        instruction = program.instructions[time]
        source = sources.get(instruction.name, MODEL)
        whose[source if instruction.priced_s > 0 else _NOBODY].append(time)
    parts = []
    for source, words in _SAID.items():
        if times := whose[source]:
            who = words + (f" {profile_name(program)}" if source == PROFILE else "")
            part = _share(program, seconds, times)
            parts.append(f"{part:.1%} {who} ({_named(program, seconds, times)})")
    return f"{said}, and priced instead: {'; '.join(parts)}"


_NOBODY = "nobody"
_SAID = {
    MODEL: "by our model",
    KERNEL: "by our model of what kernels state of themselves",
    PROFILE: "by the profile",
    _NOBODY: "at 0 s, since nobody knows how much they update in place",
}


def _named(program: Program, seconds: Mapping[int, float], times: Collection[int]) -> str:
    """The names of those that take longest, and how many there are besides."""
    longest = sorted(times, key=lambda time: -seconds[time])[:_MOST_NAMED]
    more = f" and {len(times) - len(longest)} more" if len(times) > len(longest) else ""
    return ", ".join(program.instructions[time].name for time in longest) + more

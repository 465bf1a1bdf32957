"""Time that the compiler's estimates leave out: instructions for which it states no cycles.

Kernels of the user's own (Pallas), ragged products, sorts, factorisations, gathers and collectives
have no `estimated_cycles`, so that they count as 0 s. What they take at least is told by their
operations and bytes (`engine.hardware.cost`): `max(F / peak, V / bandwidth)` with all slow. Of a
collective these are the bytes it reads and writes in its own chip's memory; what it sends over
links comes on top.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from engine.hardware.presets import DEVICES
from engine.program.model import Program
from engine.program.provenance import CYCLES, FITTED

NOTABLE_SHARE = 0.01
"""A larger share of the time without an estimate is said wherever percentages are."""

_MOST_NAMED = 5


def unestimated_s(program: Program) -> Mapping[int, float]:
    """Slot -> seconds over one run by operations and bytes, of what counts as 0 s.

    Empty where costs are not the compiler's. What another thread does (SparseCore, the host) takes
    no time of the schedule and is left out: all that it touches must be slow.
    """
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


def unestimated_remark(program: Program) -> str | None:
    """One line where the share is notable, with the instructions that take most; else None."""
    seconds = unestimated_s(program)
    left_out_s = sum(seconds.values())
    share = left_out_s / (program.all_slow_s + left_out_s) if left_out_s else 0.0
    if share <= NOTABLE_SHARE:
        return None
    longest = sorted(seconds, key=lambda time: -seconds[time])[:_MOST_NAMED]
    names = ", ".join(program.instructions[time].name for time in longest)
    more = f" and {len(seconds) - len(longest)} more" if len(seconds) > len(longest) else ""
    return (
        f"{share:.1%} of the time is without an estimate of the compiler's: {names}{more}"
        " count as 0 s, and take at least so much by their operations and bytes"
    )

"""The fast memory over time under a plan, and who holds it at one slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from engine.analysis.peak import Resident, used_bytes
from engine.plan.model import Plan
from engine.program.model import Program
from ui.components.charts import LINE, memory_chart
from ui.components.markdown import code
from ui.components.names import instruction_name, slots_text, tensor_name
from ui.components.units import address_text, count_text, share_text, size_text, times_text

_MIB = 2**20


def occupancy(program: Program, plan: Plan, slot: int) -> go.Figure:
    """MiB taken per slot, with the capacity and the chosen slot."""
    capacity = program.hardware.fast_bytes / _MIB
    figure = memory_chart(used_bytes(program, plan.stays) / _MIB, capacity, "MiB taken")
    figure.add_vline(x=slot + 0.5, line={"color": LINE, "width": 2})
    figure.update_yaxes(range=[0, 1.08 * capacity])
    return figure


def resident_table(program: Program, residents: Sequence[Resident]) -> pd.DataFrame:
    """One row per tensor in fast memory at a slot, highest address first."""
    rows = sorted(residents, key=lambda r: -r.offset)
    return pd.DataFrame(
        {
            "address": [address_text(r.offset) for r in rows],
            "tensor": [tensor_name(program, r.group) for r in rows],
            "size": [r.size_bytes / _MIB for r in rows],
            "slots": [slots_text(r.start, r.end) for r in rows],
            "next": [_next_text(program, r) for r in rows],
            "saving": [1e6 * r.saving_s for r in rows],
            "uncounted": [1e6 * r.uncounted_s for r in rows],
            "group": [r.group for r in rows],
        }
    )


def moment_text(program: Program, plan: Plan, slot: int, hole: int) -> str:
    """What the memory looks like at a slot, as Markdown."""
    used = int(used_bytes(program, plan.stays)[slot])
    total = program.hardware.fast_bytes
    return (
        f"**Slot {slot:,}, {code(instruction_name(program, slot))}:** {size_text(used)} of"
        f" {size_text(total)} taken ({share_text(used / total)}), of them"
        f" {size_text(program.instructions[slot].reserved_bytes)} scratch; largest gap"
        f" {size_text(hole)}."
    )


def relief_text(program: Program, result: Mapping[str, Any]) -> str:
    """The peak advisor's proposal, as Markdown. `result`: as `ui.jobs.worker` writes it."""
    names = [code(tensor_name(program, d["group"])) for d in result["dropped"]]
    change_s = result["after_s"] - result["before_s"]
    seconds = (abs(change_s), result["before_s"], result["after_s"], result["game_s"])
    change, before, after, game = times_text(*seconds)
    way = "costs" if change_s >= 0 else "even saves"
    freed = f"frees {size_text(result['freed_bytes'])}"
    what, how = "Nothing need be dropped", "without any change"
    if names:
        what = f"Drop {count_text(len(names), 'tensor')} around it: {', '.join(names)}"
        how = "with this change"
    lines = [
        f"**{what}.**",
        f"Played again {how}, the game {freed} at slot {result['slot']:,} and {way}"
        f" **{change}**: the runtime goes from {before} to {after}. The largest gap there goes from"
        f" {size_text(result['hole_before'])} to {size_text(result['hole_after'])}.",
    ]
    if names and game != before:
        lines.append(f"Without the change the game would play this plan otherwise, in {game}.")
    if not result["is_enough"]:
        lines.append(
            f"That is less than the {size_text(result['wanted_bytes'])} asked for: the rules keep"
            " the rest in place (a loop must be covered whole, a changed tensor written back)."
        )
    return "\n\n".join(lines)


def _next_text(program: Program, resident: Resident) -> str:
    if resident.next_use is None:
        return "not used again"
    return f"{resident.next_use:,} · {instruction_name(program, resident.next_use)}"

"""Two plans in words and tables: where they part, what differs, and what it costs."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence

import pandas as pd

from engine.analysis.attribution import Cost
from engine.analysis.plan_diff import Change, Service, Source, TouchDifference
from engine.game.moves import Move
from engine.program.floors import worth_s
from engine.program.model import Program, Touch
from engine.program.provenance import more_s
from ui.components.markdown import code, plain
from ui.components.names import instruction_name, tensor_name
from ui.components.units import address_text, count_text, share_text, time_text, times_text

_SMALL = 0.01
"""Share below which one more decimal is shown."""
_ABOUT = {
    Change.MEMORY: "fast in one, slow in the other",
    Change.SOURCE: "served another way",
    Change.COPY_TIME: "copied at another time",
    Change.ADDRESS: "at another address",
}


def summary(names: tuple[str, str], latencies_s: tuple[float, float], unmeasured: str = "") -> str:
    """Which of the two plans is faster and by how much, as Markdown.

    `unmeasured`: a plan that is no measure for others; to be faster than it is said to be no win.
    """
    difference_s = latencies_s[1] - latencies_s[0]
    if abs(difference_s) < 1e-6 * latencies_s[0]:
        same = time_text(latencies_s[0])
        return f"**{plain(names[1])}** and **{plain(names[0])}** take the same time, {same}."
    word = "faster" if difference_s < 0 else "slower"
    change = abs(difference_s) / latencies_s[0]
    share = share_text(change, 1 if change >= _SMALL else 2)
    gap = f"**{time_text(abs(difference_s))}** ({share})"
    loser, winner = names if difference_s < 0 else names[::-1]
    caveat = f" No win for **{plain(winner)}**: XLA's plan was read in part only."
    caveat = caveat if loser == unmeasured else ""
    return f"**{plain(names[1])}** is {gap} {word} than **{plain(names[0])}**.{caveat}"


def counts_text(differences: Sequence[TouchDifference], num_touches: int) -> str:
    """How many touches differ, and how."""
    if not differences:
        return "Both plans serve every access alike."
    counts = Counter(d.change for d in differences)
    parts = [f"{counts[change]:,} {_ABOUT[change]}" for change in Change if counts[change]]
    return f"{len(differences):,} of {num_touches:,} touches differ: {', '.join(parts)}."


def divergence_text(program: Program, difference: TouchDifference, names: tuple[str, str]) -> str:
    """The touch at which the plans part, and what each does there, as Markdown."""
    touch = program.touches[difference.touch]
    verb = "updates" if touch.reads and touch.writes else "reads" if touch.reads else "writes"
    instruction = program.instructions[difference.time].name
    return (
        f"Slot {difference.time:,}, {code(instruction)} {verb}"
        f" {code(tensor_name(program, difference.group))} ({_stake_text(program, touch)}):"
        f" {plain(names[0])} {_service_text(difference.first, touch)},"
        f" {plain(names[1])} {_service_text(difference.second, touch)}."
    )


def _stake_text(program: Program, touch: Touch) -> str:
    worth, more = worth_s(program, touch), more_s(program, touch)
    if worth < 0:
        return f"{time_text(-worth)} longer if fast"
    at_stake, most = times_text(worth, worth + more)
    return f"{at_stake} at stake{f', not observed: up to {most}' if more > 0 else ''}"


def cost_table(
    program: Program, costs: Sequence[Cost], differences: Sequence[TouchDifference]
) -> pd.DataFrame:
    """One row per tensor that costs differently, in microseconds, dearest first.

    `uncounted`: by how much more it may be, since no compile has shown what the uses save that are
    fast in one plan only. `time` and `group` say where the largest part of it arises.
    """
    changes: dict[int, Counter[Change]] = {}
    uncounted: dict[int, float] = defaultdict(float)
    for difference in differences:
        changes.setdefault(difference.group, Counter())[difference.change] += 1
        if difference.change is Change.MEMORY:
            uncounted[difference.group] += more_s(program, program.touches[difference.touch])
    return pd.DataFrame(
        {
            "tensor": [tensor_name(program, c.group) for c in costs],
            "size": [program.groups[c.group].size_bytes / 2**20 for c in costs],
            "total": [1e6 * c.total_s for c in costs],
            "slow": [1e6 * c.slow_s for c in costs],
            "stall": [1e6 * c.stall_s for c in costs],
            "uncounted": [1e6 * uncounted[c.group] for c in costs],
            "what": [_changes_text(changes.get(c.group, Counter())) for c in costs],
            "where": [instruction_name(program, c.time) for c in costs],
            "time": [c.time for c in costs],
            "group": [c.group for c in costs],
        }
    )


def move_at(moves: Sequence[Move], time: int, group: int) -> int:
    """The move of the group at slot `time`, else the first move from there on; 0 without moves."""
    first = bisect_left(moves, time, key=lambda m: m.time)
    for index in range(first, len(moves)):
        if moves[index].time != time:
            break
        if moves[index].group == group:
            return index
    return max(0, min(first, len(moves) - 1))


def _service_text(service: Service, touch: Touch) -> str:
    if service.source is Source.SLOW:
        return "serves it from slow memory"
    place = address_text(service.offset)
    if service.source is Source.PREFETCH and service.copy is not None:
        slots = touch.time - service.copy.start
        return f"prefetched it {count_text(slots, 'slot')} before, to {place}"
    if service.source is Source.KEPT:
        return f"kept it at {place}"
    if service.source is Source.PREVIOUS_RUN:
        return f"has it from the previous run at {place}"
    return f"makes it at {place}"


def _changes_text(counts: Counter[Change]) -> str:
    if not counts:
        return "waits only"
    return ", ".join(f"{counts[c]} {_ABOUT[c]}" for c in Change if counts[c])

"""Time and memory by layer of the model: a tree of sums, as a table and as an icicle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from types import MappingProxyType

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from engine.analysis.attribution import Breakdown
from engine.analysis.layers import Layers, Origin, Path, layers_of, tree_path
from engine.plan.model import Plan
from engine.program import counts
from engine.program.model import Program
from ui.components.charts import escaped
from ui.components.units import count_text, share_text, size_text, time_text

END = "end of the program"
"""Where the wait for the last copies is counted."""
_SHOWN_LEVELS = 4
_LOSS_COLOURS = [[0.0, "#9db8d9"], [0.35, "#e9c48b"], [1.0, "#d23b4e"]]
"""From what computes to what waits for slow memory; all are read under dark letters."""
_INK = "#16202b"
_LEAST_TOP = 0.05
"""The lost share that has the strongest colour, where no layer loses more."""


@dataclass
class Sums:
    """What a layer and all that is in it take: seconds, bytes from slow memory, bytes × seconds.

    `held`: of stays in fast memory, counted where the tensor is used first in the stay. `slot`: the
    first instruction, -1 for none. `around`: the loops and branches that all of it is in, outermost
    first, each with how often it runs.
    """

    instructions: int = 0
    compute_s: float = 0.0
    slow_s: float = 0.0
    stall_s: float = 0.0
    slow_bytes: float = 0.0
    held: float = 0.0
    slot: int = -1
    around: tuple[tuple[int, float], ...] = ()

    @property
    def times(self) -> float:
        """How often it runs in one run of the program; of a branch that may be less than once."""
        return self.around[-1][1] if self.around else 1.0

    @property
    def total_s(self) -> float:
        """All seconds."""
        return self.compute_s + self.slow_s + self.stall_s

    @property
    def lost_s(self) -> float:
        """Seconds that would not pass with everything in fast memory."""
        return self.slow_s + self.stall_s

    def add(self, other: Sums) -> None:
        """Add what another layer takes."""
        for name in ("instructions", "compute_s", "slow_s", "stall_s", "slow_bytes", "held"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if self.slot < 0:
            self.slot, self.around = other.slot, other.around
        elif other.slot >= 0:
            pairs = zip(self.around, other.around, strict=False)
            self.around = tuple(mine for mine, _ in takewhile(lambda p: p[0] == p[1], pairs))


@dataclass(frozen=True)
class LayerTree:
    """Sums by path, of each layer with all that is in it; `()` is the whole program.

    `runtime_s`: of the plan. `origins`: how many instructions have their path from what.
    """

    sums: Mapping[Path, Sums]
    runtime_s: float
    origins: Mapping[Origin, int] = field(default_factory=dict)


def layer_tree(program: Program, plan: Plan, parts: Breakdown) -> LayerTree:
    """The tree of a plan's run; the sums of the whole add up to its runtime."""
    layers = layers_of(program)
    own = _own_sums(program, plan, parts, layers)
    whole: dict[Path, Sums] = {(): Sums()}
    for path, sums in own.items():
        for depth in range(len(path) + 1):
            whole.setdefault(path[:depth], Sums()).add(sums)
    origins = {origin: layers.origins.count(origin) for origin in Origin}
    return LayerTree(whole, float(parts.total_s.sum()), origins)


def _own_sums(program: Program, plan: Plan, parts: Breakdown, layers: Layers) -> dict[Path, Sums]:
    """What each layer takes without what is in it, in schedule order."""
    paths = [tree_path(program, layers, slot) for slot in range(program.num_slots)]
    slow_bytes = np.zeros(program.num_slots)
    for touch in program.touches:
        if not plan.is_fast[touch.accesses[0]]:
            slow_bytes[touch.time] += touch.slow_bytes
    own: dict[Path, Sums] = {}
    for slot, path in enumerate(paths):
        compute_s, slow_s, stall_s = (
            float(seconds[slot]) for seconds in (parts.compute_s, parts.slow_s, parts.stall_s)
        )
        levels = program.outwards(program.instructions[slot].level)[-2::-1]
        around = tuple((level, program.multiplicity(level)) for level in levels)
        read = float(slow_bytes[slot])
        mine = Sums(1, compute_s, slow_s, stall_s, read, slot=slot, around=around)
        own.setdefault(path, Sums()).add(mine)
    if parts.stall_s[-1] > 0:
        own[(END,)] = Sums(stall_s=float(parts.stall_s[-1]), slot=-1)
    begin = np.append(0.0, np.cumsum(parts.total_s))
    for stay in plan.stays:
        seconds = float(begin[stay.end] - begin[max(0, stay.start)])
        times = [program.touches[i].time for i in program.touches_of_group[stay.group]]
        first = next((t for t in times if stay.start <= t < stay.end), max(0, stay.start))
        own[paths[first]].held += seconds * program.groups[stay.group].size_bytes
    return own


@dataclass(frozen=True)
class Measure:
    """What the areas of the icicle stand for: its `label`, and the value of some sums as text."""

    label: str
    attribute: str

    def value(self, sums: Sums) -> float:
        """The number of some sums."""
        return float(getattr(sums, self.attribute))

    def text(self, sums: Sums, runtime_s: float) -> str:
        """The number in words."""
        if self.attribute == "slow_bytes":
            return size_text(sums.slow_bytes)
        if self.attribute == "held":
            return f"{size_text(sums.held / runtime_s if runtime_s else 0.0)} on average"
        return time_text(self.value(sums))


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "time": Measure("Time", "total_s"),
        "lost": Measure("Time lost to slow memory and waits", "lost_s"),
        "bytes": Measure("Bytes from and to slow memory", "slow_bytes"),
        "held": Measure("Fast memory held", "held"),
    }
)


def icicle(tree: LayerTree, measure: Measure, name: str, height: int = 430) -> go.Figure:
    """The tree from the top down, in schedule order; a click opens a layer, as in a flame chart.

    Areas are what `measure` says; the colour is the share of a layer's time that is lost.
    """
    paths = [p for p, sums in tree.sums.items() if measure.value(sums) > 0 or not p]
    paths.sort(key=lambda p: (len(p), tree.sums[p].slot if tree.sums[p].slot >= 0 else 1e12))
    sums = [tree.sums[p] for p in paths]
    lost = [s.lost_s / s.total_s if s.total_s > 0 else 0.0 for s in sums]
    large = [share for share, s in zip(lost, sums, strict=True) if s.total_s > tree.runtime_s / 200]
    figure = go.Figure(
        go.Icicle(
            ids=[_id(p) for p in paths],
            parents=[_id(p[:-1]) if p else "" for p in paths],
            labels=[escaped(p[-1] if p else name) for p in paths],
            values=[measure.value(s) for s in sums],
            text=[measure.text(s, tree.runtime_s) for s in sums],
            hovertext=[_hover(p, s, tree, name) for p, s in zip(paths, sums, strict=True)],
            hovertemplate="%{hovertext}<extra></extra>",
            texttemplate="%{label}<br>%{text}",
            textfont={"color": _INK},
            branchvalues="total",
            sort=False,
            maxdepth=_SHOWN_LEVELS,
            tiling={"orientation": "v", "pad": 1},
            pathbar={"side": "top", "thickness": 24, "textfont": {"color": _INK}},
            marker={
                "colors": lost,
                "colorscale": _LOSS_COLOURS,
                "cmin": 0,
                "cmax": max(_LEAST_TOP, *large),
                "line": {"width": 0},
                "colorbar": {
                    "title": {"text": "lost", "side": "top"},
                    "tickformat": ".0%",
                    "thickness": 10,
                    "len": 0.9,
                },
            },
        )
    )
    figure.update_layout(
        height=height,
        margin={"l": 4, "r": 4, "t": 8, "b": 4},
        # What has no room for legible letters has none; its name is in the hover.
        uniformtext={"minsize": 9, "mode": "hide"},
    )
    return figure


def each_s(sums: Sums) -> float:
    """Seconds of one iteration of a loop, or of a branch when it is taken; of the rest, of all."""
    return sums.total_s / sums.times


def _id(path: Path) -> str:
    # No name holds this sign; a slash some do.
    return "\x1f".join(("·", *path))


def _hover(path: Path, sums: Sums, tree: LayerTree, name: str) -> str:
    share = sums.total_s / tree.runtime_s if tree.runtime_s else 0.0
    held = sums.held / tree.runtime_s if tree.runtime_s else 0.0
    runs = counts.count_text(sums.times)
    lines = [
        f"<b>{escaped(' / '.join(path) or name)}</b>",
        count_text(sums.instructions, "instruction"),
        f"{time_text(sums.total_s)}, {share_text(share)} of the program",
        *([f"runs {runs} times, {time_text(each_s(sums))} each"] * (sums.times != 1)),
        f"compute {time_text(sums.compute_s)}, slow accesses {time_text(sums.slow_s)},"
        f" stalls {time_text(sums.stall_s)}",
        f"{size_text(sums.slow_bytes)} from and to slow memory",
        f"{size_text(held)} of fast memory held on average",
    ]
    return "<br>".join(lines)


def folded(tree: LayerTree, depth: int) -> pd.DataFrame:
    """One row per layer at most so many levels deep, in schedule order: µs, and MiB.

    What is deeper is counted in its outer layer; rows add up to the whole.
    """
    rows: dict[Path, Sums] = {}
    for path, sums in tree.sums.items():
        if not path or len(path) > depth:
            continue
        if len(path) == depth:
            rows[path] = sums
        else:
            own = _without(sums, [s for p, s in tree.sums.items() if p[:-1] == path])
            if own.instructions or own.total_s > 1e-15:
                rows[path] = own
    order = sorted(rows, key=lambda p: rows[p].slot if rows[p].slot >= 0 else 1e12)
    shown = [rows[path] for path in order]
    return pd.DataFrame(
        {
            "layer": [" / ".join(path) for path in order],
            "instructions": [s.instructions for s in shown],
            "total": [1e6 * s.total_s for s in shown],
            "times": _whole_if_all([s.times for s in shown]),
            "each": [1e6 * each_s(s) for s in shown],
            "lost": [1e6 * s.lost_s for s in shown],
            "compute": [1e6 * s.compute_s for s in shown],
            "slow": [1e6 * s.slow_s for s in shown],
            "stall": [1e6 * s.stall_s for s in shown],
            "bytes": [s.slow_bytes / 2**20 for s in shown],
            "held": [s.held / 2**20 / tree.runtime_s if tree.runtime_s else 0.0 for s in shown],
            "slot": [s.slot for s in shown],
        }
    )


def _without(sums: Sums, inner: list[Sums]) -> Sums:
    """What a layer takes besides the layers that are in it."""
    names = ("instructions", "compute_s", "slow_s", "stall_s", "slow_bytes", "held")
    rest = {n: getattr(sums, n) - sum(getattr(i, n) for i in inner) for n in names}
    return Sums(**rest, slot=sums.slot, around=sums.around)


def _whole_if_all(times: Sequence[float]) -> list[float]:
    """Whole numbers as such, to be shown without decimals, unless one of them is none."""
    rounded = [round(t, 3) for t in times]
    return [int(t) for t in rounded] if all(t.is_integer() for t in rounded) else rounded


def origin_text(tree: LayerTree) -> str:
    """A sentence on how many of the layers' names are read, and how many guessed."""
    counts = tree.origins
    total = sum(counts.values())
    parts = [
        f"{counts.get(Origin.SOURCE, 0):,} by their source path",
        f"{counts.get(Origin.WEIGHTS, 0):,} by the weights that they read",
        f"{counts.get(Origin.NEIGHBOURS, 0):,} by their neighbours in the schedule",
    ]
    return f"Layers of {count_text(total, 'instruction')}: {', '.join(parts)}."

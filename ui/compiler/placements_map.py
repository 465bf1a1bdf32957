"""The map of a plan, its stays coloured by whether the compiler realised them; SVG."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from engine.plan.model import Plan, Stay
from engine.program.model import Program
from ui.compiler.placements import PART, REFUSED, WHOLE, Fate
from ui.components.map_svg import Frame
from ui.components.names import tensor_name
from ui.components.units import share_text, size_text

LEGEND: Mapping[str, str] = {
    WHOLE: "placed as planned",
    PART: "in part",
    REFUSED: "refused",
    "other": "not aimed at",
}
"""The class of a stay, and what it says."""
_WIDTH, _HEIGHT = 900, 300


def placements_map(program: Program, plan: Plan, fates: Mapping[int, Fate]) -> str:
    """Time across, address up; a stay says its tensor and the reason when pointed at.

    `fates`: by alias group.
    """
    frame = Frame(program, 0, 0, _WIDTH, _HEIGHT)
    stays = "".join(_stay(program, frame, stay, fates.get(stay.group)) for stay in plan.stays)
    label = escape(f"What the compiler realised of a plan of {program.name}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{label}" preserveAspectRatio="none">{stays}</svg>'
    )


def _stay(program: Program, frame: Frame, stay: Stay, fate: Fate | None) -> str:
    size = program.groups[stay.group].size_bytes
    x, y, wide, high = frame.box(stay.start, stay.end, stay.offset, size)
    kind = fate.kind if fate else "other"
    told = f": {fate.reason}" if fate and fate.reason else ""
    part = f" ({share_text(fate.realised)})" if fate and fate.kind == PART else ""
    words = f"{tensor_name(program, stay.group)}, {size_text(size)}, {LEGEND[kind]}{part}{told}"
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(0.6, wide - 0.4):.1f}"'
        f' height="{max(0.6, high - 0.4):.1f}"><title>{escape(words)}</title></rect>'
    )

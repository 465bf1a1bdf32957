"""The map of a plan, its stays coloured by whether the compiler realised them.

HTML, not SVG: Streamlit lets no SVG through, and a picture could not say what is under the pointer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from engine.plan.model import Plan, Stay
from engine.program.model import Program
from ui.components.names import tensor_name
from ui.components.units import share_text, size_text
from ui.model.compiler.placements import PART, REFUSED, WHOLE, Fate

LEGEND: Mapping[str, str] = {
    WHOLE: "placed as planned",
    PART: "in part",
    REFUSED: "refused",
    "other": "not aimed at",
}
"""The class of a stay, and what it says."""


def placements_map(program: Program, plan: Plan, fates: Sequence[Fate]) -> str:
    """The map as HTML: time across, address up, a legend; a stay's title has the reason."""
    of = {fate.group: fate for fate in fates}
    stays = "".join(_stay(program, stay, of.get(stay.group)) for stay in plan.stays)
    keys = "".join(f'<span><i class="{kind}"></i>{words}</span>' for kind, words in LEGEND.items())
    label = escape(f"What the compiler realised of a plan of {program.name}")
    return (
        f'<div class="placements"><div class="ground" role="img" aria-label="{label}">{stays}</div>'
        f'<div class="keys">{keys}</div></div>'
    )


def _stay(program: Program, stay: Stay, fate: Fate | None) -> str:
    size, room, slots = (
        program.groups[stay.group].size_bytes,
        program.hardware.fast_bytes,
        program.num_slots,
    )
    start = max(0, stay.start)
    place = (
        f"left:{100 * start / slots:.3f}%;width:{100 * (stay.end - start) / slots:.3f}%;"
        f"bottom:{100 * stay.offset / room:.3f}%;height:{100 * size / room:.3f}%"
    )
    kind = fate.kind if fate else "other"
    return f'<i class="{kind}" style="{place}" title="{escape(_words(program, stay, fate))}"></i>'


def _words(program: Program, stay: Stay, fate: Fate | None) -> str:
    size = size_text(program.groups[stay.group].size_bytes)
    reason = f": {fate.reason}" if fate and fate.reason else ""
    part = f" ({share_text(fate.realised)})" if fate and fate.kind == PART else ""
    kind = LEGEND[fate.kind if fate else "other"]
    return f"{tensor_name(program, stay.group)}, {size}, {kind}{part}{reason}"

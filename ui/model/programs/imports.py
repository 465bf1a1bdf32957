"""What became of a visitor's files: which were used for what, and what would tell more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.program.model import Program
from engine.program.origin import CYCLES, FITTED, ROOFLINE
from ui.components.units import share_text

_SECOND = "The dump of a second compile, with other placements, from which savings can be fitted."
_BUFFERS = "The buffer-assignment dump of the second compile, which has XLA's own addresses."


def summary(program: Program, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Facts of an import as (name, text); `names`: the files that were brought."""
    origin = program.provenance
    facts = [("Files", _files(origin, names)), ("Costs", _costs(origin))]
    facts.append(("XLA's plan", _plan(origin.get("xla_plan"))))
    help_text = _would_help(origin)
    return (*facts, ("Would help", help_text)) if help_text else tuple(facts)


def _files(origin: Mapping[str, Any], names: Sequence[str]) -> str:
    roles = {origin.get("slow"): "the dump"}
    if "fast" in origin:
        roles = {origin["slow"]: "all slow", origin["fast"]: "XLA's placements"}
        roles |= {name: "addresses" for name in names if name not in roles}
    return ", ".join(f"{name} ({roles[name]})" if name in roles else name for name in names)


def _costs(origin: Mapping[str, Any]) -> str:
    costs = origin.get("costs")
    if costs == FITTED:
        error = abs(float(origin.get("fit_error", 0.0)))
        return f"fitted to both dumps; the second one's total is met within {share_text(error)}"
    if costs == CYCLES:
        return "the compiler's cycles; what fast memory saves is estimated from the bytes"
    if costs == ROOFLINE:
        return "estimated from operations and bytes: the dump states no cycles"
    return "as the file says"


def _plan(plan: Mapping[str, Any] | None) -> str:
    if plan is None:
        return "not in these files"
    notes = plan.get("notes", {})
    read = 1.0 - float(notes.get("left_out_saving_share", 0.0))
    how = ", packed anew since its addresses are not known" if _is_repacked(plan) else ""
    return f"{share_text(read)} of its saving was read{how}"


def _is_repacked(plan: Mapping[str, Any]) -> bool:
    return "offsets" in plan.get("notes", {})


def _would_help(origin: Mapping[str, Any]) -> str:
    if origin.get("costs") == CYCLES:
        return _SECOND
    if origin.get("costs") == FITTED and _is_repacked(origin["xla_plan"]):
        return _BUFFERS
    if origin.get("costs") == ROOFLINE:
        return "A dump of the TPU compiler, which states the cycles of each instruction."
    return ""

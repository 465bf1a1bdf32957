"""The sample programs: what the gallery says of each, and which of them a filter lets pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from htpy import Renderable, b, div, em, i, s, span, u

from engine.hardware.unestimated_share import NOTABLE_SHARE
from engine.hardware.what_if import KIND
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.program.proof import PROVEN_GAP, gap
from engine.program.provenance import Observed, observed
from ui.components.html import image_html
from ui.components.units import count_text, share_text, size_text, time_text, times_text

TEACHING = "teaching"
REAL = "as teams have them"
"""Programs with a feature that dense ones for one chip have not."""
_FAMILIES = {
    "image": (
        "resnet",
        "alexnet",
        "vgg",
        "mobilenet",
        "efficientnet",
        "densenet",
        "inception",
        "vit",
        "mixer",
    ),
    "diffusion": ("unet",),
    "decoding": ("gptdecode", "llamadecode"),
    "language": ("bert", "t5", "gpt", "llama", "lstm"),
    "recommendation": ("dlrm",),
    "games": ("alphatensor",),
}


@dataclass(frozen=True)
class Filter:
    """What the visitor looks for; empty fields let everything through."""

    words: str = ""
    hardware: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    steps: str = ""
    is_contested: bool = False
    sort: str = "as listed"


SORTS: Mapping[str, Callable[[SampleEntry], float | str]] = MappingProxyType(
    {
        "as listed": lambda entry: 0,
        "XLA furthest from the bound": lambda e: -_or_last(gap(e.xla_latency_s, e.bound_s)),
        "best furthest from the bound": lambda e: -_or_last(gap(e.best_s, e.bound_s)),
        "longest": lambda entry: -entry.instructions,
        "shortest": lambda entry: entry.instructions,
        "name": lambda entry: short_title(entry).lower(),
    }
)
"""Orders of the gallery; what is equal stays as it is listed."""


def _or_last(over: float | None) -> float:
    return -1.0 if over is None else over


def family(entry: SampleEntry) -> str:
    """What kind of model a sample is of; programs made by hand are for teaching."""
    if entry.feature:
        return REAL
    if entry.model in ("", TEACHING):
        return TEACHING
    names = (n for n, heads in _FAMILIES.items() if entry.model.startswith(heads))
    return next(names, "other")


def step_of(entry: SampleEntry) -> str:
    """`training`, `inference`, or nothing for a program made by hand."""
    if family(entry) == TEACHING:
        return ""
    return "training" if entry.train else "inference"


def matching(entries: Sequence[SampleEntry], wish: Filter) -> list[SampleEntry]:
    """The samples that a filter lets through, in its order; every word must occur in the entry."""
    words = wish.words.lower().split()
    hits = [e for e in entries if _matches(e, wish) and all(w in _text(e) for w in words)]
    return sorted(hits, key=SORTS[wish.sort])


def _matches(entry: SampleEntry, wish: Filter) -> bool:
    return (
        (not wish.hardware or entry.hardware in wish.hardware)
        and (not wish.families or family(entry) in wish.families)
        and (not wish.steps or step_of(entry) == wish.steps)
        and (not wish.is_contested or entry.is_contested)
    )


def _text(entry: SampleEntry) -> str:
    words = (entry.name, entry.title, family(entry), step_of(entry), entry.feature)
    return " ".join(words).lower()


def short_title(entry: SampleEntry) -> str:
    """The title up to the first comma, with the batch size; whole where there is none."""
    if not entry.batch:
        return entry.title or entry.name
    head = re.split("[,:]", entry.title)[0]
    return f"{head}, batch {entry.batch}" + (", training" if entry.train else "")


def card_html(entry: SampleEntry, picture: str) -> str:
    """One sample: its memory map, what it is, and how far plans are from the bound."""
    size = f"{count_text(entry.instructions, 'instruction')}, {count_text(entry.values, 'tensor')}"
    gaps = (
        ("XLA", gap(entry.xla_latency_s, entry.bound_s)),
        (_best_name(entry), gap(entry.best_s, entry.bound_s)),
    )
    share = entry.unestimated_share or 0.0
    silent = f"{share_text(share)} without an estimate" if share > NOTABLE_SHARE else ""
    about = " · ".join(filter(None, (entry.feature, entry.hardware, size, silent)))
    return _card(picture, short_title(entry), about, gaps)


def own_card_html(
    name: str, program: Program, gaps: Sequence[tuple[str, float | None]], picture: str
) -> str:
    """A program that the visitor brought; `gaps`: of its plans to the bound, where known."""
    tensors = count_text(len(program.values), "tensor")
    size = f"{count_text(program.num_slots, 'instruction')}, {tensors}"
    return _card(picture, name, f"{program.hardware.name} · {size}", gaps)


def _card(picture: str, name: str, about: str, gaps: Sequence[tuple[str, float | None]]) -> str:
    bars = (_gap_html(label, over) for label, over in gaps if over is not None)
    return str(div(".card")[div(".thumb")[image_html(picture)], b[name], span[about], bars])


def _best_name(entry: SampleEntry) -> str:
    return f"best, {entry.best_solver}" if entry.best_solver else "best known"


def _gap_html(label: str, over: float) -> Renderable:
    """A bar for the distance to the bound: full at half as much again as the bound."""
    width = min(100.0, 200 * over)
    text = "optimal" if over < PROVEN_GAP else f"+{share_text(over)}"
    return div(".gap", title="gap to the proven bound")[
        i[label], u[s(style=f"width:{width:.1f}%")], em[text]
    ]


def facts(program: Program) -> list[tuple[str, str]]:
    """What one sees of a program at a glance, as (name, text)."""
    hardware = program.hardware
    savings = program.all_slow_s - program.all_fast_s
    kind = hardware.fast_name
    name = kind if "memory" in kind else f"fast memory ({kind})"
    memory = f"{hardware.name}, {size_text(hardware.fast_bytes)} of {name}"
    weights = sum(g.size_bytes for g in program.groups if g.is_input)
    others = sum(g.size_bytes for g in program.groups if not g.is_input)
    rows = [
        ("Hardware", f"{memory}, {hardware.bandwidth / 1e9:,.0f}\N{NO-BREAK SPACE}GB/s behind it"),
        ("Length", count_text(program.num_slots, "instruction") + _loops(program)),
        ("Tensors", f"{size_text(weights)} of inputs, {size_text(others)} made on the way"),
        ("All slow", time_text(program.all_slow_s)),
        ("All fast", "{}, {} less".format(*times_text(program.all_fast_s, savings))),
    ]
    if basis := observed(program):
        rows.append(("Observed", _basis_text(basis)))
    if program.provenance.get("kind") == KIND:
        source, chip = map(program.provenance.get, ("derived_from", "original_hardware"))
        text = f"from {source or 'another program'!s:.200} ({chip or 'unknown hardware'!s:.80})"
        rows.append(("Derived", f"{text}, not a compilation"))
    return rows


def _basis_text(basis: Observed) -> str:
    """What the savings rest on: shown by compiles, counted on other grounds, not counted."""
    text = f"{share_text(basis.share)} of what fast memory may save, use by use"
    estimated, uncounted = times_text(basis.estimated_s, basis.uncounted_s)
    if basis.estimated_s > 0:
        text += f"; {estimated} counts that no compile shows by itself"
    if basis.uncounted_s > 0:
        text += f"; up to {uncounted} more does not count"
    return text


def _loops(program: Program) -> str:
    if not program.regions:
        return ""
    return f", of them {sum(i.level >= 0 for i in program.instructions):,} in loops or branches"

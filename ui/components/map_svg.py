"""The memory map as SVG: small for the gallery, large and labelled for export.

The kinds of tensors have the colours of the light theme; thumbnails have no ground of their own and
read on both themes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from html import escape

from engine.plan.model import Plan
from engine.program.model import Program
from ui.components.names import KIND_NAMES, kind_of_stay, slots_text, tensor_name
from ui.components.units import size_text, time_text

COLOURS = ("#3f7fd9", "#2a9d80", "#cf5c9a", "#8b5cc7")
"""Colours by kind, as `ui.components.names` numbers the kinds."""

_SCRATCH = "#8a94a3"
_WIDTH, _HEIGHT = 1200, 560
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 16, 44, 74
_NUM_TICKS = 8
_LEAST_LABEL = (48, 13)
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Signs that no XML may hold, not even escaped."""


def _text(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text))


class _Frame:
    """The mapping from slots and bytes to the picture's coordinates."""

    def __init__(self, program: Program, left: float, top: float, width: float, height: float):
        self._left, self._bottom = left, top + height
        self._slot = width / max(1, program.num_slots)
        self._byte = height / program.hardware.fast_bytes

    def box(self, start: int, end: int, low: int, size: int) -> tuple[float, float, float, float]:
        """x, y, width, height of the bytes `[low, low + size)` during `[start, end)`."""
        x = self._left + max(0, start) * self._slot
        width = (end - max(0, start)) * self._slot
        return x, self._bottom - (low + size) * self._byte, width, size * self._byte


def thumbnail(program: Program, plan: Plan | None, width: int = 280, height: int = 96) -> str:
    """The map without any text; one path per kind keeps it to a few kB."""
    frame = _Frame(program, 0, 0, width, height)
    parts = [_scratch(program, frame, _SCRATCH, 0.35)]
    if plan is not None:
        paths: dict[int, list[str]] = defaultdict(list)
        for stay in plan.stays:
            kind = kind_of_stay(program.groups[stay.group], stay.start)
            size = program.groups[stay.group].size_bytes
            x, y, wide, high = frame.box(stay.start, stay.end, stay.offset, size)
            # What is thinner than a third of a pixel cannot be seen; the rest needs one decimal.
            if wide * high > 0.3:
                paths[kind].append(
                    f"M{x:.1f} {y:.1f}h{max(0.6, wide - 0.3):.1f}v{high:.1f}H{x:.1f}z"
                )
        parts += [f'<path fill="{COLOURS[k]}" d="{"".join(d)}"/>' for k, d in sorted(paths.items())]
    label = _text(f"Memory map of {program.name}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="{label}" preserveAspectRatio="none">{"".join(parts)}</svg>'
    )


def picture(program: Program, plan: Plan, name: str, latency_s: float) -> str:
    """The whole map with axes, names of the larger stays, and a legend."""
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    frame = _Frame(program, _LEFT, _TOP, width, height)
    title = f"{program.name}, {name}: {time_text(latency_s)}"
    body = [
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="26" font-size="17" font-weight="600">{_text(title)}</text>',
        f'<rect x="{_LEFT}" y="{_TOP}" width="{width}" height="{height}" fill="#f4f6f9"/>',
        *_grid(program, width, height),
        _scratch(program, frame, _SCRATCH, 0.45),
        *_stays(program, plan, frame),
        *_legend(),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}"'
        f' height="{_HEIGHT}" font-family="system-ui, sans-serif" font-size="12" fill="#1b2430">'
        f"<title>{_text(title)}</title>{''.join(body)}</svg>\n"
    )


def _scratch(program: Program, frame: _Frame, colour: str, opacity: float) -> str:
    """Scratch as runs of equal height."""
    runs, begin = [], 0
    for slot in range(1, program.num_slots + 1):
        height = program.instructions[begin].reserved_bytes
        if slot < program.num_slots and program.instructions[slot].reserved_bytes == height:
            continue
        if height:
            x, y, wide, high = frame.box(begin, slot, 0, height)
            runs.append(f"M{x:.1f} {y:.1f}h{wide:.1f}v{high:.1f}H{x:.1f}z")
        begin = slot
    return f'<path fill="{colour}" fill-opacity="{opacity}" d="{"".join(runs)}"/>' if runs else ""


def _grid(program: Program, width: float, height: float) -> list[str]:
    lines = []
    for part in range(5):
        y = _TOP + height * (1 - part / 4)
        text = size_text(program.hardware.fast_bytes * part / 4) if part else "0"
        lines.append(f'<path stroke="#d5dde6" d="M{_LEFT} {y:.1f}h{width}"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for part in range(_NUM_TICKS + 1):
        slot = round(program.num_slots * part / _NUM_TICKS)
        x = _LEFT + width * part / _NUM_TICKS
        lines.append(
            f'<text x="{x:.1f}" y="{_TOP + height + 18}" text-anchor="middle">{slot}</text>'
        )
    middle = _LEFT + width / 2
    lines.append(f'<text x="{middle}" y="{_TOP + height + 36}" text-anchor="middle">slot</text>')
    return lines


def _stays(program: Program, plan: Plan, frame: _Frame) -> list[str]:
    shapes = []
    for stay in plan.stays:
        group = program.groups[stay.group]
        x, y, wide, high = frame.box(stay.start, stay.end, stay.offset, group.size_bytes)
        colour = COLOURS[kind_of_stay(group, stay.start)]
        name = tensor_name(program, stay.group)
        slots = slots_text(stay.start, stay.end)
        about = _text(f"{name}, {size_text(group.size_bytes)}, {slots}")
        shapes.append(
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(0.5, wide - 0.6):.2f}"'
            f' height="{max(0.4, high - 0.4):.2f}" fill="{colour}"><title>{about}</title></rect>'
        )
        if wide > _LEAST_LABEL[0] and high > _LEAST_LABEL[1]:
            text = _text(name[: int(wide / 6.4)])
            shapes.append(
                f'<text x="{x + 4:.1f}" y="{y + high / 2 + 4:.1f}" font-size="11"'
                f' fill="#ffffff">{text}</text>'
            )
    return shapes


def _legend() -> list[str]:
    items, x = [], _LEFT
    for kind, name in enumerate(KIND_NAMES):
        items.append(
            f'<rect x="{x}" y="{_HEIGHT - 24}" width="14" height="11" fill="{COLOURS[kind]}"/>'
            f'<text x="{x + 20}" y="{_HEIGHT - 14}">{name}</text>'
        )
        x += 130
    items.append(
        f'<rect x="{x}" y="{_HEIGHT - 24}" width="14" height="11" fill="{_SCRATCH}"'
        f' fill-opacity="0.45"/><text x="{x + 20}" y="{_HEIGHT - 14}">scratch</text>'
    )
    return items

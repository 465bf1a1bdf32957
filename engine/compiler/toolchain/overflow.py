"""The compiler's refusals for want of memory: which kernel, how much, and what takes the most.

XLA says so in sentences and, for the whole program, in a list of its largest allocations
(`CompileTimeScopedVmemOom` and `Ran out of memory in memory space …`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SHOWN = 8
"""Allocations that are listed."""

_SPACE = re.compile(r"Ran out of memory (?:in memory space|on) (\w+)")
_KERNEL = re.compile(r"while allocating on stack for %?([^\s=]+) = (\S+)")
_SCOPED = re.compile(r"[Ss]coped allocation with size (\S+) and limit (\S+)")
_WHOLE = re.compile(r"Used (\S+) of (\S+) \w+\.")
_TEMPORARY = re.compile(r"temporaries \(([\d.]+\w)\) exceeds available \w+ \(([\d.]+\w)\)")
_FIELD = re.compile(r"^\s*(?:\d+\. )?(Size|Shape|Tag|Operator|XLA label): (.*)$")


@dataclass(frozen=True)
class Allocation:
    """One of the largest allocations; texts as the compiler gives them, empty if it gives none."""

    size: str
    shape: str
    owner: str
    purpose: str


@dataclass(frozen=True)
class Overflow:
    """A memory that is too small.

    `space`: `VMEM` or `HBM`. `kernel`: the instruction that asked for too much; empty where the
    program as a whole does. `used`, `limit`: as text with a unit, like `128.00M`.
    """

    space: str
    kernel: str
    used: str
    limit: str
    is_scoped: bool
    allocations: tuple[Allocation, ...] = ()

    @property
    def sentence(self) -> str:
        """What is too small, by how much, and what helps."""
        asks = f"{self.kernel} needs" if self.kernel else "it needs"
        limit = "and its scoped limit is" if self.is_scoped else "and there are"
        said = f"out of {self.space}: {asks} {self.used}, {limit} {self.limit}"
        if self.is_scoped:
            return f"{said}; make its blocks smaller, or raise xla_tpu_scoped_vmem_limit_kib"
        return said

    @property
    def table(self) -> tuple[str, ...]:
        """The refusal as lines of a small table."""
        rows = [
            ("memory", self.space + (", scoped" if self.is_scoped else "")),
            ("kernel", self.kernel),
            ("used", self.used),
            ("limit", self.limit),
        ]
        lines = [f"{name:8} {text}" for name, text in rows if text]
        if self.allocations:
            lines.append(f"{'size':>10}  {'allocation':32} {'shape':28} purpose")
        lines += [
            f"{a.size:>10}  {a.owner:32.32} {a.shape:28.28} {a.purpose:.60}".rstrip()
            for a in self.allocations[:SHOWN]
        ]
        return tuple(lines)


def parse_overflow(message: str) -> Overflow | None:
    """The overflow that a refusal of the compiler speaks of; None if it speaks of none."""
    space = _SPACE.search(message)
    sizes = [pattern.search(message) for pattern in (_SCOPED, _WHOLE, _TEMPORARY)]
    found = next((match for match in sizes if match is not None), None)
    if space is None or found is None:
        return None
    kernel = _KERNEL.search(message)
    allocations = _allocations(message)
    if kernel is not None and not allocations:
        allocations = (Allocation(found[1], kernel[2], kernel[1], ""),)
    return Overflow(
        space=space[1].upper(),
        kernel=kernel[1] if kernel else "",
        used=found[1],
        limit=found[2],
        is_scoped=sizes[0] is not None,
        allocations=allocations,
    )


def _allocations(message: str) -> tuple[Allocation, ...]:
    """The numbered list of allocations; each begins with its size."""
    listed: list[dict[str, str]] = []
    for line in message.splitlines():
        if match := _FIELD.match(line):
            if match[1] == "Size":
                listed.append({})
            if listed:
                listed[-1].setdefault(match[1], match[2].strip())
    return tuple(
        Allocation(
            size=fields.get("Size", ""),
            shape=fields.get("Shape", ""),
            owner=fields.get("XLA label", fields.get("Operator", "")).partition(" = ")[0],
            purpose=fields.get("Tag", "").partition(". ")[0],
        )
        for fields in listed
    )

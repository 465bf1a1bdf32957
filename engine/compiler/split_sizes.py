"""Sizes of what a chip with two cores splits between them, in fast memory only."""

from __future__ import annotations

from dataclasses import replace

from engine.compiler.matching import Matching
from engine.program.hlo.build import Imported
from engine.program.hlo.flow import Flow
from engine.program.hlo.shape import size_bytes


def with_split_sizes(imported: Imported, flow: Flow) -> Imported:
    """The program with smaller sizes for what XLA splits between two cores in fast memory only.

    On a chip with two cores a prefetched parameter may take half of its bytes in the fast memory of
    each, while it lies whole in slow memory, where the all-slow compile has it. `flow`: of the
    default compile. The work of a copy follows the size, as for all that is split.
    """
    sizes = _split_sizes(Matching(imported, flow))
    program = imported.program
    values = tuple(
        replace(value, size_bytes=min(value.size_bytes, sizes.get(value.group, value.size_bytes)))
        for value in program.values
    )
    return replace(imported, program=replace(program, values=values))


def _split_sizes(matching: Matching) -> dict[int, int]:
    """Group -> bytes of its largest value in fast memory, where all of them are split."""
    sizes: dict[int, int] = {}
    whole: set[int] = set()
    for value, known in enumerate(matching.flow.values):
        group = matching.group(value)
        if group is None or not matching.is_in_fast_memory(value) or matching.is_slice(value):
            continue
        if not known.shape.layout.split_configs:
            whole.add(group)
        sizes[group] = max(sizes.get(group, 0), size_bytes(known.shape))
    return {group: size for group, size in sizes.items() if group not in whole}

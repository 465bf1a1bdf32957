"""Results that XLA cannot write to fast memory, on hardware where there are such.

On v5p two cores share the work of an instruction, each with a VMEM of its own. There only loop
fusions leave their results in VMEM: in seven programs at 3 to 23 placements each, 172 of their 178
results that fit did so, and none of the 337 of convolution fusions, gathers and unfused
instructions. XLA may still prefetch such a result afterwards. Our rules know no group that is fast
to read but slow to write, so it is slow for good here; a program is of use where XLA's plan loses
next to nothing by that (`left_out_saving_share`). Bounds hold for plans that keep to it, too.
"""

from __future__ import annotations

from dataclasses import replace

from engine.program.hlo.build import Imported
from engine.program.hlo.module import backend_config
from engine.program.hlo.record import Event

LOOP_FUSIONS_ONLY = frozenset({"tpu-v5p"})
"""Hardware on which only loop fusions write to fast memory."""


def without_unwritable(imported: Imported) -> Imported:
    """The program with what XLA cannot write to fast memory marked as slow for good."""
    program = imported.program
    if program.hardware.name not in LOOP_FUSIONS_ONLY or not imported.has_cycles:
        return imported
    events = imported.flow.events
    able = [is_loop_fusion(events[number]) for number in imported.events]
    unwritable = {a.value for a in program.accesses if a.is_write and not able[a.time]}
    values = tuple(
        replace(value, may_be_fast=value.may_be_fast and number not in unwritable)
        for number, value in enumerate(program.values)
    )
    return replace(imported, program=replace(program, values=values))


def is_loop_fusion(event: Event) -> bool:
    """Whether XLA's TPU backend runs the event as a loop over windows, without a convolution."""
    config = backend_config(event.instruction)
    is_windowed = "window_config" in config and "convolution_algorithm_config" not in config
    return event.instruction.opcode == "fusion" and is_windowed

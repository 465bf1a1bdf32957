"""What XLA cannot serve from fast memory: results on some hardware, operands of other threads.

On v5p two cores share the work of an instruction, each with a VMEM of its own. There only loop
fusions write their results to VMEM; those of convolution fusions, gathers, sorts and unfused
instructions (copies among them) go to HBM, from where XLA prefetches them for later reads. Source:
compiles of small programs and of whole models in which every buffer was handled first once
(`assign_first`): no other result was ever placed, and every one of a loop fusion that fits was.
"""

from __future__ import annotations

from dataclasses import replace

from engine.compiler.reading.observation import observe
from engine.program.hlo.build import Imported
from engine.program.hlo.flow import Flow
from engine.program.hlo.module import backend_config
from engine.program.hlo.record import Event
from engine.program.model import Program

LOOP_FUSIONS_ONLY = frozenset({"tpu-v5p"})
"""Hardware on which only loop fusions write to fast memory."""


def with_unwritable(imported: Imported) -> Imported:
    """The program with the writes that XLA cannot make to fast memory marked `must_be_slow`."""
    program = imported.program
    if program.hardware.name not in LOOP_FUSIONS_ONLY or not imported.has_cycles:
        return imported
    events = imported.flow.events
    is_able = [is_loop_fusion(events[number]) for number in imported.events]
    barred = {n for n, a in enumerate(program.accesses) if a.is_write and not is_able[a.time]}
    return replace(imported, program=_must_be_slow(program, barred))


def is_loop_fusion(event: Event) -> bool:
    """Whether XLA's TPU backend runs the event as a loop over windows, without a convolution."""
    config = backend_config(event.instruction)
    is_windowed = "window_config" in config and "convolution_algorithm_config" not in config
    return event.instruction.opcode == "fusion" and is_windowed


def _must_be_slow(program: Program, barred: set[int]) -> Program:
    """The program with these accesses slow for good; what they were to save is always spent."""
    spent_s = [0.0] * program.num_slots
    for number in barred:
        spent_s[program.accesses[number].time] += program.accesses[number].saving_s
    return replace(
        program,
        instructions=tuple(
            replace(instruction, fast_s=instruction.fast_s + more)
            for instruction, more in zip(program.instructions, spent_s, strict=True)
        ),
        accesses=tuple(
            replace(access, saving_s=0.0, must_be_slow=True) if number in barred else access
            for number, access in enumerate(program.accesses)
        ),
    )


def with_reached(imported: Imported, flow: Flow) -> Imported:
    """The program in which what another compile serves from fast memory need not be slow.

    By default what runs on another thread finds its operands in slow memory
    (`engine.program.hlo.build`); `flow` of a default compile shows where the compiler knows better.
    """
    program = imported.program
    seen = observe(imported, flow).is_fast
    accesses = tuple(
        replace(access, must_be_slow=False) if access.must_be_slow and is_fast else access
        for access, is_fast in zip(program.accesses, seen, strict=True)
    )
    return replace(imported, program=replace(program, accesses=accesses))

"""A program of three uses: one told by compiles, one in part, one never seen fast."""

from __future__ import annotations

from dataclasses import replace

from engine.program.model import Program
from tests.plan.cases import Buffer, program_of

SHOWN_S, COUNTED_S, MORE_S, UNSEEN_S = 256.0, 128.0, 64.0, 40.0
LARGE, SMALL, LATE = range(3)
"""The accesses: both operands of the first instruction, and the only one of the second."""


def uncertain(floor_s: float = 0.0) -> Program:
    """Group 0 is read by the first instruction, as is group 1, which may save more; group 2 by the
    second, of which nothing counts.
    """
    sizes = ((256, "r0"), (128, "r0"), (64, "r1"))
    buffers = [Buffer(size, touches, is_input=True) for size, touches in sizes]
    program = program_of(buffers, 2, fast_s=100.0)
    large, small, late = program.accesses
    first, second = program.instructions
    return replace(
        program,
        instructions=(replace(first, floor_s=floor_s), replace(second, fast_s=164.0)),
        accesses=(
            large,
            replace(small, uncertainty_s=MORE_S),
            replace(late, saving_s=0.0, uncertainty_s=UNSEEN_S),
        ),
        provenance={"fit": {}},
    )

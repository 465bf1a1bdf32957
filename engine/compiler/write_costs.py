"""What it costs to write into fast memory, where that is slower: charged to those who read it.

The format has no negative savings: each would be a wish to be slow, which every solver, the bound
and the game would have to know. A value is written into fast memory for its reads, so that what
the write takes longer is taken from what the reads save, the first one first. A plan that writes
and reads there costs what the compiler says; one that writes elsewhere and copies the value in is
credited with too little, never with too much.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.compiler.observe import Observation
from engine.program.model import Program

MOSTLY = 0.5
"""In more than half of the compiles in which a read was fast the write was, too."""


def charged_to_reads(
    program: Program, savings: NDArray[np.float64], seen: Sequence[Observation]
) -> NDArray[np.float64]:
    """The savings `[A]` per execution, none negative: what a write costs, its group's reads pay.

    Only reads pay that were mostly served from fast memory when the write was. What they cannot
    pay is left out: nobody gains by such a write.
    """
    is_fast = np.array([one.is_fast for one in seen], dtype=bool).reshape(len(seen), len(savings))
    levels = [program.instructions[a.time].level for a in program.accesses]
    times = np.array([program.multiplicity(level) for level in levels], dtype=np.float64)
    paid = np.maximum(savings, 0.0)
    reads: dict[int, list[int]] = defaultdict(list)
    for index, access in enumerate(program.accesses):
        if not access.is_write:
            reads[program.values[access.value].group].append(index)
    for index in np.flatnonzero(savings < 0).tolist():
        access = program.accesses[index]
        cost = -savings[index] * times[index]
        for read in reads[program.values[access.value].group]:
            written = is_fast[is_fast[:, read], index]
            if program.accesses[read].time > access.time and written.sum() > MOSTLY * len(written):
                part = min(cost, paid[read] * times[read])
                paid[read] -= part / times[read]
                cost -= part
    return paid

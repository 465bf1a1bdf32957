"""What compiles say of cycles: pairs that agree, and those that do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.observed import agreement, counts, lines, per_transfer
from engine.compiler.costs.observations import Compile, Observations
from engine.compiler.reading.observation import Observation
from tests.compiler.tiny_compiler import hlo
from tests.program.hlo.modules import imported


def test_pairs_with_two_counts_are_found() -> None:
    program = imported(hlo([])).program
    num_slots, num_accesses = program.num_slots, len(program.accesses)
    slow = Observation(np.full(num_slots, 100.0), np.zeros(num_accesses, dtype=bool))
    other = Observation(slow.cycles.copy(), slow.is_fast)
    other.cycles[0] = 90.0
    fast = Observation(np.full(num_slots, np.nan), np.ones(num_accesses, dtype=bool))
    fast.cycles[0] = 50.0
    made = [Compile(name, {}, seen) for name, seen in (("a", other), ("b", fast))]
    pools = tuple(0 for _ in range(num_slots))
    seen = Observations("x", "", {}, pools, Compile("slow", {}, slow), tuple(made))
    own = counts(program, seen, lambda slot: slot)
    assert agreement(own) == (num_slots, 1)
    assert agreement(counts(program, seen, seen.pools.__getitem__)) == (1, 1)
    told = [line.split()[1:] for line in lines(program, own)]
    assert told[:2] == [["y", "fff", "50"], ["y", "sss", "100"]]


def test_savings_are_compared_with_transfers_where_placements_tell_them_apart() -> None:
    program = imported(hlo([])).program
    first, second, *others = program.accesses
    program = replace(
        program,
        accesses=(
            replace(first, saving_s=3e-6, slow_bytes=1000),
            replace(second, saving_s=1e-6, slow_bytes=1000, uncertainty_s=1e-6),
            *(replace(access, saving_s=0.0) for access in others),
        ),
    )
    assert program.hardware.bandwidth == 1e9
    assert per_transfer(program) == [3.0]

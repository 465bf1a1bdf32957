"""Settings of the XLA-like solver; the defaults are those measured on the TPU compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MsaOptions:
    """Knobs of XLA's memory space assignment, named after its flags.

    The three overlap ratios compare the time between a copy's start and its use with the copy's
    own time; the largest counts in copies of the whole fast memory. `while_execution_count` is the
    trip count that the heuristic assumes for every loop. `priorities` moves groups in the order of
    placement (lower is earlier, 0 where absent), like XLA's sort order overrides.

    The compiler's flag for repacking says 4, but its plans come out the same with 0, also where
    repacking would change ours: none of its repackers is switched on. So the default is 0 here.
    """

    min_overlap_ratio: float = 1.0
    preferred_overlap_ratio: float = 2.0
    max_overlap_to_mem_size_ratio: float = 8.0
    max_outstanding_prefetches: int = 40
    max_outstanding_evictions: int = 40
    max_retries: int = 2
    max_repacks: int = 0
    inefficient_use_to_copy_ratio: float = 0.5
    while_execution_count: float = 5.0
    frees_cross_program_prefetch: bool = True
    max_occupied_ratio: float = 0.6
    priorities: Mapping[int, int] = field(default_factory=dict)

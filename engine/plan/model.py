"""Plan: which accesses are served from fast memory, where, when, and by which copies.

The rules that make a plan valid stand in `docs/model.md`; `engine.plan.check` applies them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

BEFORE_START = -1
"""Start of a stay whose content the previous run of the program left in place."""


@dataclass(frozen=True, slots=True)
class Stay:
    """`group` holds `[offset, offset + size)` of the fast memory during slots `[start, end)`.

    >>> stay = Stay(group=3, offset=4096, start=10, end=12)
    >>> [slot for slot in range(9, 14) if stay.start <= slot < stay.end]
    [10, 11]
    """

    group: int
    offset: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Copy:
    """An asynchronous copy that may use slots `start … deadline - 1`.

    A prefetch goes from slow to fast memory, a write-back from fast to slow. It must be complete
    before instruction `deadline` runs; the number of slots stands for the end of the program.

    >>> prefetch = Copy(group=3, is_prefetch=True, start=7, deadline=10)
    >>> list(range(prefetch.start, prefetch.deadline))
    [7, 8, 9]
    """

    group: int
    is_prefetch: bool
    start: int
    deadline: int


@dataclass(frozen=True)
class Plan:
    """One complete decision for one program; immutable.

    `is_fast` has one flag per access. `copies` are in order of service. `notes` is free JSON
    (seed, seconds, what an import left out …).

    >>> from engine.program.library import load_sample
    >>> from engine.solvers import solve
    >>> plan = solve("greedy", load_sample("teach-prefetch"))
    >>> plan.is_fast
    (False, True, True, True, True, True)
    >>> [copy.is_prefetch for copy in plan.copies]
    [True]
    """

    program_hash: str
    solver: str
    is_fast: tuple[bool, ...]
    stays: tuple[Stay, ...]
    copies: tuple[Copy, ...]
    notes: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)

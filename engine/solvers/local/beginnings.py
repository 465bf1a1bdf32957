"""Where the local search begins: several plans get a few moves each, and the best goes on.

Moves change little at a time, so where few tensors are nearly as large as the fast memory a search
stays near its beginning: on U-Net it ends far behind XLA's plan if it begins with the densest
groups, and far ahead of it if it begins as XLA's heuristic would (`docs/local.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.program.model import Program
from engine.solvers.local import search
from engine.solvers.local.run import Run
from engine.solvers.xla_msa.solver import solve as solve_like_xla

TRIAL_MOVES = 20_000
"""Moves that every beginning gets at most."""
TRIAL_SHARE = 0.06
"""Share of the time that every beginning gets at most."""
TOUCHES_PER_S = 1000
"""XLA's heuristic is a beginning if there is a second for so many touches of the program."""

Clock = Callable[[], float]
"""The share of the time that is over."""


def best_beginning(
    program: Program, seed: int, seconds: float, share: Clock, goes_on: Callable[[Run], bool]
) -> Run:
    """The run that is ahead after the trial moves of all beginnings that there is time for."""
    begun: list[Run] = []
    for run in _beginnings(program, seed, seconds, goes_on):
        limit = share() + TRIAL_SHARE
        _try(run, share, limit, goes_on)
        begun.append(run)
        if not goes_on(run):
            break
    return min(begun, key=lambda run: run.best_s)


def _beginnings(
    program: Program, seed: int, seconds: float, goes_on: Callable[[Run], bool]
) -> Iterator[Run]:
    for order in (search.by_density, search.by_saving):
        run = Run(program, seed)
        run.build(_asking(goes_on, run), order)
        yield run
    if len(program.touches) <= TOUCHES_PER_S * seconds:
        run = Run(program, seed)
        run.load(solve_like_xla(program))
        run.build(_asking(goes_on, run))
        yield run


def _try(run: Run, share: Clock, limit: float, goes_on: Callable[[Run], bool]) -> None:
    run.improve(lambda: share() < limit and goes_on(run), TRIAL_MOVES)


def _asking(goes_on: Callable[[Run], bool], run: Run) -> Callable[[], bool]:
    return lambda: goes_on(run)

"""`local` and `density`: the registered solvers of the local search, and how they spend time."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from engine.errors import ConfigError, PlanError
from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program
from engine.solvers.local.compiled import Code, interpreted
from engine.solvers.local.machine import code_at_hand
from engine.solvers.local.search import GROUPS_AT_ONCE, Run, Schedule, compile_all
from engine.solvers.local.warming import Warming
from engine.solvers.registry import SOLVERS, Budget
from engine.solvers.rounded import Rounding

SEEDS = 1_000_003
"""Between the seeds of two searches one after another."""
HEATS = (1.0, 10.0, 100.0)
"""How hot searches begin, in turn from the first one on: where a few large groups decide, a change
costs much before it pays."""

BEGINNING_SHARE = 0.4
"""Most of the time that the beginnings may take."""
NUM_BEGINNINGS = 3
TRIAL_MOVES = 20_000
"""Moves that every beginning gets at most."""
TRIAL_SHARE = 0.06
"""Share of the time that every beginning gets at most."""
LP_TOUCHES, LP_POWER = 1800, 1.5
"""Touches of a program whose linear program takes a second, and how its time grows with them."""
END_TOUCHES_PER_S, MOST_END_SHARE = 25_000, 0.1
"""What is left of the time at the end, for addresses and the plan: a second for so many touches, at
most that share."""
QUICK_TOUCHES_PER_S = {"xla_like": 5000, "greedy": 1800}
"""Solvers whose plans are beginnings where they are quick: touches that they do in a second."""
QUICK_SHARE, QUICK_S = 0.1, 0.5
"""Quick is what takes this share of the time at most, or these seconds where all beginnings may."""


def local(program: Program, budget: Budget) -> Plan:
    """Search until the seconds are over, or, by the option `moves`, until so many are made.

    Raises PlanError for an invalid plan to begin from, ConfigError for fewer moves than none.
    """
    return search_locally(program, budget, time.perf_counter)


def density(program: Program, budget: Budget) -> Plan:
    """A greedy over whole stays, without a bound; takes what time it needs."""
    run, asked = Run(program, seed=0), count(1)

    def goes_on() -> bool:
        served = min(GROUPS_AT_ONCE * next(asked), run.num_groups)
        return budget.progress(served / run.num_groups, f"{served} of {run.num_groups} groups")

    run.build(goes_on)
    return run.plan({})


def search_locally(program: Program, budget: Budget, clock: Callable[[], float]) -> Plan:
    """As `local`, by a clock of the caller's choice."""
    start, most = _read_options(program, budget)
    if most is not None:
        code = compile_all(budget.progress)
        run = _begun(program, budget.seed, start, code, lambda: budget.progress(0.0, "begins"))

        def goes_on() -> bool:
            return budget.progress(run.moves / most if most else 1.0, f"{run.moves} moves")

        run.improve(goes_on, most)
        return _best(program, run, [] if start is None else [start], run.moves)
    with Warming() as warming:
        return _Search(program, budget, clock, warming).run(start)


def _begun(
    program: Program,
    seed: int,
    start: Plan | None,
    code: Code,
    goes_on: Callable[[], bool] = lambda: True,
) -> Run:
    """A run begun from a plan, or from nothing, and the greedy for what is slow."""
    run = Run(program, seed, code=code)
    if start is not None:
        run.load(start)
    run.build(goes_on)
    return run


def _best(program: Program, run: Run, given: Sequence[Plan], moves: int) -> Plan:
    """The best plan of a run, or one that was given: of that, not all can be taken up."""
    best = min([run.plan({}), *given], key=lambda plan: simulate(program, plan).latency_s)
    return replace(best, notes={"moves": moves})


class _Search:
    """Runs one after another, until the time is over."""

    def __init__(
        self, program: Program, budget: Budget, clock: Callable[[], float], warming: Warming
    ) -> None:
        self._program, self._budget, self._clock, self._warming = program, budget, clock, warming
        self._begun = clock()
        end_s = len(program.touches) / END_TOUCHES_PER_S
        self._seconds = budget.seconds - min(end_s, MOST_END_SHARE * budget.seconds)
        self._code: Code = interpreted
        self._best: Run | None = None
        self._given: list[Plan] = []
        self._rivals: list[Run] = []
        self._moves_before = 0
        self._is_over = False

    def run(self, start: Plan | None) -> Plan:
        """The best plan of all runs, and of what they begin from."""
        if start is not None:
            beginnings = [self._begun_from(start)]
        else:
            beginnings = self._beginnings()
        for number in count():
            run = self._ahead(beginnings) if number == 0 else self._anew(beginnings[0], number)
            run.improve(lambda: self._goes_on(run) and not run.is_stale)  # noqa: B023
            self._take(run)
            if self._is_over or not run.is_stale:
                break
        assert self._best is not None
        return _best(self._program, self._best, self._given, self._moves_before)

    def _begun_from(self, plan: Plan) -> Run:
        self._given.append(plan)
        return _begun(self._program, self._budget.seed, plan, self._code)

    def _share(self) -> float:
        """The share of the time for searching that is over."""
        seconds = self._seconds
        return min(1.0, (self._clock() - self._begun) / seconds) if seconds > 0 else 1.0

    def _take(self, run: Run) -> None:
        self._moves_before += run.moves
        self._best = run if self._best is None or run.best_s < self._best.best_s else self._best

    def _goes_on(self, run: Run) -> bool:
        """Tell how far it is, and take up compiled code as soon as there is some."""
        share = self._share()
        rivals = [rival for rival in self._rivals if rival is not run]
        known = [run, *rivals] if self._best is None else [run, *rivals, self._best]
        best_s = min(some.best_s for some in known)
        moves = self._moves_before + run.moves + sum(rival.moves for rival in rivals)
        words = f"{moves:,} moves, {1e6 * best_s:,.2f} us"
        if self._code is interpreted:
            left_s = (1.0 - share) * self._seconds
            self._code = self._warming.code(left_s)
            words += self._warming.words
        if self._code is not interpreted:
            run.use(self._code)
        perfect_s = self._program.all_fast_s * (1 + 1e-9)
        if run.best_s <= perfect_s:
            # Addresses are found last: it may be worth less than it seems.
            run.confirm()
        is_done = share >= 1.0 or run.best_s <= perfect_s
        self._is_over = self._is_over or not self._budget.progress(share, words) or is_done
        return not self._is_over

    def _beginnings(self) -> list[Run]:
        """The best few plans that are there without a search, best first."""
        program, seconds = self._program, self._seconds
        self._code = code_at_hand(program, self._budget.seconds)
        found: list[Run] = []

        def goes_on() -> bool:
            return self._goes_on(found[0]) and self._share() < BEGINNING_SHARE

        def takes(run: Run) -> bool:
            nonlocal found
            is_first = not found
            found = heapq.nsmallest(NUM_BEGINNINGS, [*found, run], key=lambda run: run.best_s)
            left_s = (BEGINNING_SHARE - self._share()) * seconds
            # All further ones need the linear program, which says nothing before it has ended.
            is_too_large = is_first and (len(program.touches) / LP_TOUCHES) ** LP_POWER > left_s
            is_more = not is_too_large and goes_on()
            rounding.code = self._code
            return is_more

        rounding = Rounding(program, self._budget.seed, self._code)
        if all(map(takes, rounding.by_rules(goes_on))) and self._code is not interpreted:
            all(map(takes, rounding.made_again()))
        quick_s = max(QUICK_SHARE * seconds, min(QUICK_S, BEGINNING_SHARE * seconds))
        for name, touches_per_s in QUICK_TOUCHES_PER_S.items():
            if not self._is_over and len(program.touches) <= touches_per_s * quick_s:
                found.append(self._begun_from(SOLVERS[name].run(program, Budget(0.0))))
        found.sort(key=lambda run: run.best_s)
        return found

    def _ahead(self, beginnings: list[Run]) -> Run:
        """The run that is ahead after some moves from each beginning."""
        begun, self._rivals = [], beginnings
        for run in beginnings:
            limit = self._share() + TRIAL_SHARE
            run.improve(lambda: self._goes_on(run) and self._share() < limit, TRIAL_MOVES)  # noqa: B023
            begun.append(run)
            if self._is_over:
                break
        ahead = min(begun, key=lambda run: run.best_s)
        self._rivals = []
        self._moves_before += sum(run.moves for run in beginnings if run is not ahead)
        return ahead

    def _anew(self, best: Run, number: int) -> Run:
        """A run with another seed: from nothing, every third from the best beginning."""
        seed = self._budget.seed + SEEDS * number
        schedule = Schedule().heated(HEATS[number % len(HEATS)])
        run = Run(self._program, seed, schedule=schedule, code=self._code)
        if number % 3 == 0:
            run.begin_from(best)
        return run


def _read_options(program: Program, budget: Budget) -> tuple[Plan | None, int | None]:
    start, most = budget.options.get("start"), budget.options.get("moves")
    if start is not None:
        violation = check(program, start)
        if violation is not None:
            raise PlanError(
                f"the plan to begin from breaks the rule {violation.rule}: {violation.message}"
            )
    if most is not None and most < 0:
        raise ConfigError(f"local: {most} moves; name 0 or more")
    return start, most

"""`steered`: the best plan that XLA's own heuristic makes when its priorities are chosen for it.

XLA's memory pass has options for which values to place first and which last, and two options that
matter (`docs/tuning.md`); no other part of a plan can be asked of it. So this search varies only
these, lets `xla_like` place everything, and judges the plan by the simulator. Its plans save less
than those of `local`, but the compiler can be steered to nearly all of what they hold. Where all of
them are slower than a compile without the pass, that is the plan.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from engine.errors import ConfigError
from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.io import content_hash
from engine.program.model import Program
from engine.solvers.baselines import all_slow
from engine.solvers.registry import Budget, Progress, always
from engine.solvers.xla_msa.slots import MsaOptions
from engine.solvers.xla_msa.solver import solve

MIN_SAVING_SHARE = 0.001
"""Groups that can save less than this share of all get no priority: many rules slow a compile."""

LAST = 10**6
"""The priority of what is placed after all others."""

EARLY_PASSES = (0, None)
"""How many cross-program prefetches there may be: none, or the hardware's own number."""
RATIOS = (0.2, 0.5)
"""Below which ratio of benefit to copying a value is refused as inefficient; 0.5 is XLA's."""

HOTTEST, COLDEST = 3e-3, 1e-5
"""Temperatures of the annealing, relative to the latency."""


@dataclass(frozen=True)
class Steering:
    """The heuristic's inputs: groups to place first, in order; to place last; pass options."""

    first: tuple[int, ...] = ()
    last: frozenset[int] = frozenset()
    max_cross_program_prefetches: int | None = None
    inefficient_use_to_copy_ratio: float = 0.5

    @property
    def priorities(self) -> dict[int, int]:
        """Per group its place in the order; 0 for those that are not named."""
        early = {group: turn - len(self.first) for turn, group in enumerate(self.first)}
        return {**dict.fromkeys(self.last, LAST), **early}


def steered(program: Program, budget: Budget) -> Plan:
    """Search until the seconds are over; `notes` say how the compiler is steered to the plan.

    Raises ConfigError where no order is to be tried.
    """
    orders = budget.options.get("orders")
    most = None if orders is None else int(orders)
    if most is not None and most < 1:
        raise ConfigError(f"steered: {most} orders; name at least one")
    search = _Search(program, random.Random(budget.seed))
    begun = time.perf_counter()
    is_wanted = True

    def share() -> float:
        if most is not None:
            return min(1.0, search.tried / most)
        spent = time.perf_counter() - begun
        return min(1.0, spent / budget.seconds) if budget.seconds > 0 else 1.0

    def goes_on() -> bool:
        nonlocal is_wanted
        message = f"{search.tried} orders, {1e6 * search.best_s:.2f} us"
        is_wanted = is_wanted and budget.progress(share(), message)
        # The first plan takes what time it needs.
        return is_wanted and (search.tried == 0 or share() < 1.0)

    search.begin(goes_on)
    search.anneal(share, goes_on)
    off = all_slow(program, budget)
    if search.best is None or simulate(program, off).latency_s < search.best_s:
        return replace(off, notes={"steering": PASS_OFF})
    return replace(search.best, notes={"steering": in_names(program, search.best_steering)})


def place(program: Program, steering: Steering, progress: Progress = always) -> Plan:
    """The plan that XLA's heuristic makes when it is steered so; `progress`: as in `solve`."""
    hardware = program.hardware
    if steering.max_cross_program_prefetches is not None:
        hardware = replace(
            hardware, max_cross_program_prefetches=steering.max_cross_program_prefetches
        )
    options = MsaOptions(
        inefficient_use_to_copy_ratio=steering.inefficient_use_to_copy_ratio,
        priorities=steering.priorities,
    )
    plan = solve(replace(program, hardware=hardware), options, progress)
    return replace(plan, program_hash=content_hash(program))


PASS_OFF: Mapping[str, object] = {"first": [], "last": [], "knobs": {}, "is_off": True}
"""The steering of a plan that holds nothing in fast memory, as its notes have it."""


def in_names(program: Program, steering: Steering) -> dict[str, object]:
    """A steering as a plan's notes hold it: values by name, pass options that differ from XLA's."""

    def names(groups: Iterator[int] | tuple[int, ...]) -> list[str]:
        values = [n for g in groups for n in program.groups[g].values]
        return [program.values[number].name for number in values]

    options: dict[str, float] = {}
    if steering.max_cross_program_prefetches is not None:
        options["max_cross_program_prefetches"] = steering.max_cross_program_prefetches
    if steering.inefficient_use_to_copy_ratio != Steering.inefficient_use_to_copy_ratio:
        options["inefficient_use_to_copy_ratio"] = steering.inefficient_use_to_copy_ratio
    return {
        "first": names(steering.first),
        "last": names(iter(sorted(steering.last))),
        "knobs": options,
    }


class _Search:
    """The best plan so far, and the one that the annealing stands at."""

    def __init__(self, program: Program, chance: random.Random) -> None:
        self._program = program
        self._chance = chance
        self._worth = _worth(program)
        self.tried = 0
        self.best: Plan | None = None
        self.best_s = math.inf
        self.best_steering = Steering()
        self._here, self._here_s = Steering(), math.inf

    def begin(self, goes_on: Callable[[], bool]) -> None:
        """Orders by worth and XLA's own, under all pass options."""
        for steering in self._beginnings():
            self._try(steering, 0.0, goes_on)
            if not goes_on():
                return

    def anneal(self, share: Callable[[], float], goes_on: Callable[[], bool]) -> None:
        """Vary the steering that is best so far; what is worse is accepted ever less."""
        self._here, self._here_s = self.best_steering, self.best_s
        while self._worth and goes_on():
            temperature = HOTTEST * (COLDEST / HOTTEST) ** share()
            self._try(self._varied(self._here), temperature, goes_on)

    def _try(
        self, steering: Steering, temperature: float, goes_on: Callable[[], bool] = lambda: True
    ) -> None:
        """Judge a steering, if it goes on until all is placed."""
        is_whole = True

        def progress(share: float, message: str) -> bool:
            del share, message
            nonlocal is_whole
            is_whole = goes_on()
            return is_whole

        plan = place(self._program, steering, progress)
        if not is_whole:
            return
        latency_s = simulate(self._program, plan).latency_s
        self.tried += 1
        if latency_s < self.best_s and check(self._program, plan) is None:
            self.best, self.best_s, self.best_steering = plan, latency_s, steering
        worse = latency_s - self._here_s
        if worse > 0:
            # Beside a plan of no time at all, nothing is near.
            worse = worse / self._here_s if self._here_s > 0 else math.inf
        if worse <= 0 or (
            temperature > 0 and self._chance.random() < math.exp(-worse / temperature)
        ):
            self._here, self._here_s = steering, latency_s

    def _beginnings(self) -> Iterator[Steering]:
        """What helped most on the training corpus, XLA's own, then the others.

        A short search tries but one or two.
        """
        orders = (*_orders(self._program, self._worth), ())
        made = [
            Steering(order, max_cross_program_prefetches=early, inefficient_use_to_copy_ratio=ratio)
            for early, ratio, order in product(EARLY_PASSES, RATIOS, orders)
        ]
        own = Steering()
        return iter([made[0], own, *(one for one in made[1:] if one != own)])

    def _varied(self, steering: Steering) -> Steering:
        """One or two random changes."""
        for _ in range(1 if self._chance.random() < 0.6 else 2):
            steering = self._changed(steering)
        return steering

    def _changed(self, steering: Steering) -> Steering:
        kind = self._chance.random()
        if kind < 0.03:
            other = {None: 0, 0: None}[steering.max_cross_program_prefetches]
            return replace(steering, max_cross_program_prefetches=other)
        if kind < 0.06:
            other_ratio = RATIOS[1 - RATIOS.index(steering.inefficient_use_to_copy_ratio)]
            return replace(steering, inefficient_use_to_copy_ratio=other_ratio)
        group = self._drawn(steering)
        first = [g for g in steering.first if g != group]
        last = steering.last - {group}
        if kind < 0.2:
            last |= {group}
        elif kind < 0.8 or group not in steering.first:
            first.insert(self._position(len(first)), group)
        return replace(steering, first=tuple(first), last=last)

    def _drawn(self, steering: Steering) -> int:
        """A group to move: by worth, or any of those that have a priority."""
        if steering.first and self._chance.random() < 0.3:
            return self._chance.choice(steering.first)
        groups = list(self._worth)
        return self._chance.choices(groups, [math.sqrt(self._worth[g]) for g in groups])[0]

    def _position(self, count: int) -> int:
        """Where in the order: at the front as often as anywhere else."""
        return 0 if self._chance.random() < 0.5 else self._chance.randint(0, count)


def _worth(program: Program) -> dict[int, float]:
    """Seconds that each group can save at most, of those worth a rule."""
    worth: dict[int, float] = {}
    for access in program.accesses:
        group = program.values[access.value].group
        if program.groups[group].may_be_fast:
            worth[group] = worth.get(group, 0.0) + access.saving_s
    least = MIN_SAVING_SHARE * sum(max(0.0, saving) for saving in worth.values())
    return {group: saving for group, saving in worth.items() if saving > least}


def _orders(program: Program, worth: Mapping[int, float]) -> Iterator[tuple[int, ...]]:
    """Orders by saving, by saving per byte, by saving per byte and slot of its life, by size."""

    def size(group: int) -> int:
        return max(1, program.groups[group].size_bytes)

    def life(group: int) -> int:
        touches = program.touches_of_group[group]
        return 1 + program.touches[touches[-1]].time - program.touches[touches[0]].time

    keys: tuple[Callable[[int], float], ...] = (
        lambda g: worth[g],
        lambda g: worth[g] / size(g),
        lambda g: worth[g] / size(g) / life(g),
        size,
    )
    for key in keys:
        yield tuple(sorted(worth, key=key, reverse=True))

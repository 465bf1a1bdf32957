"""The solvers behind one protocol, and the one door through which plans leave them.

A solver is a function `(program, budget) -> Plan`. `solve` runs it and lets only plans out that
the checker has passed. `first_plan` makes the plan that is there at once: a search that has found
nothing better by the end of its time, or did not come to its end, gives that one.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from numbers import Real
from os import PathLike
from types import MappingProxyType
from typing import Any

from engine.errors import BrokenSolverError, ConfigError, EndedEarlyError, UnknownNameError
from engine.files import can_be_a_path
from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program

Progress = Callable[[float, str], bool]
"""Called with the share done and a word about it; returns False to ask for an early end."""


NOT_COUNTED = "(not counted)"
"""How the words end that announce what is not counted of a budget."""


def always(share: float, message: str) -> bool:
    """A `Progress` that nobody listens to."""
    del share, message
    return True


def unheard(plan: Plan) -> None:
    """A `Budget.offer` for those who can wait for the plan itself."""
    del plan


MAX_SECONDS = 1e9
"""Longer waits overflow the clocks of the system."""
MAX_SEED = 2**63 - 1
"""JAX takes no larger seed."""


def refuse_bad_budget(seconds: float, seed: int = 0) -> None:
    """Raises ConfigError unless there is so much time, and such a seed."""
    if not isinstance(seconds, Real) or not 0 <= seconds <= MAX_SECONDS:
        raise ConfigError(f"{seconds!r:.40} seconds: name a number from 0 to {MAX_SECONDS:.0f}")
    if not isinstance(_plain(seed), int) or not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"seed {_plain(seed)!r:.40}: name a whole number from 0 to {MAX_SEED}")


def _plain(value: Any) -> Any:
    """A whole number of another library as one of Python's, which JSON takes; else the value."""
    try:
        return value if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return value


@dataclass(frozen=True)
class Budget:
    """What a solver may spend: wall-clock seconds, and the seed of all its randomness.

    `options`: settings of one solver, by name; those that are None count as not given. `offer`:
    told of a plan that will do where the solver has to be ended before it has another. Raises
    ConfigError where one of them is out of range (`refuse_bad_budget`). Numbers of other libraries
    become Python's.
    """

    seconds: float = 60.0
    seed: int = 0
    progress: Progress = field(default=always, compare=False)
    options: Mapping[str, Any] = field(default_factory=dict)
    offer: Callable[[Plan], None] = field(default=unheard, compare=False)

    def __post_init__(self) -> None:
        """Refuse what would never end or could not be drawn from; leave out what was not given."""
        refuse_bad_budget(self.seconds, self.seed)
        given = {name: _plain(value) for name, value in self.options.items() if value is not None}
        object.__setattr__(self, "seconds", float(self.seconds))
        object.__setattr__(self, "seed", _plain(self.seed))
        object.__setattr__(self, "options", given)


@dataclass(frozen=True)
class Option:
    """A setting of a solver. `kinds`: the types of its values; `about`: what it is, in words.

    `is_of_own`: whoever gives it wants the plan that the solver itself finds, and no other.
    """

    name: str
    kinds: tuple[type, ...]
    about: str
    is_of_own: bool = False


@dataclass(frozen=True)
class Solver:
    """A solver.

    `uses_time`: it searches until the seconds are over. `package`: where it is of another package.
    `options`: the settings that it knows; None: it says so itself (those of other packages).
    `falls_back`: it gives the plan of `first_plan` where it has none that is better.
    """

    name: str
    description: str
    run: Callable[[Program, Budget], Plan]
    uses_time: bool = False
    package: str = ""
    options: tuple[Option, ...] | None = ()
    falls_back: bool = False

    def refuse_bad_options(self, given: Mapping[str, Any]) -> None:
        """Raises ConfigError for an option that there is not, and for a value of another kind."""
        if self.options is None:
            return
        known = {option.name: option for option in self.options}
        for name, value in given.items():
            if name not in known:
                raise ConfigError(f"{self.name} has no option {name!r}; {_advice(name, known)}")
            option = known[name]
            is_of_kind = isinstance(value, option.kinds) and not isinstance(value, bool)
            if not is_of_kind or (PathLike in option.kinds and not can_be_a_path(value)):
                raise ConfigError(f"{self.name}: {name} cannot be {value!r:.40}: {option.about}")

    def may_fall_back(self, budget: Budget) -> bool:
        """Whether the plan of `first_plan` may be given in place of the solver's own."""
        own = {option.name for option in self.options or () if option.is_of_own}
        given = set(budget.options)
        return self.falls_back and own.isdisjoint(given)


def _advice(name: str, known: Mapping[str, Option]) -> str:
    """What may have been meant: an option, or a part of the budget."""
    near = get_close_matches(name, (*known, "seconds", "seed", "progress"), n=3)
    if near:
        return f"near it: {', '.join(near)}"
    return f"it knows {', '.join(known)}" if known else "it has none"


_SOLVERS: dict[str, Solver] = {}
SOLVERS: Mapping[str, Solver] = MappingProxyType(_SOLVERS)
"""Every solver by name, ours first; `engine.solvers` adds those of other packages."""


def add(solver: Solver) -> None:
    """Make a solver known by its name. Raises ValueError if another one has it."""
    if solver.name in _SOLVERS:
        raise ValueError(f"there is a solver {solver.name!r} already")
    _SOLVERS[solver.name] = solver


def _late(module: str, function: str) -> Callable[[Program, Budget], Plan]:
    """A solver of this room, imported when it runs, with the libraries that it needs."""

    def run(program: Program, budget: Budget) -> Plan:
        place = import_module(f"{__name__.rpartition('.')[0]}.{module}")
        solver: Callable[[Program, Budget], Plan] = getattr(place, function)
        return solver(program, budget)

    return run


_START = Option("start", (Plan,), "a valid plan to begin from")
_OURS = (
    Solver("all_slow", "everything stays in slow memory", _late("baselines", "all_slow")),
    Solver(
        "greedy",
        "the mallocGame played for the best immediate reward",
        _late("baselines", "greedy"),
    ),
    Solver(
        "random", "the best of many random games", _late("baselines", "random_play"), uses_time=True
    ),
    Solver(
        "xla_compiled",
        "the plan that the real XLA TPU compiler chose",
        _late("baselines", "xla_compiled"),
    ),
    Solver("xla_like", "XLA's own heuristic, re-implemented", _late("xla_msa", "xla_like")),
    Solver(
        "steered",
        "XLA's heuristic with the best priorities found for it",
        _late("xla_msa", "steered"),
        uses_time=True,
        options=(
            Option("orders", (int,), "how many orders to try at most, whatever the clock says"),
        ),
    ),
    Solver(
        "evolution",
        "an evolutionary search over action sequences",
        _late("evolution", "evolution"),
        uses_time=True,
        falls_back=True,
    ),
    Solver(
        "local",
        "ruin and recreate over whole stays, by simulated annealing",
        _late("local.solver", "local"),
        uses_time=True,
        options=(
            _START,
            Option(
                "moves",
                (int,),
                "how many moves to make at most, from one beginning, whatever the clock says",
            ),
        ),
    ),
    Solver(
        "density",
        "stays placed in order of their value per byte and slot",
        _late("local.solver", "density"),
    ),
    Solver(
        "rounded",
        "the lower bound's fractional optimum, rounded to whole stays",
        _late("rounded", "rounded"),
    ),
    Solver(
        "muzero",
        "mallocMuZero: the agent practises on this program",
        _late("muzero", "muzero"),
        uses_time=True,
        options=(
            Option("checkpoint", (str, PathLike), "a checkpoint's folder, or 'scratch'"),
            Option("model", (str,), "what the search grows its tree with"),
            Option("algorithm", (str,), "of the search: gumbel or muzero"),
            Option("simulations", (int,), "of a search, per move"),
            Option("trace", (str, PathLike), "a file for what the search saw", is_of_own=True),
        ),
        falls_back=True,
    ),
    Solver(
        "portfolio",
        "several solvers on all cores, sharing the best plan",
        _late("portfolio", "portfolio"),
        uses_time=True,
        options=(
            Option("members", (list, tuple), "the names of the solvers that take part"),
            Option("processes", (int,), "how many run at once"),
            _START,
        ),
    ),
)
for _solver in _OURS:
    add(_solver)


def find(name: str) -> Solver:
    """The solver of that name. Raises UnknownNameError with the nearest names."""
    if name not in SOLVERS:
        near = get_close_matches(str(name), SOLVERS, n=3) or sorted(SOLVERS)
        raise UnknownNameError(f"no solver is called {name!r}; try {', '.join(near)}")
    return SOLVERS[name]


FIRST = ("rounded", "xla_like", "greedy")
"""Solvers that are quick on every program: `first_plan` is the best of them, as many as there is
time for. `rounded` is nearly always that, so it comes first: on large programs nothing comes after
it within a second."""
FIRST_S, FIRST_SHARE = 0.5, 0.05
"""Seconds that they may take together, beside a share of the budget; then they are broken off."""
FIRST_WALL_S = 1.5
"""Seconds by the clock that each has at least, since the machine may be busy; too few for one to
load compiled code."""


def first_plan(program: Program, budget: Budget) -> Plan:
    """The best plan that is there at once; `solver` says by whom. All slow at the worst."""
    begun, allowed_s = time.thread_time(), FIRST_S + FIRST_SHARE * budget.seconds

    def goes_on(share: float, message: str) -> bool:
        del share, message
        # By the processor: how good the plan is does not depend on what else the machine does.
        is_early = time.thread_time() - begun < allowed_s
        return is_early and budget.progress(0.0, "a first plan")

    best = SOLVERS["all_slow"].run(program, budget)
    for name in FIRST:
        if goes_on(0.0, name):
            some = Budget(max(FIRST_WALL_S, allowed_s), budget.seed, goes_on)
            plan = SOLVERS[name].run(program, some)
            best = _better(program, replace(plan, solver=name), best)
    return best


def _better(program: Program, plan: Plan, other: Plan) -> Plan:
    """The faster of two plans, the first if they are equal; one that is not valid is not taken."""
    if check(program, plan) is not None:
        return other
    is_slower = simulate(program, other).latency_s < simulate(program, plan).latency_s
    return other if is_slower else plan


def solve(name: str, program: Program, budget: Budget | None = None) -> Plan:
    """Run a solver and check its plan; `notes` get the wall-clock seconds and the seed.

    `counted_s`: those seconds that no report announced as not counted.

    Where `first_plan` is faster, its plan is returned under the name of the solver that made it;
    `notes` say who was `asked`, and `own_latency_s`, that of the asked solver's plan, or
    `ended_early`, why it has none. Raises UnknownNameError, ConfigError for an option that the
    solver does not know; SolverError if there is no plan, BrokenSolverError if the checker rejects
    it.
    """
    solver = find(name)
    budget = budget or Budget()
    solver.refuse_bad_options(budget.options)
    begun, watch = time.perf_counter(), Watch(budget.progress, time.perf_counter)
    budget = replace(budget, progress=watch.progress)
    first = first_plan(program, budget) if solver.may_fall_back(budget) else None
    left_s = max(0.0, budget.seconds - (time.perf_counter() - begun))
    try:
        with watch:
            own = solver.run(program, replace(budget, seconds=left_s) if first else budget)
    except EndedEarlyError as error:
        if first is None:
            raise
        plan = replace(first, notes={**first.notes, "asked": name, "ended_early": str(error)})
    else:
        plan = _judged(name, program, own, first)
    seconds = time.perf_counter() - begun
    times = {"seconds": round(seconds, 3), "counted_s": round(seconds - watch.not_counted_s, 3)}
    notes = {**plan.notes, **times, "seed": budget.seed}
    return replace(plan, notes=notes)


class Watch:
    """Adds up the time after each report of what is not counted, until the next report.

    As a context it is that of a run, which ends with it. `clock`: tells the seconds.
    """

    def __init__(self, progress: Progress, clock: Callable[[], float]) -> None:
        self._progress, self._clock = progress, clock
        self._since: float | None = None
        self.not_counted_s = 0.0

    def __enter__(self) -> None:
        """The run begins."""

    def __exit__(self, *raised: object) -> None:
        """The run is over, and with it what was not counted."""
        self._turn("")

    def progress(self, share: float, message: str) -> bool:
        """A `Progress` that passes on what it hears."""
        self._turn(message)
        return self._progress(share, message)

    def _turn(self, message: str) -> None:
        now = self._clock()
        if self._since is not None:
            self.not_counted_s += now - self._since
        self._since = now if message.endswith(NOT_COUNTED) else None


def _judged(name: str, program: Program, own: Plan, first: Plan | None) -> Plan:
    """A solver's own plan, or the first where that is faster. Raises BrokenSolverError."""
    violation = check(program, own)
    if violation is not None:
        raise BrokenSolverError(
            f"{program.name}: the plan of {name} breaks the rule {violation.rule}:"
            f" {violation.message}"
        )
    own_s = simulate(program, own).latency_s
    if first is None or own_s <= simulate(program, first).latency_s:
        return replace(own, solver=name)
    return replace(first, notes={**first.notes, "asked": name, "own_latency_s": own_s})

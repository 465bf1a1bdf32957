"""`tune`: the compiler options with the fewest compiled cycles, beside random ones."""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import cycle
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.compiler.capture.capture import ANSWERS, capture
from engine.compiler.capture.study import BOTH
from engine.compiler.costs.observations import observations_of
from engine.compiler.reading.observation import Observation
from engine.compiler.reading.own_compile import stored_answers
from engine.compiler.steering.export import Aim, aims, exports
from engine.compiler.steering.flags_file import GAIN_NOTE, INIT_ARGS_NOTE, OWN_NOTE, Flags
from engine.compiler.steering.outcome import CompileSession, compile_session, timed_default
from engine.compiler.steering.program_options import ProgramOption
from engine.compiler.steering.tune import (
    PlanFn,
    Trial,
    TuneLog,
    Tuning,
    captured_trials,
    total,
)
from engine.compiler.steering.verify import Verdict, request_by_flags, verify
from engine.compiler.toolchain.libtpu import versions
from engine.compiler.toolchain.results import SLOW_OPTIONS
from engine.compiler.toolchain.target import Given, Target, init_args, options_in, target_of
from engine.errors import EngineError, UsageError
from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.prices import is_measured
from engine.solvers import Budget, solve
from engine.solvers.registry import refuse_bad_budget
from engine.workflows.capturing import SOLVERS, answers_folder, capturing, solver_names
from engine.workflows.program_search import (
    ProgramSearch,
    Tried,
    priced_like,
    program_under,
    random_program_options,
    search_program_options,
)

PROGRAM_PART = 3
"""One in so many whole compiles may go to program options, which make another program."""

PROGRAM_SHARE = 0.35
"""The share of the search's seconds after which no more program options are tried."""

_OF_CAPTURE = (SLOW_OPTIONS, BOTH)
CAPTURE_COMPILES = len(_OF_CAPTURE)
"""Whole compiles, beside the default's, to capture the program that an option makes."""

BEST_SHARE = 0.65
"""The share of what is left for placement under the best option; the second gets the rest."""

OWN_SHARE = 0.5
"""The search's share of the seconds. The baseline gets the rest, or as long as the search took if
that is more."""


@dataclass(frozen=True)
class Tuned:
    """The result of a search: its best options, as compiled.

    `flags`: ready to save; they aim at what the compiler placed. Where nothing beat the default
    they hold no option. `compiles`: whole compiles of the search, the default's among them, and
    those that came to nothing.
    `captured`: those that the program's capture had made already, among which it chose too.
    `program_improvement`: what the program options gain alone, of what the result gains;
    `tried_program_options`: those that were compiled whole.
    `random_improvement`, `random_options`: the best of `random_compiles` whole compiles, the
    default's among them, of random options and rules alone: as many, unless there was no time for
    more. `random_improvement` is None where there were none, as without a baseline.
    `search_s`, `baseline_s`: how many seconds the search and the baseline took. `cut_short`: what
    time ran out for, with how many of its whole compiles were made, a phrase each.
    """

    flags: Flags
    verdict: Verdict
    compiles: int
    random_compiles: int
    random_improvement: float | None
    random_options: Mapping[str, str] | None
    captured: int = 0
    program_improvement: float = 0.0
    tried_program_options: tuple[Tried, ...] = ()
    search_s: float = 0.0
    baseline_s: float = 0.0
    cut_short: tuple[str, ...] = ()

    @property
    def placement_improvement(self) -> float:
        """What placement gained beyond that, as a share of the default's cycles too."""
        return self.verdict.improvement - self.program_improvement

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON data."""
        random = None if self.random_options is None else dict(self.random_options)
        return {
            **self.verdict.to_json(),
            "compiles": self.compiles,
            "captured": self.captured,
            "program_improvement": self.program_improvement,
            "placement_improvement": self.placement_improvement,
            "tried_program_options": [
                {"options": dict(one.option.flags), "total_cycles": one.total}
                for one in self.tried_program_options
            ],
            "search_s": self.search_s,
            "baseline_s": self.baseline_s,
            "cut_short": list(self.cut_short),
            "random_compiles": self.random_compiles,
            "random_improvement": self.random_improvement,
            "random_options": random,
        }


def tune_program(
    program: Program,
    solver: str | PlanFn = SOLVERS,
    *,
    compiles: int = 12,
    seconds: float = 3600.0,
    seed: int = 0,
    folder: str | PathLike[str] | None = None,
    note: Callable[[str], None] = lambda _: None,
    plans: Sequence[Plan] = (),
    has_baseline: bool = True,
    keep: Callable[[Flags], None] = lambda _: None,
    compiler_options: Given = MappingProxyType({}),
    has_program_options: bool = True,
) -> Tuned:
    """Search for options that make the compiler's own total smaller; minutes to hours.

    `solver` plans anew whenever the costs are corrected: names of solvers, with commas between
    them, that take turns, or a function; a SolverError of it is noted, and the search goes on.
    `plans` of the program are exported first. `seconds` are for search and baseline together, half
    for each. `folder` keeps compile results, by default in the user's cache: a run that was killed
    goes on there. `keep` gets every options that are better than all before, as soon as they are
    compiled, and first the best that the capture compiled.
    `compiler_options`: flags of the user's on top of those that the program was captured with; like
    `LIBTPU_INIT_ARGS` in the environment they hold for every compile, and gains count against the
    default under them. `has_program_options`: options that make another program are
    searched first; not for a program with measured prices, which no other program has. Raises
    UnknownNameError for an unknown solver, PlanError for a plan that cannot be exported,
    ConfigError and UsageError for limits that there are not, all before anything is compiled;
    ProgramFormatError where the program cannot be compiled again, CompilerError, also where nothing
    in it takes time.
    """
    _refuse_bad_limits(compiles, seconds, seed)
    plan_fn = planner(solver) if isinstance(solver, str) else solver
    for plan in plans:
        exports(program, plan)
    kept_in = answers_folder() if folder is None else Path(folder)
    answers = stored_answers(program, kept_in, options_in(compiler_options), init_args(), note)
    session = compile_session(program, answers)
    begun = time.monotonic()
    own_s = seconds * (OWN_SHARE if has_baseline else 1.0)
    end = begun + own_s
    then = "; then as long for a baseline of random options and rules" if has_baseline else ""
    note(f"{own_s:.0f} of {seconds:.0f} s to search, the default's compile included{then}")
    own = _Variant(session, None, total(timed_default(session)), _earlier(program, answers.target))
    search = _Search(program, own, seed, plan_fn, note, kept_in, keep)
    search.take_captured()
    if has_program_options and is_measured(program):
        note("its prices are measured: options that make another program are left out")
    elif has_program_options:
        search.try_program_options(compiles // PROGRAM_PART, begun + PROGRAM_SHARE * (end - begun))
    search.place_values(compiles, end, plans)
    searched = time.monotonic()
    baseline = None
    if has_baseline:
        baseline = search.by_chance(max(begun + seconds, searched + (searched - begun)))
    found = search.tuned(baseline)
    ended = time.monotonic()
    return replace(found, search_s=searched - begun, baseline_s=ended - searched)


def _refuse_bad_limits(compiles: int, seconds: float, seed: int) -> None:
    if compiles < 2:
        raise UsageError("tune: --compiles must be 2 or more; the default's is one of them")
    refuse_bad_budget(seconds, seed)


@dataclass(frozen=True)
class _Variant:
    """One program in which placement is tuned: the user's, or what a program option makes of it.

    `default_total`: cycles, stalls and prices of its own default placement, on the scale of the
    user's own program. `earlier`: what its costs were fitted to. `beside`: the user's own program
    with prices of the same kind; None: as captured.
    """

    session: CompileSession
    option: ProgramOption | None
    default_total: float
    earlier: Sequence[Observation] = ()
    beside: CompileSession | None = None

    @property
    def options(self) -> Mapping[str, str]:
        return {} if self.option is None else self.option.flags

    @cached_property
    def scale(self) -> float:
        """`default_total`, as a share of what its own session gives for that placement."""
        return self.default_total / total(self.session.full({}))


@dataclass(frozen=True)
class _Chance:
    """The best of as many compiles of options chosen by chance."""

    total: float
    compiles: int
    options: Mapping[str, str]


@dataclass
class _Search:
    """One run of `tune`: the user's program, what was tried, and the best options so far.

    `best`: the program and the trial in it; None is the program's own default placement.
    """

    program: Program
    own: _Variant
    seed: int
    plan_fn: PlanFn
    note: Callable[[str], None]
    folder: Path
    keep: Callable[[Flags], None]
    program_search: ProgramSearch | None = None
    runs: list[tuple[_Variant, Tuning]] = field(default_factory=list)
    num_captures: int = 0
    captured: list[Trial] = field(default_factory=list)
    cut_short: list[str] = field(default_factory=list)
    best: tuple[_Variant, Trial | None] = field(init=False)

    def __post_init__(self) -> None:
        self.best = self.own, None

    @property
    def num_compiles(self) -> int:
        """Whole compiles so far, the default's among them, the capture's of the program not."""
        tried = 0 if self.program_search is None else self.program_search.num_compiles
        placed = sum(run.num_compiles - 1 for _, run in self.runs)
        return 1 + tried + self.num_captures + placed

    def take_captured(self) -> None:
        """Begin with the best that the capture of the user's program compiled whole."""
        self.captured = captured_trials(self.own.session, self._log(self.own))
        for trial in self.captured:
            self._better(self.own, trial)
        best = self.best[1]
        if best is not None:
            gain = 1.0 - total(best.full) / self.own.default_total
            self.note(f"{best.candidate.title}: improvement {gain:.2%}; best so far")

    def try_program_options(self, compiles: int, deadline: float) -> None:
        """Search the program options, if there is time for two compiles."""
        if compiles < 1:
            return
        whole_s = self.own.session.full({}).seconds
        if deadline - time.monotonic() < 2 * whole_s:
            self.note(f"no time for program options: a whole compile takes {whole_s:.0f} s")
            self.cut_short.append(f"program options: 0 of {compiles}")
            return
        answers = self.own.session.answers
        self.program_search = search_program_options(
            answers,
            self.own.default_total,
            compiles=compiles,
            deadline=deadline,
            note=self.note,
        )
        if self.program_search.ran_out:
            self._cut("program options", self.program_search.num_compiles, compiles)
        for one in self.program_search.better[:1]:
            self._better(_Variant(one.session, one.option, one.total, beside=one.beside), None)

    def place_values(self, compiles: int, deadline: float, plans: Sequence[Plan]) -> None:
        """Tune the placement in the programs of the best two options, the default among them.

        In the user's own program in place of the last one, if that cannot be captured.
        """
        whole_s = self.own.session.full({}).seconds
        wanted = self._wanted(compiles - self.num_compiles, bool(plans))
        while wanted != [None] and _least(wanted) * whole_s > deadline - time.monotonic():
            dropped = next(one for one in reversed(wanted) if one is not None)
            self.note(f"no time to capture the program of {dropped.option.title}")
            self.cut_short.append(f"placement under {dropped.option.title}: 0 of 1")
            wanted = [one for one in wanted if one is not dropped] or [None]
        for number, one in enumerate(wanted):
            later = wanted[number + 1 :]
            variant = self.own if one is None else self._captured(one)
            if variant is None and not later:
                variant = self.own
            if variant is None:
                continue
            now = time.monotonic()
            spare_s = max(0.0, deadline - now - _captures(later) * whole_s)
            until = now + BEST_SHARE * spare_s if later else deadline
            left = max(0, compiles - self.num_compiles - _captures(later))
            fresh = round(BEST_SHARE * left) if later else left
            self._tune(variant, 1 + fresh, until, plans if variant is self.own else ())

    def _wanted(self, left: int, has_plans: bool) -> list[Tried | None]:
        """The best two programs, None being the user's own, as far as `left` compiles go.

        Each takes one besides its capture. Plans of the user's are for the own program.
        """
        better = () if self.program_search is None else self.program_search.better
        choices: list[list[Tried | None]] = [[*better, None][:2], [*better[:1]]]
        if has_plans:
            choices = [[*better[:1], None]]
        for wanted in choices:
            if wanted and _least(wanted) <= left:
                return wanted
        return [None]

    def _captured(self, one: Tried) -> _Variant | None:
        """The program of an option with fitted costs; None where it cannot be captured."""
        before = self.own.session.answers
        try:
            session, seen = program_under(self.program, before, one.option.flags, self.note)
        except EngineError as error:
            self.note(f"{one.option.title}: {error}")
            made = before.under(one.option.flags)
            self.num_captures += sum(map(made.has_full, _OF_CAPTURE))
            return None
        self.num_captures += CAPTURE_COMPILES
        beside = None if one.beside is None else priced_like(self.own.session, one.beside)
        session = priced_like(session, one.session)
        variant = _Variant(session, one.option, one.total, seen, beside)
        if self.best[0].option is one.option:
            self.best = variant, None
        return variant

    def _tune(
        self, variant: _Variant, compiles: int, deadline: float, plans: Sequence[Plan]
    ) -> None:
        if variant.option is not None:
            self.note(f"placement under {variant.option.title}")
        log = self._log(variant)
        is_own = variant is self.own
        run = Tuning(
            variant.session,
            compiles,
            deadline,
            self.seed,
            self.plan_fn,
            self.note,
            log,
            plans=plans,
            earlier=variant.earlier,
            captured=self.captured if is_own else captured_trials(variant.session, log),
            keep=lambda trial: self._better(variant, trial),
        )
        self.runs.append((variant, run))
        self._better(variant, None)
        run.run()
        self._better(variant, run.best)
        if run.ran_out:
            self._cut("placement", run.num_compiles, run.compiles)

    def _log(self, variant: _Variant) -> TuneLog:
        """What earlier runs tried in the variant's program."""
        answers = variant.session.answers
        identity = f"{content_hash(variant.session.program)}{answers.target}"
        digest = hashlib.sha256(answers.stablehlo + identity.encode()).hexdigest()[:16]
        return TuneLog(self.folder / f"tuning-{digest}.json", self.note)

    def _cut(self, what: str, done: int, compiles: int) -> None:
        """Note what time ran out for."""
        self.cut_short.append(f"{what}: {done} of {compiles}")
        self.note(f"time ran out for {self.cut_short[-1]} whole compiles")

    def _better(self, variant: _Variant, trial: Trial | None) -> None:
        """Keep a trial, or the variant's own default, if it is the best so far."""
        if self._total(variant, trial) < self._total(*self.best):
            self.best = variant, trial
            self.keep(self.flags)

    def _total(self, variant: _Variant, trial: Trial | None) -> float:
        if trial is None:
            return variant.default_total
        return variant.scale * total(trial.full)

    @property
    def flags(self) -> Flags:
        """The best options so far on top of the user's own, ready to save."""
        variant, trial = self.best
        target = self.own.session.answers.target
        options = {**target.options, **variant.options}
        title = "default" if variant.option is None else variant.option.title
        aimed: tuple[Aim, ...] = ()
        if trial is not None:
            title = trial.candidate.title
            options |= trial.candidate.options
            session = variant.session
            aimed = aims(session.program, session.valid_plan(trial.candidate.options))
        gain = 1.0 - self._total(variant, trial) / self.own.default_total
        notes: dict[str, Any] = {"title": title, GAIN_NOTE: gain, "versions": versions()}
        if target.init_args:
            notes |= {INIT_ARGS_NOTE: target.init_args}
        captured_with = target_of(self.program).options
        own = {k: v for k, v in target.options.items() if captured_with.get(k) != v}
        if own:
            notes |= {OWN_NOTE: own}
        if variant.option is not None:
            notes |= {"knobs": dict(variant.option.flags)}
        return Flags.of(self.program, options, aimed, notes)

    def by_chance(self, deadline: float) -> _Chance:
        """As many whole compiles, and at least as many early stops, of options chosen by chance.

        Random program options in place of the search, as they come; then pass options and random
        rules, chosen by our simulator, in the user's program. These also get the compiles for which
        there are no more program options to draw.
        """
        self.note("baseline: random options and rules alone")
        search = self.program_search
        num_program_options = 0 if search is None else search.num_compiles + self.num_captures
        now = time.monotonic()
        drawn = random_program_options(
            self.own.session.answers,
            self.own.default_total,
            num_program_options,
            self.seed,
            now + PROGRAM_SHARE * (deadline - now),
            self.note,
        )
        num_spent = drawn.num_compiles
        if drawn.ran_out:
            self._cut("baseline's program options", num_spent, num_program_options)
            num_spent = num_program_options
        chance = Tuning(
            self.own.session,
            self.num_compiles + len(self.captured) - num_spent,
            deadline,
            self.seed,
            self.plan_fn,
            self.note,
            TuneLog(None),
            earlier=self.own.earlier,
            is_planning=False,
            first_random=max([1, *(len(run.trials) for _, run in self.runs)]),
        )
        chance.run()
        if chance.ran_out:
            self._cut("baseline", chance.num_compiles, chance.compiles)
        found = _Chance(self.own.default_total, chance.num_compiles + drawn.num_compiles, {})
        if chance.best is not None:
            options = chance.best.candidate.options
            found = replace(found, total=total(chance.best.full), options=options)
        for one in drawn.tried:
            if one.total < found.total:
                found = replace(found, total=one.total, options=one.option.flags)
        return found

    def tuned(self, chance: _Chance | None) -> Tuned:
        """The result of the search."""
        variant, flags, default_total = self.best[0], self.flags, self.own.default_total
        beside = variant.beside or self.own.session
        verdict = verify(variant.session, request_by_flags(self.program, flags), beside)
        has_chance = chance is not None and chance.compiles > 1
        return Tuned(
            flags=flags,
            verdict=verdict,
            compiles=self.num_compiles,
            random_compiles=0 if chance is None else chance.compiles,
            random_improvement=(
                1.0 - chance.total / default_total if chance and has_chance else None
            ),
            random_options=chance.options if chance and has_chance and chance.options else None,
            captured=len(self.captured),
            program_improvement=1.0 - variant.default_total / default_total,
            tried_program_options=() if self.program_search is None else self.program_search.tried,
            cut_short=tuple(self.cut_short),
        )


def _least(wanted: Sequence[Tried | None]) -> int:
    """Whole compiles to capture these programs, and one in each."""
    return len(wanted) + _captures(wanted)


def _captures(wanted: Sequence[Tried | None]) -> int:
    """Whole compiles to capture the programs of these options; None is the user's own program."""
    return sum(CAPTURE_COMPILES for one in wanted if one is not None)


def _earlier(program: Program, target: Target) -> list[Observation]:
    """The placements that a sample's costs were fitted to, as compiles for `target` see them.

    None for another program, and where this compiler or more flags give other cycles.
    """
    observations = observations_of(program)
    if observations is None or target != target_of(program) or observations.versions != versions():
        return []
    return [one.seen for one in observations.compiles]


def planner(solvers: str) -> PlanFn:
    """A function that plans by each of the solvers in turn, named with commas.

    Raises as `solver_names`.
    """
    turns = cycle(solver_names(solvers))

    def plan_fn(program: Program, seconds: float, seed: int) -> Plan:
        return solve(next(turns), program, Budget(seconds, seed))

    return plan_fn


def tune(
    jitted: Any,
    *args: Any,
    hardware: str,
    solver: str = SOLVERS,
    name: str | None = None,
    topology: str = "",
    compiler_options: Given = MappingProxyType({}),
    folder: str | PathLike[str] | None = None,
    note: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> Tuned:
    """Capture a jitted function for arguments of these shapes, and tune it; hours.

    `args`: arrays, or `jax.ShapeDtypeStruct` in their place. `topology`, `compiler_options`: as in
    `engine.compiler.toolchain.target.Target`. `folder`: for compile results, those of the capture
    too; by default the user's cache. `note` gets a line of text about every compile. `options` are
    more of those of `tune_program`. Then, on a TPU,
    `jitted.lower(*args).compile(compiler_options=OPTIONS)` with `OPTIONS =
    dict(tuned.flags.compiler_options)`; they are empty where the default is best. Raises
    UnknownNameError for an unknown solver, ConfigError and UsageError for other options and for
    limits that there are not, before anything is compiled.
    """
    solver_names(solver)  # refuses unknown names
    try:
        given = inspect.signature(tune_program).bind(None, solver, note=note, **options)
    except TypeError as error:
        raise UsageError(f"tune: {error}") from error
    given.apply_defaults()
    _refuse_bad_limits(*(given.arguments[name] for name in ("compiles", "seconds", "seed")))
    how = capturing(raw=folder, note=note)
    target = Target(hardware, topology, options_in(compiler_options), init_args())
    program = capture(jitted, *args, target=target, how=how, name=name)
    return tune_program(program, solver, folder=how.raw / ANSWERS, note=note, **options)

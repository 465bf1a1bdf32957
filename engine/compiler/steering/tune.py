"""The tuning loop: try options, learn from the compile results, plan again; resumable."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.compiler.costs.correct import corrected
from engine.compiler.reading.observation import Observation, total_text
from engine.compiler.steering.candidates import (
    CAPTURED,
    PASS_OPTION,
    RANDOM,
    captured_candidates,
    exported_candidates,
    pass_option_candidates,
    pass_options_of,
    random_rules,
    vary,
)
from engine.compiler.steering.export import EXPORT, PASS_OPTIONS, Steering
from engine.compiler.steering.outcome import CompileSession, Outcome
from engine.errors import FAILURES, INTERRUPTED, PlanError, ProgramFormatError, SolverError
from engine.files import json_text, read_json, require_header, write_bytes
from engine.folders import locked
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program

FORMAT = "mallocmuzero-tuning"
VERSION = 1
UNREADABLE = ".unreadable"
"""What the name of a log that was set aside ends in."""


class TuneLog:
    """Candidates in the order in which they came up.

    `path`: None keeps them in memory only. Runs of one program at a time share the file; each knows
    those that were there when it began, and its own. A file that cannot be read is set aside, and
    `note` gets a line; so it does where the file cannot be written, or would be larger than what is
    read, and they are kept in memory from then on.
    """

    def __init__(self, path: Path | None, note: Callable[[str], None] = lambda _: None) -> None:
        self._path, self._note = path, note
        self.candidates: list[Steering] = []
        if path is not None and path.exists():
            self.candidates = self._read_or_set_aside(path)

    def add(self, candidate: Steering) -> None:
        """Keep a candidate, unless it is kept already."""
        if candidate in self.candidates:
            return
        self.candidates.append(candidate)
        try:
            self._write()
        except (OSError, ProgramFormatError) as error:
            self._path = None
            self._note(f"not kept for the next time: {error}")

    def _read_or_set_aside(self, path: Path) -> list[Steering]:
        try:
            with locked(path.parent):
                try:
                    return _read(path)
                except ProgramFormatError as error:
                    aside = path.with_name(path.name + UNREADABLE)
                    path.replace(aside)
                    self._note(f"{error}; it is set aside as {aside.name}, and begun anew")
        except OSError as error:
            self._path = None
            self._note(f"not kept for the next time: {error}")
        return []

    def _write(self) -> None:
        """Add to the file what it has not. Raises OSError, ProgramFormatError."""
        path = self._path
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent):
            others = _read(path) if path.exists() else []
            kept = [*others, *(own for own in self.candidates if own not in others)]
            write_bytes(path, json_text(_body(kept), str(path)).encode())


def _body(candidates: Sequence[Steering]) -> dict[str, object]:
    rows = [{"title": c.title, "origin": c.origin, "options": dict(c.options)} for c in candidates]
    return {"format": FORMAT, "version": VERSION, "candidates": rows}


def _read(path: Path) -> list[Steering]:
    body = read_json(path)
    require_header(body, FORMAT, VERSION, str(path))
    try:
        candidates = []
        for row in body["candidates"]:
            if row["origin"] not in (PASS_OPTION, EXPORT, RANDOM):
                raise ValueError(f"no origin is called {row['origin']!r:.40}")
            options = {str(k): str(v) for k, v in row["options"].items()}
            candidates.append(Steering(str(row["title"]), options, row["origin"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProgramFormatError(f"{path}: not a valid log ({error!r:.160})") from error
    return candidates


PER_ROUND = 3
"""Candidates compiled in full before the costs are corrected."""

PLANS_PER_ROUND = 3
RANDOM_PER_ROUND = 4
VARIED_PER_ROUND = 4
NEXT_TO_NOTHING = 1e-4
"""Predictions that differ by less than this share are held for equal."""

EXPLORING_SHARE = 0.4
"""Early stops of a round end after this share of the seconds that are left, so that something is
compiled whole."""

SOLVER_SHARE = 0.006
MAX_SOLVER_S = 30.0
"""A solver's plan may take this share of the seconds that are left, and at most so long."""

PlanFn = Callable[[Program, float, int], Plan]
"""From a program, seconds and a seed to a valid plan. May raise SolverError."""


@dataclass
class Trial:
    """A candidate and its placements; `full` once it is compiled in full."""

    candidate: Steering
    early: Outcome
    full: Outcome | None = None

    @property
    def pattern(self) -> bytes:
        """A key that is equal for candidates that place alike."""
        return _pattern(self.early)


def captured_trials(session: CompileSession, log: TuneLog) -> list[Trial]:
    """What the program's capture compiled whole, as far as it is cached.

    Candidates in the log were compiled by an earlier run of `tune` and are left out.
    """
    logged = {_key(candidate) for candidate in log.candidates}
    trials = []
    for candidate in captured_candidates(session.program):
        options = candidate.options
        if _key(candidate) in logged or not session.answers.has_full(options):
            continue
        try:
            full = session.full(options)
        except FAILURES:
            continue
        trials.append(Trial(candidate, full, full))
    return trials


@dataclass
class Tuning:
    """One run: what it is given, then its state.

    Whole compiles of the log's candidates that are cached are all taken, whatever `compiles` says;
    they count as this run's.
    """

    session: CompileSession
    compiles: int
    """Most whole compiles, the default's among them, but not those of the program's capture."""
    deadline: float
    seed: int
    plan_fn: PlanFn
    note: Callable[[str], None]
    log: TuneLog
    plans: Sequence[Plan] = ()
    """Of the session's program; exported first."""
    earlier: Sequence[Observation] = ()
    """What the program's costs were fitted to."""
    captured: Sequence[Trial] = ()
    """What the program's capture compiled whole (`captured_trials`)."""
    is_planning: bool = True
    """Whether plans are made and exported; else only pass options and random rules are tried."""
    first_random: int = RANDOM_PER_ROUND
    """How many random rules the first round tries."""
    keep: Callable[[Trial], None] = lambda _: None
    """Gets every trial that is the best so far, once it is compiled in full."""

    trials: list[Trial] = field(default_factory=list, init=False)
    default: Outcome | None = field(default=None, init=False)
    num_random: int = field(default=0, init=False)
    num_varied: int = field(default=0, init=False)
    num_fresh: int = field(default=0, init=False)
    """Whole compiles of this run, those that were cached left out."""
    exploring_ends: float = field(default=math.inf, init=False)
    """When the early stops of this round end."""
    refused: set[str] = field(default_factory=set, init=False)
    """Keys of candidates that could not be compiled, for whatever reason: no more in this run."""
    num_failed: int = field(default=0, init=False)
    """Whole compiles that came to nothing."""
    refused_patterns: set[bytes] = field(default_factory=set, init=False)
    """Placements that the compiler does not compile whole."""
    ran_out: bool = field(default=False, init=False)
    """Whether the seconds were used up before the compiles."""

    def run(self) -> None:
        """Try until the compiles or the seconds are used up; goes on with what the log holds.

        Even if time is short, at least one candidate is compiled in full: the most promising one,
        unless one that beats the default already was. So is one export of the `plans`, where
        earlier runs have used up the compiles.
        """
        program = self.session.program
        self.default = self.session.full({})
        self.note(f"default: {total_in_words(self.default)}")
        self.trials += self.captured
        self._correct()
        logged = [c for c in self.log.candidates if self.is_planning or c.origin != EXPORT]
        self._finish_known(logged)
        self._begin_round()
        self._try(logged)
        self._try(pass_option_candidates())
        asked: list[Trial] = []
        if self.is_planning:
            has_exports = any(t.candidate.origin == EXPORT for t in self.trials)
            for plan in self.plans:
                asked += self._try_exports(program, plan)
            if not has_exports:
                self._plan_again()
        while not self.is_over:
            self._begin_round()
            before = len(self.trials)
            self._try_random()
            if self.is_planning and self.num_compiles > 1:
                self._plan_again()
                self._try_varied()
            progress = self._compile_best()
            if not progress and len(self.trials) == before:
                break
        self._compile_after_all(asked)
        self.ran_out = self.num_compiles < self.compiles and time.monotonic() >= self.deadline

    @property
    def num_compiles(self) -> int:
        """Whole compiles so far, also those that came to nothing; the capture's are left out."""
        own = [t for t in self.trials if t.candidate.origin != CAPTURED]
        return 1 + self.num_failed + sum(trial.full is not None for trial in own)

    @property
    def is_over(self) -> bool:
        """Whether the compiles or the seconds are used up."""
        return self.num_compiles >= self.compiles or time.monotonic() >= self.deadline

    @property
    def best(self) -> Trial | None:
        """The trial with the lowest compiled `total`; None if the default is as good."""
        whole = [t for t in self.trials if t.full is not None]
        best = min(whole, key=lambda t: total(t.full), default=None)
        return best if best is not None and total(best.full) < total(self.default) else None

    def predicted_s(self, trial: Trial) -> float:
        """Seconds of a trial's placements: as compiled, beside the default's, where that is known.

        Else simulated with the costs as they are now.
        """
        if trial.full is not None:
            return self._default_s * total(trial.full) / total(self.default)
        return self._simulated_s(trial.early)

    def _simulated_s(self, outcome: Outcome) -> float:
        return simulate(self.session.program, outcome.as_read).latency_s

    def _solver_seconds(self) -> float:
        left = self.deadline - time.monotonic()
        return min(MAX_SOLVER_S, max(1.0, SOLVER_SHARE * left))

    def _begin_round(self) -> None:
        """Say when early stops end, so that a whole compile, as long as the default's, fits in.

        If no whole compile fits any more, early stops still get half of `EXPLORING_SHARE`.
        """
        assert self.default is not None
        share = EXPLORING_SHARE * (self.deadline - time.monotonic())
        before = self.deadline - self.default.seconds - time.monotonic()
        self.exploring_ends = time.monotonic() + min(share, max(before, share / 2))

    def _compile_after_all(self, asked: Sequence[Trial]) -> None:
        """Compile the most promising candidate whole, where none was or none beat the default.

        `asked`: exports of the user's plans. Where all compiles are of earlier runs, the best of
        these is compiled all the same.
        """
        if self.num_compiles >= max(2, self.compiles) and self.num_fresh == 0:
            self.note(
                f"earlier runs made the {self.num_compiles} whole compiles;"
                f" --compiles {self.num_compiles + PER_ROUND} goes on"
            )
            if asked and all(trial.full is None for trial in asked):
                self._compile(min(asked, key=self.predicted_s))
            return
        is_done = self.best is not None and self.num_compiles > 1
        if is_done or self.num_compiles >= self.compiles:
            return
        chosen = [t for t in self._promising() if self.predicted_s(t) < self._default_s]
        if chosen:
            if time.monotonic() >= self.deadline:
                self.note("the time is over; the candidate that promises most is compiled whole")
            self._compile(chosen[0])

    def _try(self, candidates: Sequence[Steering]) -> list[Trial]:
        """Stop each candidate early, unless it is known, until this round's time is over.

        Returns the new trials.
        """
        known = {_key(trial.candidate) for trial in self.trials} | self.refused
        before = len(self.trials)
        for candidate in candidates:
            key = _key(candidate)
            if time.monotonic() >= self.exploring_ends or key in known:
                continue
            known.add(key)
            self.log.add(candidate)
            try:
                early = self.session.early(candidate.options)
            except FAILURES as error:
                self.note(f"{candidate.title}: {error}")
                self.refused.add(key)
                continue
            trial = Trial(candidate, early)
            self.trials.append(trial)
            default_s = self._default_s
            gain = 1.0 - self.predicted_s(trial) / default_s if default_s > 0 else 0.0
            self.note(
                f"candidate {len(self.trials)}: {candidate.title}: predicted improvement {gain:.2%}"
            )
        return self.trials[before:]

    @property
    def _default_s(self) -> float:
        """Simulated seconds of the default's placements with the costs as they are now."""
        assert self.default is not None
        return self._simulated_s(self.default)

    def _try_random(self) -> None:
        """Try random rules that are new; a resumed run knows those of its log."""
        count = self.first_random if self.num_random == 0 else RANDOM_PER_ROUND
        known = {_key(trial.candidate) for trial in self.trials}
        fresh: list[Steering] = []
        while len(fresh) < count:
            candidate = random_rules(self.seed, self.num_random)
            self.num_random += 1
            if _key(candidate) not in known:
                fresh.append(candidate)
        self._try(fresh)

    def _try_varied(self) -> None:
        """Try variations of the export that promises most."""
        made = [t for t in self.trials if t.candidate.origin == EXPORT]
        if made:
            best = min(made, key=self.predicted_s).candidate
            numbers = range(self.num_varied, self.num_varied + VARIED_PER_ROUND)
            self.num_varied = numbers.stop
            self._try([vary(best, self.seed, number) for number in numbers])

    def _finish_known(self, logged: Sequence[Steering]) -> None:
        """Take up the whole compiles that earlier runs have paid for: they cost no time."""
        paid = [c for c in logged if self.session.answers.has_full(c.options)]
        for trial in self._try(paid):
            self._compile(trial)
        self._correct()

    def _compile_best(self) -> bool:
        """Compile the most promising trials in full and correct the costs; false if none is new.

        They are those that promise more than what is compiled, and differ in what they promise; if
        there is none, the most promising one, to learn from.
        """
        chosen = self._promising()
        for trial in chosen:
            if not self.is_over:
                self._compile(trial)
        self._correct()
        return bool(chosen)

    def _promising(self) -> list[Trial]:
        whole = [t for t in self.trials if t.full is not None]
        assert self.default is not None
        shown = {_pattern(self.default), *(t.pattern for t in whole), *self.refused_patterns}
        left = [t for t in self.trials if t.full is None and t.pattern not in shown]
        left.sort(key=self.predicted_s)
        reached = min([self._default_s, *(self.predicted_s(t) for t in whole)])
        chosen: list[Trial] = []
        last = -1.0
        for trial in left:
            promise = self.predicted_s(trial)
            is_more = promise < reached * (1 - NEXT_TO_NOTHING)
            if is_more and promise > last * (1 + NEXT_TO_NOTHING) and len(chosen) < PER_ROUND:
                chosen.append(trial)
                last = promise
        return chosen or left[:1]

    def _compile(self, trial: Trial) -> None:
        title, options = trial.candidate.title, trial.candidate.options
        self.num_fresh += not self.session.answers.has_full(options)
        try:
            trial.full = self.session.full(options)
        except FAILURES as error:
            self.trials.remove(trial)
            self.refused.add(_key(trial.candidate))
            if not isinstance(error, INTERRUPTED):
                self.refused_patterns.add(trial.pattern)
            self.num_failed += 1
            self.note(f"whole compile {self.num_compiles} of {self.compiles}: {title}: {error}")
            return
        best = min([total(self.default), *(total(t.full) for t in self.trials if t.full)])
        gain = 1.0 - total(trial.full) / total(self.default)
        best_gain = 1.0 - best / total(self.default)
        self.note(
            f"whole compile {self.num_compiles} of {self.compiles}: {title}: improvement"
            f" {gain:.2%}; best so far {best_gain:.2%}"
        )
        if trial is self.best:
            self.keep(trial)

    def _correct(self) -> None:
        """Fit the costs to what all whole compiles said."""
        whole = [t.full.observation for t in self.trials if t.full is not None]
        seen = [*self.earlier, *([self.default.observation] if self.default else []), *whole]
        self.session = self.session.with_costs(corrected(self.session.imported, seen))

    def _plan_again(self) -> None:
        """Plan with the corrected costs, and export with the pass options that did best.

        Plans by several seeds: what an early stop shows is not always what the solver thought. No
        plan is made when there is no time to try it.
        """
        for number in range(PLANS_PER_ROUND):
            if time.monotonic() >= self.exploring_ends:
                return
            turn = self.num_compiles + len(self.refused)
            seed = self.seed + PLANS_PER_ROUND * turn + number
            try:
                plan = self.plan_fn(self.session.program, self._solver_seconds(), seed)
            except SolverError as error:
                self.note(f"no plan: {error}")
            else:
                self._try_exports(self.session.program, plan)

    def _try_exports(self, program: Program, plan: Plan) -> list[Trial]:
        try:
            candidates = exported_candidates(program, plan, self._best_pass_options())
        except PlanError as error:
            self.note(f"no export: {error}")
            return []
        return self._try(candidates)

    def _best_pass_options(self) -> list[int]:
        """The two of `PASS_OPTIONS`, by number, with the best placements so far."""
        ranked = [(self._default_s, 0)]
        for trial in self.trials:
            options = pass_options_of(trial.candidate.options)
            if options in PASS_OPTIONS:
                ranked.append((self.predicted_s(trial), PASS_OPTIONS.index(options)))
        return list(dict.fromkeys(number for _, number in sorted(ranked)))[:2]


def _key(candidate: Steering) -> str:
    """A key that is equal for candidates of equal options."""
    return str(sorted(candidate.options.items()))


def _pattern(outcome: Outcome) -> bytes:
    """A key that is equal for compiles that place and copy alike."""
    return outcome.observation.is_fast.tobytes() + repr(outcome.as_read.copies).encode()


def total(outcome: Outcome | None) -> float:
    """Cycles, stalls and prices of a whole compile."""
    assert outcome is not None
    assert outcome.total_cycles is not None
    return outcome.total_cycles


def total_in_words(outcome: Outcome) -> str:
    """The total of a whole compile, and its parts."""
    assert outcome.cycles is not None
    assert outcome.stall_cycles is not None
    return total_text(outcome.cycles, outcome.stall_cycles, outcome.priced_cycles)

"""Active-learning loop that calibrates costs by repeated compiles.

Two kinds of placements take turns. One is what our own plan becomes when the compiler is steered to
it: a solver looks for what pays most, and so for every saving that is too high, and the compile
corrects it. The other is what resolves most of what is uncertain
(`engine.compiler.capture.identify`). Either is chosen among several by an early stop, which takes
seconds, and then compiled whole. When all agrees, what only a single placement has shown is asked
for once more, in another one; where no order changes the cycles, one with fewer copies. The study
ends there, or when its compiles are used up.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.compiler.capture.identify import close_to, is_placed_alike, proposal, stakes, worth
from engine.compiler.costs.calibrate import (
    Fit,
    fit_costs,
    pools,
    slot_cycles,
    total_cycles,
    total_error,
    with_costs,
)
from engine.compiler.costs.observations import (
    Compile,
    Observations,
    free_name,
    structure_hash,
)
from engine.compiler.costs.trust import left_out, others
from engine.compiler.reading.observation import Observation, observe, stall_cycles, total_text
from engine.compiler.reading.own_compile import own_compile, scratch_region
from engine.compiler.reading.xla_plan import read_own_plan
from engine.compiler.steering.export import INEFFICIENT_RATIO, PASS_OPTIONS, exports
from engine.compiler.toolchain.compile import Compiled
from engine.compiler.toolchain.libtpu import versions
from engine.compiler.toolchain.results import (
    DEFAULT_OPTIONS,
    SLOW_OPTIONS,
    Answers,
    duration_text,
)
from engine.errors import FAILURES, INTERRUPTED, PlanError, ProgramFormatError, SolverError
from engine.plan.model import Plan
from engine.program.counts import given_counts
from engine.program.hlo.build import Imported
from engine.program.hlo.flow import Flow
from engine.program.hlo.parse import parse_hlo
from engine.program.model import Program
from engine.program.prices import priced_s, with_prices

GOOD_ERROR = 0.005
"""A plan's total that is predicted this well, relatively, needs no further compile."""

GOOD_STAKE = 0.002
"""A share of the program's cycles that is not worth a compile."""

LONE_ERROR = 0.01
"""A placement that the others predict no better than this has shown something that they have not.
"""

ALIKE_SHARE = 0.5
"""Least share of a misprediction that a placement repeats to be compiled for its sake."""

NUM_ALIKE = 6
"""Placements close to one that are looked at by an early stop."""

LEAST_OBSERVED = 2
"""Compiles, all slow aside, before which a prediction is a guess and its error tells nothing."""

EARLY_STOPS = 4
"""About so many early stops go before a whole compile: a guess, for announcements alone."""

NUM_PROPOSALS = 3
"""Placements that an early stop looks at before one of them is compiled whole."""

BOTH = PASS_OPTIONS[-1]
TURNS = (BOTH, PASS_OPTIONS[0], PASS_OPTIONS[2], PASS_OPTIONS[1])
"""The order in which proposals are made with the pass options."""

FEWER_COPIES: Sequence[Mapping[str, str]] = (
    {INEFFICIENT_RATIO: "2"},
    {"xla_msa_max_outstanding_prefetches": "0"},
)
"""With these the compiler copies less in, in whatever order it places."""

Solver = Callable[[Program], Plan]


@dataclass
class Study:
    """One program's compiles, and what is to be compiled next.

    `imported`: the program with its flow in the all-slow compile. `observations`: those so far.
    `solvers` make plans, in turn. `note` gets a line about every compile. `keep` gets the
    observations after each, so that an interrupted study goes on where it stopped. `refused`: whole
    compiles that came to nothing; those that the compiler refused are as good as known.
    """

    imported: Imported
    answers: Answers
    observations: Observations
    solvers: Sequence[Solver]
    note: Callable[[str], None]
    keep: Callable[[Observations], None] = lambda _: None
    refused: int = 0
    _refused_placements: list[NDArray[np.bool_]] = field(default_factory=list, repr=False)
    _observed: dict[str, Observation] = field(default_factory=dict, repr=False)

    @property
    def program(self) -> Program:
        """The program; its costs are those that it came with."""
        return self.imported.program

    def run(self, compiles: int) -> Observations:
        """Compile until `compiles` whole compiles are made, or there is nothing more to learn.

        The first is the compiler's own plan, without which there is no program; the second that
        with both pass options, if it is another. All is agreed once the plans of all solvers, one
        after another, are predicted or known. Raises CompilerError and ProgramFormatError where the
        first comes to nothing.
        """
        self._work_out_waits()
        known = {c.name for c in self.observations.compiles}
        if "default" not in known:
            self._announce(compiles)
            self._take("default", DEFAULT_OPTIONS, *self._whole("default", DEFAULT_OPTIONS))
        if "knobs" not in known and self._placement(BOTH) is not None:
            self.compile("knobs", BOTH)
        agreed, num_plans, announced = 0, 0, -1
        while (turn := len(self.observations.compiles) + self.refused) < compiles:
            if turn != announced:
                self._announce(compiles)
                announced = turn
            is_agreed = agreed >= len(self.solvers)
            asks = turn % 2 == 1 or is_agreed
            proposed = self._best_proposal(turn, self.observations.compiles) if asks else None
            if proposed is not None:
                self.compile(self._name("stake", turn), proposed)
                agreed = 0
            elif is_agreed:
                again = self._shown_again(turn) or self._fewer_copies()
                if again is None:
                    break
                self.compile(self._name("again", turn), again)
            else:
                ours = self._best_plan(turn, self.solvers[num_plans % len(self.solvers)])
                num_plans += 1
                is_good = ours is None or self.compile(self._name("plan", turn), ours) <= GOOD_ERROR
                agreed = agreed + 1 if is_good else 0
        return self.observations

    def _name(self, word: str, turn: int) -> str:
        """A name for the next compile: a study that goes on may have had one of that turn."""
        return free_name(f"{word}-{turn}", {one.name for one in self.observations.compiles})

    def compile(self, name: str, options: Mapping[str, str]) -> float:
        """Compile one placement whole; returns the relative error, unsigned, of its predicted
        total.

        Infinite where it comes to nothing: the compiler refuses or aborts, or it cannot be read.
        """
        try:
            whole = self._whole(name, options)
        except FAILURES as failure:
            self.note(f"{self.program.name} {name}: {failure}")
            self.refused += 1
            if not isinstance(failure, INTERRUPTED):
                self._remember_refused(options)
            return math.inf
        return self._take(name, options, *whole)

    def _whole(self, name: str, options: Mapping[str, str]) -> tuple[Compiled, Flow, Observation]:
        """A whole compile as it was read. Raises CompilerError, ProgramFormatError."""
        answer = self.answers.full(options)
        flow = self._flow(answer.hlo, name)
        return answer, flow, observe(self.imported, flow)

    def _take(
        self,
        name: str,
        options: Mapping[str, str],
        answer: Compiled,
        flow: Flow,
        seen: Observation,
    ) -> float:
        """Keep a whole compile; returns what `compile` does."""
        error = total_error(self.program, self._fit(), seen)
        priced = self._priced(seen)
        stalls = self._stall_cycles(priced, flow, answer.buffers, seen)
        one = Compile(name, options, seen, stalls)
        self.note(f"{self.program.name} {name}: {self._in_words(one, priced, error)}")
        self.observations = replace(self.observations, compiles=(*self.observations.compiles, one))
        self.keep(self.observations)
        return abs(error)

    def _work_out_waits(self) -> None:
        """Work out how long known compiles wait for which it is not known, as far as they are kept.

        It is not where loops ran more or less often when they were observed.
        """
        compiles = []
        for one in self.observations.compiles:
            if one.stall_cycles is None and self.answers.has_full(one.options):
                with suppress(*FAILURES):
                    answer, flow, seen = self._whole(one.name, one.options)
                    stalls = self._stall_cycles(self._priced(seen), flow, answer.buffers, seen)
                    one = replace(one, stall_cycles=stalls)
            compiles.append(one)
        self.observations = replace(self.observations, compiles=tuple(compiles))

    def _announce(self, compiles: int) -> None:
        """Note how many of `compiles` whole compiles are left at most, and how long they take."""
        left = compiles - len(self.observations.compiles) - self.refused
        whole_s, early_s = self.answers.expected_s(True), self.answers.expected_s(False)
        if left > 0 and whole_s is not None and early_s is not None:
            about = duration_text(left * (whole_s + EARLY_STOPS * early_s))
            self.note(f"{self.program.name}: at most {left} whole compiles to go, about {about}")

    def _priced(self, seen: Observation) -> Program:
        """The program with prices beside costs fitted to this compile too.

        What work beside the schedule costs depends on how much the rest of it hides.
        """
        if not self.imported.prices:
            return self.program
        known = self.observations
        observed = [*(one.seen for one in known.compiles), seen]
        fit = fit_costs(self.program, known.pools, known.slow.seen, observed)
        return with_prices(with_costs(self.program, fit), self.imported.prices)

    def _in_words(self, one: Compile, program: Program, error: float) -> str:
        """What a compile takes, and how well it was predicted, where enough was observed before."""
        cycles = total_cycles(self.program, None, one.seen)
        priced = priced_s(program) * program.hardware.clock_hz
        if one.stall_cycles is None:
            said = f"{cycles + priced:,.0f} cycles without its stalls, which cannot be read"
        else:
            said = total_text(cycles, one.stall_cycles, priced)
        is_guess = len(self.observations.compiles) < LEAST_OBSERVED
        return said if is_guess else f"{said}; prediction off by {error:+.2%}"

    def _stall_cycles(
        self, program: Program, flow: Flow, buffers: str, seen: Observation
    ) -> float | None:
        """Cycles in which the compile waits for its copies; None where they cannot be read."""
        try:
            region = scratch_region(self.program)
            plan = read_own_plan(self.imported, flow, buffers or None, region)
        except ProgramFormatError as error:
            self.note(f"{self.program.name}: its copies cannot be read ({error})")
            return None
        return stall_cycles(replace(self.imported, program=program), plan, seen)

    def _fit(self, compiles: Sequence[Compile] | None = None) -> Fit:
        """The costs fitted to these compiles; to all so far, where `compiles` is None."""
        seen = [c.seen for c in (self.observations.compiles if compiles is None else compiles)]
        return fit_costs(self.program, self.observations.pools, self.observations.slow.seen, seen)

    def _best_plan(self, turn: int, solver: Solver) -> Mapping[str, str] | None:
        """Options of the export of a solver's plan whose new placement is predicted as fastest.

        None where there is none, or the solver has no plan.
        """
        fit = self._fit()
        try:
            plan = solver(with_costs(self.program, fit))
            steerings = exports(with_costs(self.program, fit), plan)
        except SolverError as error:
            self.note(f"{self.program.name}: no plan: {error}")
            return None
        except PlanError:
            return None
        # The first is the plan's own way, where it has one; the others take turns.
        others = range(turn, turn + NUM_PROPOSALS - 1)
        chosen = [steerings[0], *(steerings[n % len(steerings)] for n in others)]
        totals = {}
        for index, steering in enumerate(chosen):
            seen = self._placement(steering.options)
            if seen is not None:
                totals[index] = total_cycles(self.program, fit, seen)
        if not totals:
            return None
        return chosen[min(totals, key=lambda n: totals[n])].options

    def _shown_again(self, turn: int) -> Mapping[str, str] | None:
        """A proposal that resolves what a single placement has shown; None if all was shown twice.

        What the others would leave open without that placement is asked for as if it were open.
        Where they leave nothing open, savings do not add up there: a placement close to that one
        is asked for.
        """
        for lone in left_out(self.program, self.observations):
            if abs(lone.error) > LONE_ERROR:
                rest = others(self.observations, lone.compile)
                proposed = self._best_proposal(turn, rest) or self._alike(turn, lone.compile, rest)
                if proposed is not None:
                    return proposed
        return None

    def _fewer_copies(self) -> Mapping[str, str] | None:
        """Options with fewer copies where no order changed the cycles; None if one did.

        Where all compiles take the same, one that is held out of the fit confirms nothing.
        """
        cycles = {np.nan_to_num(one.seen.cycles).tobytes() for one in self.observations.compiles}
        if len(cycles) > 1:
            return None
        return next((o for o in FEWER_COPIES if self._placement(o) is not None), None)

    def _alike(self, turn: int, lone: Compile, rest: Sequence[Compile]) -> Mapping[str, str] | None:
        """Options of a new placement that repeats most of what `rest` missed at `lone`, or None."""
        predicted = slot_cycles(self.program, self._fit(rest), lone.seen)
        missed = np.nan_to_num(slot_cycles(self.program, None, lone.seen) - predicted)
        best, most = None, ALIKE_SHARE * abs(missed.sum())
        for number in range(NUM_ALIKE):
            seed = turn * 10 + number
            options = close_to(self.program, lone.options, lone.seen.is_fast, seed)
            early = self._placement(options)
            if early is None:
                continue
            repeated = abs(missed[is_placed_alike(self.program, early, lone.seen)].sum())
            if repeated > most:
                best, most = options, repeated
        return best

    def _best_proposal(self, turn: int, compiles: Sequence[Compile]) -> Mapping[str, str] | None:
        """The proposal that resolves most of what these compiles leave open; None if too little."""
        stake = stakes(self.program, self._fit(compiles))
        seen = [c.seen.is_fast for c in compiles]
        best, most = (
            None,
            GOOD_STAKE * total_cycles(self.program, None, self.observations.slow.seen),
        )
        for number in range(NUM_PROPOSALS):
            chosen = TURNS[(turn + number) % len(TURNS)]
            options = {**proposal(self.program, stake, seen, turn * 10 + number), **chosen}
            early = self._placement(options)
            if early is None:
                continue
            resolved = worth(self.program, self.observations.pools, seen, stake, early.is_fast)
            if resolved > most:
                best, most = options, resolved
        return best

    def _placement(self, options: Mapping[str, str]) -> Observation | None:
        """The placement under `options`; None where the compiler refuses, or it is known."""
        asks = self.answers.full if self.answers.has_full(options) else self.answers.early
        try:
            seen = self._observe(asks(options).hlo, "early")
        except FAILURES as error:
            self.note(f"{self.program.name}: {error}")
            return None
        known = [c.seen.is_fast for c in self.observations.compiles] + self._refused_placements
        return None if any((one == seen.is_fast).all() for one in known) else seen

    def _remember_refused(self, options: Mapping[str, str]) -> None:
        """Count the placement under `options` as known, as far as an early stop shows it."""
        with suppress(*FAILURES):
            seen = self._observe(self.answers.early(options).hlo, "early")
            self._refused_placements.append(seen.is_fast)

    def _observe(self, hlo: str, name: str) -> Observation:
        """The observation in a compile's HLO, read once: many options give the same HLO."""
        key = hashlib.sha256(hlo.encode()).hexdigest()
        if key not in self._observed:
            self._observed[key] = observe(self.imported, self._flow(hlo, name))
        return self._observed[key]

    def _flow(self, hlo: str, name: str) -> Flow:
        where = f"{self.program.name}/{name}"
        return Flow(parse_hlo(hlo.encode(), where), where)


def begun(program: Program, answers: Answers) -> tuple[Imported, Observations]:
    """The program with the flow of its all-slow compile, and the observations of that compile.

    Raises CompilerError where this compiler makes another program of it.
    """
    answers.full(SLOW_OPTIONS)
    imported = own_compile(program, answers)
    return imported, first_observation(imported, structure_hash(program))


def first_observation(imported: Imported, structure: str) -> Observations:
    """The observations of the all-slow compile; `structure`: the program's `structure_hash`."""
    slow = observe(imported, imported.flow)
    return Observations(
        program=imported.program.name,
        structure=structure,
        versions=versions(),
        pools=pools(imported, slow),
        slow=Compile("slow", SLOW_OPTIONS, slow, stall_cycles=0.0),
        compiles=(),
        counts=given_counts(imported.program),
    )

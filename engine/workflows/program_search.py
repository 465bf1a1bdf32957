"""The first part of `tune`: which options of the compiler make a faster program.

From cheap to dear: early stops say which of them make another program; as many of these as there
are compiles for are compiled whole, one of each kind, then what is nearest to the best, and last
the best two of different kinds together. Placement is then tuned in the programs of the best two.
(What an early stop shows of the bytes in slow memory does not tell which program is faster: it was
measured.)
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from engine.compiler.capture.capture import Capturing, Source, captured_by
from engine.compiler.capture.importer import roofline
from engine.compiler.reading.observation import Observation
from engine.compiler.reading.own_compile import device_of
from engine.compiler.steering.outcome import CompileSession, Outcome, compile_session, timed_default
from engine.compiler.steering.program_options import (
    ProgramOption,
    combined,
    effective,
    program_options,
)
from engine.compiler.steering.tune import total
from engine.compiler.toolchain.results import SLOW_OPTIONS, Answers
from engine.compiler.toolchain.target import chips_of
from engine.errors import EngineError, UsageError
from engine.hardware.pricing import pricing
from engine.program.counts import refuse_unknown
from engine.program.hlo.build import build_program
from engine.program.hlo.parse import parse_hlo
from engine.program.model import Program
from engine.program.prices import is_measured, with_prices, with_prices_of
from engine.workflows.capturing import SECONDS, SOLVERS, planners

NEXT_TO_NOTHING = 5e-4
"""A smaller gain of an option is not worth another program."""


@dataclass(frozen=True)
class Tried:
    """A program option as compiled whole.

    `total`: cycles, stalls and prices of its own default placement, as a share of what the user's
    default takes by prices of the same kind, times the user's `default_total`. `session`: of the
    program that it makes, with costs by operations and bytes alone. `beside`: the user's own
    program with such costs; None: only with its own.
    """

    option: ProgramOption
    total: float
    session: CompileSession
    beside: CompileSession | None = None


@dataclass(frozen=True)
class ProgramSearch:
    """What a search over program options found.

    `tried`: what was compiled whole, the lowest total first. `default_total`: of the user's
    default. `ran_out`: the time was used up before the compiles. `num_failed`: compiles that came
    to nothing.
    """

    tried: tuple[Tried, ...]
    default_total: float
    ran_out: bool = False
    num_failed: int = 0

    @property
    def num_compiles(self) -> int:
        """Whole compiles, also those that came to nothing."""
        return len(self.tried) + self.num_failed

    @property
    def better(self) -> tuple[Tried, ...]:
        """Those below the default by more than next to nothing, the best first."""
        least = self.default_total * (1 - NEXT_TO_NOTHING)
        return tuple(one for one in self.tried if one.total < least)


def search_program_options(
    answers: Answers,
    default_total: float,
    *,
    compiles: int,
    deadline: float,
    note: Callable[[str], None],
) -> ProgramSearch:
    """Try the program options for a chip until the compiles or the time are used up; minutes.

    The last compile is for the best two of different kinds together, where two are better than the
    default. `answers`: of the program under the user's own flags; options that these name are left
    alone.
    """

    ran_out = False

    def goes_on() -> bool:
        nonlocal ran_out
        ran_out = time.monotonic() >= deadline
        return not ran_out

    found = ProgramSearch((), default_total)
    left = list(effective(answers, _wanted(answers), note, goes_on))
    judge, kinds = _Judge(answers, note), set[str]()
    while left and found.num_compiles < compiles - 1 and goes_on():
        option = _following(left, kinds, found.better)
        left.remove(option)
        kinds.add(option.kind)
        found = judge.with_one(found, option)
    last = _pair(found.better)
    if last is None and left:
        last = _following(left, kinds, found.better)
    if last is not None and found.num_compiles < compiles and goes_on():
        found = judge.with_one(found, last)
    return replace(found, ran_out=ran_out)


def random_program_options(
    answers: Answers,
    default_total: float,
    count: int,
    seed: int,
    deadline: float,
    note: Callable[[str], None],
) -> ProgramSearch:
    """Whole compiles of program options drawn by chance, as they come, while there is time."""
    found = ProgramSearch((), default_total)
    if count == 0:
        return found
    drawn = _wanted(answers)
    random.Random(f"{seed}/settings").shuffle(drawn)
    judge = _Judge(answers, note)
    for option in drawn[:count]:
        if time.monotonic() >= deadline:
            return replace(found, ran_out=True)
        found = judge.with_one(found, option)
    return found


def _wanted(answers: Answers) -> list[ProgramOption]:
    """The program options for the chip that the user's own flags do not name."""
    target, devices = answers.target, answers.stopped({}).devices
    given = set(target.flags)
    return [o for o in program_options(target.hardware, devices) if not given & set(o.flags)]


def _following(
    left: Sequence[ProgramOption], kinds: Collection[str], better: Sequence[Tried]
) -> ProgramOption:
    """The next option of those left: the first of each kind, then what is nearest to the best."""
    untried = next((option for option in left if option.kind not in kinds), None)
    if untried is not None:
        return untried
    return min(left, key=lambda option: _distance(better[0].option, option)) if better else left[0]


def _distance(one: ProgramOption, other: ProgramOption) -> float:
    """How far the numbers are apart that two options give the same flags; infinite for others."""
    if one.flags.keys() != other.flags.keys():
        return math.inf
    pairs = [(value, other.flags[name]) for name, value in one.flags.items()]
    if not all(a.isdigit() and b.isdigit() for a, b in pairs):
        return math.inf
    return sum(abs(math.log(max(1, int(a)) / max(1, int(b)))) for a, b in pairs)


def _pair(better: Sequence[Tried]) -> ProgramOption | None:
    """The best option together with the best one of another kind."""
    for other in better[1:]:
        if other.option.kind != better[0].option.kind:
            return combined(better[0].option, other.option)
    return None


@dataclass
class _Judge:
    """Compiles options whole and holds each against the user's default.

    What the compiler states no cycles for is priced, and work in flight costs what the others do
    not hide of it: in both programs by the cycles of their own default compiles.
    """

    answers: Answers
    note: Callable[[str], None]

    @cached_property
    def beside(self) -> CompileSession:
        """The user's own program, priced as those of the options are."""
        return session_under(self.answers, {})

    def with_one(self, found: ProgramSearch, option: ProgramOption) -> ProgramSearch:
        """What was found, and one more option as compiled whole."""
        try:
            session = session_under(self.answers, option.flags)
            share = total(timed_default(session)) / total(timed_default(self.beside))
        except EngineError as error:
            self.note(f"{option.title}: {error}")
            return replace(found, num_failed=found.num_failed + 1)
        self.note(f"program option {option.title}: improvement {1.0 - share:.2%}")
        made = Tried(option, share * found.default_total, session, self.beside)
        tried = sorted([*found.tried, made], key=lambda one: one.total)
        return replace(found, tried=tuple(tried))


def session_under(answers: Answers, options: Mapping[str, str]) -> CompileSession:
    """The session of what a program becomes under `options`; costs by operations and bytes alone.

    An early stop with everything slow gives the program, and a whole compile what has no estimate.
    Raises CompilerError, ProgramFormatError, UsageError for counts of loops and branches that it
    does not have.
    """
    own = answers.under(options)
    # A whole compile states cycles, which another program here may not have.
    slow = own.stopped(SLOW_OPTIONS)
    target = own.target
    device = device_of(slow, target.hardware, target.scoped_bytes)
    rough = build_program(
        parse_hlo(slow.hlo.encode(), "all slow"),
        name="tuned",
        hardware=device.hardware,
        where="all slow",
        reserved_bytes=device.scoped_bytes,
        roofline=roofline(device),
        pricing=pricing(device, chips_of(target, slow.devices)),
    )
    refuse_unknown(rough.program, target.counts)
    session = CompileSession(rough.with_counts(target.counts), own)
    return _priced(session, session.full({}))


def priced_like(session: CompileSession, other: CompileSession) -> CompileSession:
    """The session with the prices of another one's program.

    Two programs are held against each other by those of `session_under`, which are of one kind.
    """
    return session.with_costs(with_prices_of(session.program, other.program))


def _priced(session: CompileSession, compiled: Outcome) -> CompileSession:
    """The session with prices of what its default compile states no cycles for.

    What is in flight hides behind the cycles of that compile.
    """
    program, stated = session.program, compiled.observation.cycles
    # Copies state 0 where the compile made them asynchronous: they are no price of that program's.
    prices = {
        time: price
        for time, price in session.imported.prices.items()
        if stated[time] == 0 and program.instructions[time].opcode != "copy"
    }
    if not prices:
        return session
    instructions = tuple(
        replace(instruction, fast_s=0.0) if time in prices else instruction
        for time, instruction in enumerate(program.instructions)
    )
    accesses = tuple(
        replace(access, saving_s=0.0) if access.time in prices else access
        for access in program.accesses
    )
    unpriced = replace(program, instructions=instructions, accesses=accesses)
    taken_s = [
        float(cycles) * program.multiplicity(instruction.level) / program.hardware.clock_hz
        for cycles, instruction in zip(np.nan_to_num(stated), program.instructions, strict=True)
    ]
    return session.with_costs(with_prices(unpriced, prices, taken_s=taken_s))


def program_under(
    program: Program, answers: Answers, options: Mapping[str, str], note: Callable[[str], None]
) -> tuple[CompileSession, Sequence[Observation]]:
    """The session of what a program becomes under `options`, captured anew; two or three compiles.

    `answers`: of the program under the user's own flags. Beside it stands what its costs were
    fitted to. Raises UsageError for a program with measured prices: there are none of the other.
    """
    if is_measured(program):
        raise UsageError(
            f"{program.name} has measured prices, and options that make another program cannot be"
            " held against them: take the program as it was captured"
        )
    own = answers.under(options)
    source = Source(program.name, own.target, own.stablehlo)
    how = Capturing(planners(SOLVERS, SECONDS), Path(), 1, note=note)
    captured, observations = captured_by(own, source, how)
    return compile_session(captured, own), [one.seen for one in observations.compiles]

"""The first part of `tune`: which of the compiler's own settings make a faster program.

Successive halving, from cheap to dear: an early stop says which settings make another program at
all; these are compiled whole, those first that gained most elsewhere; the best two of different
kinds are tried together. Placement is then tuned in the programs of the best two. (What an early
stop shows of the bytes in slow memory does not tell which program is faster: it was measured.)
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.compiler.capture.capture import Capturing, Source, captured_by
from engine.compiler.capture.importer import roofline
from engine.compiler.reading.observation import Observation
from engine.compiler.reading.own_compile import device_of
from engine.compiler.steering.compiled_plan import Bench, Outcome
from engine.compiler.steering.knobs import Setting, distinct, settings, together
from engine.compiler.steering.tune import total
from engine.compiler.toolchain.results import SLOW_OPTIONS, Answers
from engine.errors import EngineError
from engine.program.counts import COUNTS, with_counts
from engine.program.hlo.build import build_program
from engine.program.hlo.parse import parse_hlo
from engine.program.model import Program
from engine.workflows.capturing import SECONDS, SOLVERS, planners

NEXT_TO_NOTHING = 5e-4
"""A smaller gain of a setting is not worth another program."""


@dataclass(frozen=True)
class Tried:
    """A setting as compiled: `total`, cycles and stalls of its own default placement."""

    setting: Setting
    total: float


@dataclass(frozen=True)
class KnobSearch:
    """What a search over settings found.

    `tried`: what was compiled whole, the fewest cycles and stalls first. `default_total`: of the
    user's default. `num_distinct`, `num_settings`: how many make another program, of how many.
    """

    tried: tuple[Tried, ...]
    default_total: float
    num_distinct: int
    num_settings: int

    @property
    def better(self) -> tuple[Tried, ...]:
        """Those below the default by more than next to nothing, the best first."""
        least = self.default_total * (1 - NEXT_TO_NOTHING)
        return tuple(one for one in self.tried if one.total < least)

    @property
    def improvement(self) -> float:
        """What the best setting alone gains, relative to the default; 0 if none gains."""
        return max([0.0, *(1.0 - one.total / self.default_total for one in self.better)])


def search_knobs(
    answers: Answers,
    default_total: float,
    *,
    compiles: int,
    deadline: float,
    note: Callable[[str], None],
) -> KnobSearch:
    """Try the settings for a chip until the compiles or the time are used up; minutes.

    `answers`: of the program under the user's own flags; settings that these name are left alone.
    """
    wanted = _wanted(answers)

    def goes_on() -> bool:
        return time.monotonic() < deadline

    others = distinct(answers, wanted, note, goes_on)
    tried: list[Tried] = []
    for setting in others:
        if len(tried) < compiles and goes_on():
            _try(answers, setting, default_total, tried, note)
    tried.sort(key=lambda one: one.total)
    search = KnobSearch(tuple(tried), default_total, len(others), len(wanted))
    pair = _pair(search.better)
    if pair is not None and len(tried) < compiles and goes_on():
        _try(answers, pair, default_total, tried, note)
        tried.sort(key=lambda one: one.total)
        search = replace(search, tried=tuple(tried))
    return search


def random_settings(
    answers: Answers,
    default_total: float,
    count: int,
    seed: int,
    deadline: float,
    note: Callable[[str], None],
) -> list[Tried]:
    """Whole compiles of settings drawn by chance, as they come, while there is time."""
    if count == 0:
        return []
    drawn = _wanted(answers)
    random.Random(f"{seed}/settings").shuffle(drawn)
    tried: list[Tried] = []
    for setting in drawn[:count]:
        if time.monotonic() < deadline:
            _try(answers, setting, default_total, tried, note)
    return tried


def _wanted(answers: Answers) -> list[Setting]:
    """The settings for the chip that the user's own flags do not name."""
    target, devices = answers.target, answers.stopped({}).devices
    given = set(target.flags)
    return [s for s in settings(target.hardware, devices) if not given & set(s.options)]


def _pair(better: Sequence[Tried]) -> Setting | None:
    """The best setting together with the best one of another kind."""
    for other in better[1:]:
        if other.setting.kind != better[0].setting.kind:
            return together(better[0].setting, other.setting)
    return None


def _try(
    answers: Answers,
    setting: Setting,
    default_total: float,
    tried: list[Tried],
    note: Callable[[str], None],
) -> None:
    try:
        cycles = total(compiled_under(answers, setting.options))
    except EngineError as error:
        note(f"{setting.title}: {error}")
        return
    tried.append(Tried(setting, cycles))
    note(f"knob {setting.title}: {1.0 - cycles / default_total:+.2%}")


def compiled_under(answers: Answers, options: Mapping[str, str]) -> Outcome:
    """The whole compile of the default placement under `options` that change the program.

    An early stop with everything slow gives the program by which it is read. Raises CompilerError,
    ProgramFormatError.
    """
    own = answers.under(options)
    return Bench(rough_program(own), own).full({})


def program_under(
    program: Program, answers: Answers, options: Mapping[str, str], note: Callable[[str], None]
) -> tuple[Bench, Sequence[Observation]]:
    """The bench of what a program becomes under `options`, captured anew; two or three compiles.

    `answers`: of the program under the user's own flags. Beside it stands what its costs were
    fitted to.
    """
    own = answers.under(options)
    source = Source(program.name, own.target, own.stablehlo)
    how = Capturing(planners(SOLVERS, SECONDS), Path(), 1, note=note)
    captured, observations = captured_by(own, source, how)
    return Bench(captured, own), [one.seen for one in observations.compiles]


def rough_program(answers: Answers) -> Program:
    """The program of an early stop with everything slow, with costs by its operations and bytes."""
    slow = answers.early(SLOW_OPTIONS)
    target = answers.target
    device = device_of(slow, target.hardware, target.scoped_bytes)
    rough = build_program(
        parse_hlo(slow.hlo.encode(), "all slow"),
        name="tuned",
        hardware=device.hardware,
        where="all slow",
        reserved_bytes=device.scoped_bytes,
        roofline=roofline(device),
    ).program
    rough = with_counts(rough, target.counts)
    return replace(rough, provenance={COUNTS: target.counts.to_json()})

"""What every solver must keep to, ours and those of other packages, and a trial of one solver.

A rule is a function from a solver's name, a program and a budget to what is broken, in words, or
None. `tried` applies them all in a process of its own, so that a solver that crashes or never ends
breaks a rule like any other.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, TextIO

from engine.errors import EngineError, SolverError
from engine.hardware.what_if import WhatIf, derive
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.processes import child_environment, end_with_parent
from engine.program import library
from engine.program.io import to_json
from engine.program.model import Program
from engine.solvers import Budget, find, solve
from engine.solvers.registry import Watch, refuse_bad_budget
from engine.workflows.compare import applicable

Clock = Callable[[], float]

STEPS = 12
"""Calls of `progress` after which two runs end that are to do the same."""
LONG_S = 1000.0
"""A budget that no solver uses up, since it is told to end before."""
OVERRUN, OVERRUN_S = 0.1, 1.0
"""A budget may be overrun by that share of it, and so many seconds more."""
ROUNDING = 1e-9
"""Latencies that differ by a smaller share are equal."""
END_S = 2.0
"""Seconds in which a solver ends once `progress` has asked for it."""


def run_is_sound(name: str, program: Program, budget: Budget) -> str | None:
    """One run returns a valid plan: there is always one that serves everything from slow memory.

    The plan is no slower than that, its stalls aside. The run leaves the program alone, and tells
    `progress` a share from 0 to 1 and a word.
    """
    outcome = _run(name, program, budget)
    return outcome if isinstance(outcome, str) else None


def all_is_slow_where_nothing_fits(name: str, program: Program, budget: Budget) -> str | None:
    """With a fast memory of one granule a sound run serves everything from slow memory.

    Raises ProgramFormatError for a program that needs more scratch than that.
    """
    cramped = derive(program, WhatIf(fast_bytes=program.hardware.alignment), "cramped")
    outcome = _run(name, cramped, budget)
    if isinstance(outcome, str):
        return outcome
    is_slow = not any(outcome.is_fast) and not outcome.stays
    return None if is_slow else "serves accesses from fast memory"


def _run(name: str, program: Program, budget: Budget) -> Plan | str:
    """The plan of a sound run, or what is not sound."""
    before = json.dumps(to_json(program))
    told: list[tuple[Any, Any]] = []

    def progress(share: float, word: str) -> bool:
        told.append((share, word))
        return budget.progress(share, word)

    try:
        plan = solve(name, program, replace(budget, progress=progress))
    except EngineError as error:
        return str(error)
    if json.dumps(to_json(program)) != before:
        return "changed the program"
    result = simulate(program, plan)
    if result.latency_s - result.stall_s > result.all_slow_s * (1 + ROUNDING):
        return "the plan is slower than with everything in slow memory, its stalls aside"
    if result.latency_s * (1 + ROUNDING) < result.all_fast_s:
        return "the plan is faster than with everything in fast memory"
    for share, word in told:
        if not (isinstance(share, int | float) and 0 <= share <= 1 and isinstance(word, str)):
            return f"told progress {share!r:.40}, {word!r:.40}: not a share from 0 to 1 and a word"
    return plan


def seed_decides(name: str, program: Program, budgets: Sequence[Budget]) -> str | None:
    """Runs with equal budgets of one seed make one plan."""
    is_same = len({made(name, program, budget) for budget in budgets}) == 1
    return None if is_same else "runs with the same seed made different plans"


def made(name: str, program: Program, budget: Budget) -> tuple[object, ...]:
    """What tells the plan of a run from others; empty where it made none."""
    plan = _plan(name, program, budget)
    return (plan.is_fast, plan.stays, plan.copies) if plan else ()


def budget_is_kept(
    name: str, program: Program, budget: Budget, clock: Clock = time.monotonic
) -> str | None:
    """A run ends in its seconds, give or take; what it prepares once is not counted.

    Nor is what it announces as such (`engine.solvers.clock`). Late once may be the machine: of two
    runs the faster one counts.
    """
    _plan(name, program, replace(budget, seconds=0.0))

    def seconds() -> float:
        begun, watch = clock(), Watch(budget.progress, clock)
        with watch:
            _plan(name, program, replace(budget, progress=watch.progress))
        return clock() - begun - watch.not_counted_s

    most = budget.seconds * (1 + OVERRUN) + OVERRUN_S
    took = seconds()
    took = took if took <= most else min(took, seconds())
    return f"took {took:.1f} s of {budget.seconds:g} s" if took > most else None


def end_is_heeded(name: str, program: Program, clock: Clock = time.monotonic) -> str | None:
    """A long run ends soon after `progress` has returned False; of two, the faster one counts."""

    def late() -> float:
        told: list[float] = []

        def progress(share: float, word: str) -> bool:
            del share, word
            told.append(clock())
            return False

        _plan(name, program, Budget(LONG_S, progress=progress))
        return clock() - told[0] if told else 0.0

    took = late()
    took = took if took <= END_S else min(took, late())
    return f"went on for {took:.1f} s after progress returned False" if took > END_S else None


def ends_after_steps(seed: int) -> Budget:
    """A long budget whose `progress` asks for an end after `STEPS` calls, on any machine."""
    left = iter(range(STEPS))
    return Budget(LONG_S, seed, progress=lambda share, word: next(left, None) is not None)


def _plan(name: str, program: Program, budget: Budget) -> Plan | None:
    """The plan; None where there is none, of which `run_is_sound` says why."""
    try:
        return solve(name, program, budget)
    except EngineError:
        return None


SMALL = 40
"""Instructions of the sample programs on which a solver is tried."""
CRAMPED = "teach-keep-or-drop"
SHORT_S = 0.2
START_S = 120.0
"""Seconds in which the process imports what it needs."""
PATIENCE_S, FIRST_PATIENCE_S = 30.0, 180.0
"""Seconds that one case may take beyond its budgets; the first one may have much to compile."""
READY = "ready"

SOUND = "plans are valid"
NOTHING_FITS = "all is slow where nothing fits"
SECONDS = "the budget is kept"
END = "an end is heeded"
SEED = "the seed decides"
RULES: dict[str, Callable[[str, Program, float], str | None]] = {
    SOUND: lambda name, program, _: run_is_sound(name, program, Budget(SHORT_S)),
    NOTHING_FITS: lambda name, program, _: all_is_slow_where_nothing_fits(
        name, program, Budget(SHORT_S)
    ),
    SECONDS: lambda name, program, seconds: budget_is_kept(name, program, Budget(seconds)),
    END: lambda name, program, _: end_is_heeded(name, program),
    SEED: lambda name, program, _: seed_decides(
        name, program, [ends_after_steps(seed=3) for _ in range(2)]
    ),
}
"""What a solver keeps to, by name, and the function that finds out, in so many seconds."""


@dataclass(frozen=True)
class Finding:
    """What one rule found on one program. `broken`: what is broken, in words; None: nothing."""

    rule: str
    program: str
    broken: str | None


Case = tuple[str, str]
"""The names of a rule and of a program."""


def cases(name: str) -> list[Case]:
    """The rules and the names of the programs on which a solver is tried, in order."""
    small = [entry for entry in library.index() if entry.instructions <= SMALL]
    small = [entry for entry in small if name in applicable(library.load_entry(entry))]
    largest = sorted(small, key=lambda entry: entry.instructions)[-2:]
    return [
        *((SOUND, entry.name) for entry in small),
        (NOTHING_FITS, CRAMPED),
        *((rule, entry.name) for rule in (SECONDS, END, SEED) for entry in largest),
    ]


def tried(name: str, seconds: float = 3.0) -> Iterator[Finding]:
    """Try a solver: a finding for each case.

    Raises UnknownNameError for an unknown one, ConfigError for seconds that there are not,
    SolverError where its process does not start. `seconds`: of the runs that are measured. Where
    its process crashes, or a case does not end, the further cases of that rule are left out.
    """
    find(name)
    refuse_bad_budget(seconds)
    waiting = cases(name)
    while waiting:
        lost = yield from _process(name, seconds, waiting)
        done = waiting.index(lost) if lost else len(waiting)
        waiting = [case for case in waiting[done:] if lost and case[0] != lost[0]]


_ROOT = Path(__file__).resolve().parents[2]
_COMMAND = (sys.executable, "-m", "engine.workflows.solver_contract")


def _process(
    name: str, seconds: float, waiting: list[Case]
) -> Generator[Finding, None, Case | None]:
    """The findings of a process that works through cases; returns the one in which it was lost.

    Raises SolverError if it does not begin with them.
    """
    path = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [*_COMMAND, name, str(seconds), json.dumps(waiting)],
        stdout=subprocess.PIPE,
        bufsize=0,
        env=child_environment(PYTHONPATH=path),
    )
    assert process.stdout is not None
    with process.stdout as answers:
        try:
            try:
                first = _answer(process, answers, START_S)
            except _LostError as lost:
                first = str(lost)
            if first != READY:
                raise SolverError(f"{name}: the process that tries it does not start: {first}")
            patience_s = FIRST_PATIENCE_S
            for rule, program in waiting:
                try:
                    broken = _answer(process, answers, patience_s)
                except _LostError as lost:
                    yield Finding(rule, program, str(lost))
                    return rule, program
                yield Finding(rule, program, broken)
                patience_s = PATIENCE_S + 4 * seconds
            return None
        finally:
            process.kill()
            process.wait()


class _LostError(Exception):
    """The process crashed, or works longer than it may."""


def _answer(process: subprocess.Popen[bytes], answers: IO[bytes], patience_s: float) -> Any:
    """The next line of the process. Raises _LostError."""
    if not select.select([answers], [], [], patience_s)[0]:
        raise _LostError(f"did not end within {patience_s:g} s")
    line = answers.readline()
    if not line:
        raise _LostError(_death(process.wait()))
    return json.loads(line)


def _death(code: int) -> str:
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    return f"its process died ({how})"


def main(arguments: list[str]) -> int:
    """Work through cases and write what each one broke, as a line of JSON."""
    end_with_parent()
    name, seconds, waiting = arguments[0], float(arguments[1]), json.loads(arguments[2])
    # What the solver prints must not come between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _tell(answers, READY)
    for rule, program in waiting:
        _tell(answers, RULES[rule](name, library.load_sample(program), seconds))
    return 0


def _tell(answers: TextIO, answer: str | None) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

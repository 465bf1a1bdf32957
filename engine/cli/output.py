"""What the command line prints, and its exit codes. No other module prints."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from io import TextIOWrapper
from typing import Any, TextIO

from engine.files import as_text, json_text, spelt_out
from engine.hardware.presets import preset_remark
from engine.hardware.unestimated_share import unestimated_remark, unestimated_share
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program
from engine.program.profile import Profile, profile_remark, profiled
from engine.program.provenance import (
    fit_remark,
    import_remarks,
    observed,
    offsets_of_compiled_plan,
    reading_warning,
    refining_remark,
    share_read,
    target_facts_of,
)
from engine.solvers.registry import NOT_COUNTED

EXIT_VIOLATION = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


class ReaderGone(Exception):
    """Nobody reads the results any more."""


def show(options: argparse.Namespace, body: dict[str, Any], lines: Sequence[str]) -> None:
    """Print the result: one JSON object with `--json`, else lines for a person.

    The name of a file may hold bytes that are no text: they are spelt out in both.

    Raises ProgramFormatError for a result with a number that JSON has not, ReaderGone.
    """
    if options.json:
        text = json_text(as_text(body), "the result")
    else:
        text = "\n".join(map(spelt_out, lines))
    # Flushed at once, so that a reader which is gone is noticed here.
    try:
        print(text, flush=True)
    except OSError as error:
        _turn_away(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise ReaderGone from error
        raise


def note(message: str) -> None:
    """Print progress or a remark as one line on stderr, if there is one.

    The work goes on where nobody reads it.
    """
    if sys.stderr is None:  # print would take it for stdout
        return
    try:
        print(spelt_out(message), file=sys.stderr)
    except BrokenPipeError:
        _turn_away(sys.stderr)


def _turn_away(stream: TextIO) -> None:
    """Have what is still printed go nowhere, so that nothing buffered complains at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def announcer() -> Callable[[float, str], bool]:
    """A solver's `progress` that prints what is not counted of its time, as it begins."""
    told: set[str] = set()

    def progress(share: float, message: str) -> bool:
        del share
        if message.endswith(NOT_COUNTED) and message not in told:
            told.add(message)
            note(message)
        return True

    return progress


def complain(message: str) -> int:
    """Print an error as one line on stderr; returns the exit code of bad input."""
    note(f"error: {' '.join(message.split())}")
    return EXIT_BAD_INPUT


def spell_out_on_stdout() -> None:
    """Have what the terminal's encoding lacks printed as escapes, as stderr has it already."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def keep_stdout_for_results() -> None:
    """Have what others write to file descriptor 1 go to stderr: C code, a process that is started.

    To the end of this process, since C may print only then what it has gathered; so not where
    a host of ours, such as a notebook, has put another stdout in place.
    """
    stdout = sys.__stdout__
    if stdout is None or sys.stdout is not stdout:
        return
    stdout.flush()
    results = os.dup(stdout.fileno())
    elsewhere = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else sys.stderr.fileno()
    os.dup2(elsewhere, stdout.fileno())
    sys.stdout = os.fdopen(results, "w", encoding=stdout.encoding, errors=stdout.errors)


def timing(program: Program, plan: Plan) -> dict[str, Any]:
    """What the simulator says of a plan, in seconds."""
    result = simulate(program, plan)
    keys = ("latency_s", "compute_s", "stall_s", "all_slow_s", "all_fast_s")
    return {key: getattr(result, key) for key in keys}


def time_text(seconds: float) -> str:
    """Seconds as all commands print them: `14.200 us`."""
    return f"{seconds * 1e6:z.3f} us"


def fact_lines(facts: Mapping[str, Any]) -> list[str]:
    """One line per fact: seconds (`…_s`) as microseconds, shares in percent.

    >>> print(*fact_lines({"values": 3, "stall_s": 2e-6, "total_s": 1e-4, "read": 1.0}), sep="\\n")
    values             3
    stall                2.000 us
    total              100.000 us
    read               100.0%
    """
    times = {key: f"{v * 1e6:z.3f}" for key, v in facts.items() if key.endswith("_s")}
    width = max(map(len, times.values()), default=0)
    lines = []
    for key, value in facts.items():
        text = f"{value:.1%}" if isinstance(value, float) else str(value)
        if key in times:
            text = f"{times[key]:>{width}} us"
        elif key == "seconds":
            text = f"{value:.3f} s"
        lines.append(f"{key.removesuffix('_s'):18} {text}")
    return lines


def show_program(options: argparse.Namespace, program: Program) -> None:
    """Print what a program holds.

    `saving_observed`: the share of all that fast memory may save that compiles have shown, use by
    use; left out where the costs are not the compiler's. `unestimated_share`: of the time, what is
    no estimate of the compiler's.
    """
    facts = {
        "program": program.name,
        "hardware": program.hardware.name,
        "instructions": program.num_slots,
        "values": len(program.values),
        "accesses": len(program.accesses),
        "all_slow_s": program.all_slow_s,
        "all_fast_s": program.all_fast_s,
    }
    facts |= target_facts_of(program)
    savings = observed(program)
    if savings is not None:
        facts["saving_observed"] = savings.share
        facts["unestimated_share"] = unestimated_share(program)
    share = share_read(program)
    if share is not None:
        facts["xla_plan_read"] = share
        facts["xla_plan_offsets"] = offsets_of_compiled_plan(program)
    show(options, facts, fact_lines(facts))
    warn(program)


def with_profile(program: Program, profile: Profile | None) -> Program:
    """The program with measured prices, and what they are said on stderr.

    Without a profile the program as it is.
    """
    if profile is None:
        return program
    measured = profiled(program, profile)
    note(profile_remark(program, profile))
    return measured


def warn(program: Program) -> None:
    """Say on stderr what was passed over or estimated when the program was read."""
    warning = reading_warning(program)
    remarks = (preset_remark(program), refining_remark(program), fit_remark(program))
    for text in filter(None, [warning, *remarks, *import_remarks(program)]):
        note(f"warning: {program.name}: {text}")
    warn_of_unestimated(program)


def warn_of_unestimated(program: Program) -> None:
    """Say on stderr which share of the time the compiler does not estimate, where it is notable."""
    remark = unestimated_remark(program)
    if remark is not None:
        note(f"warning: {program.name}: {remark}")

"""Profiles: measured times of instructions, from a trace of XProf or a table of the user's.

What was measured takes the place of a model's price, and of nothing else: where the compiler states
cycles, these count. A trace is what `jax.profiler.trace` leaves as `*.trace.json.gz`: on the
process of each TPU (`/device:TPU:0`) the thread `XLA Ops` has an event per execution of an
instruction, and `XLA Modules` one per execution of a program. A table is a CSV with the columns
`instruction` and `time_s`, `time_ms`, `time_us` or `time_ns`, the time of one execution, or what
XProf's page "HLO Op Stats" exports. Executions are averaged, over devices too.
"""

from __future__ import annotations

import csv
import io
import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from engine.errors import ProgramFormatError, UsageError
from engine.files import MAX_BYTES, read_bytes, spelt_out
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.prices import PROFILE, Price, with_prices
from engine.program.validate import validate

_NAMES = ("instruction", "HLO op name")
_UNITS = {
    "time_s": 1.0,
    "time_ms": 1e-3,
    "time_us": 1e-6,
    "time_ns": 1e-9,
    "Avg. time (us)": 1e-6,
}
_PROGRAM = "Program id"
_OPS, _MODULES = "XLA Ops", "XLA Modules"
_DEVICE = "/device:TPU"

MAX_SECONDS = 1e6
"""No instruction takes longer."""

LEAST_COMMON = 0.5
"""Least share of the instructions of a profile that are in the program which it measures."""

_TRANSFER = re.compile(r"-(start|done)\b")
_MAX_LISTED = 8

_Times = defaultdict[str, defaultdict[str, list[float]]]
"""Program -> instruction -> seconds of each execution."""


@dataclass(frozen=True)
class Profile:
    """Seconds of one execution, by the name of the instruction.

    `programs`: a mapping for each program in the file, by its name there; instructions of two may
    have one name. One function that was compiled for two shapes is two programs, like
    `jit_step(11)` and `jit_step(12)`. `is_chosen`: the user has named the only one.
    """

    name: str
    programs: Mapping[str, Mapping[str, float]]
    is_chosen: bool = False

    def of(self, program: Program) -> Mapping[str, float]:
        """The times of the program that has most names in common with this one.

        Raises UsageError where several have as many, or it has too few and was not chosen.
        """
        names = {instruction.name for instruction in program.instructions}
        common = {one: len(names & times.keys()) for one, times in self.programs.items()}
        most = max(common.values())
        fitting = [one for one, count in common.items() if count == most]
        if most and len(fitting) > 1:
            raise UsageError(
                f"{self.name}: {len(fitting)} programs there have {most} instructions of"
                f" {program.name}: {_listed(fitting)}; say which with --profile-program"
            )
        times = self.programs[fitting[0]]
        # Transfers of a plan are no instructions of the program.
        told = [name for name in times if name in names or not _TRANSFER.search(name)]
        if most < LEAST_COMMON * len(told) and not self.is_chosen:
            hint = f"--profile-program {fitting[0]!r} takes it all the same"
            raise UsageError(
                f"{self.name}: of {len(told)} instructions there {most} are in {program.name}: it"
                f" is of another program; {hint if fitting[0] else 'measure this one'}"
            )
        return times

    def only(self, name: str) -> Profile:
        """The profile of the program of that name; `jit_step` is enough if one alone is called so.

        Raises UsageError where there is none, or several are.
        """
        bare = [one for one in self.programs if one.partition("(")[0] == name]
        fitting = [name] if name in self.programs else bare
        if len(fitting) != 1:
            found = _listed(fitting or list(self.programs))
            raise UsageError(
                f"{self.name}: {len(fitting) or 'no'} programs there are called {name!r}:"
                f" --profile-program must name one of {found}"
            )
        return Profile(self.name, {fitting[0]: self.programs[fitting[0]]}, is_chosen=True)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:_MAX_LISTED]) + ", …" * (
        len(names) > _MAX_LISTED
    )


def read_profile(path: Path) -> Profile:
    """The profile in a (gzipped) trace or CSV. Raises ProgramFormatError."""
    data = read_bytes(path, MAX_BYTES, "; trace fewer steps, or export HLO Op Stats")
    is_trace = data.lstrip()[:1] in (b"{", b"[")
    programs = (_of_trace if is_trace else _of_table)(data, str(path))
    return Profile(spelt_out(path.name), programs)


def profiled(program: Program, profile: Profile) -> Program:
    """The program with the measured prices of what the compiler states no cycles for.

    Its provenance names the profile. Raises UsageError where nothing of that kind was measured.
    """
    times = profile.of(program)
    prices = {
        slot: Price(seconds, PROFILE)
        for slot in _unestimated(program)
        if (seconds := _measured(program, slot, times)) is not None
    }
    if not prices:
        known = len(times.keys() & {instruction.name for instruction in program.instructions})
        raise UsageError(
            f"{profile.name}: measures {known} of the {program.num_slots} instructions of"
            f" {program.name}, and none for which the compiler states no cycles"
        )
    made = with_prices(program, prices, profile.name)
    validate(made, program.name)
    plan = made.provenance.get("xla_plan")
    if not isinstance(plan, Mapping):
        return made
    kept = {**made.provenance, "xla_plan": {**plan, "program_hash": content_hash(made)}}
    return replace(made, provenance=kept)


def profile_remark(program: Program, profile: Profile) -> str:
    """How many instructions were measured, and how the others compare with their estimates."""
    times = profile.of(program)
    unestimated = set(_unestimated(program))
    priced = [s for s in unestimated if _measured(program, s, times) is not None]
    others = [
        slot
        for slot, instruction in enumerate(program.instructions)
        if slot not in unestimated and instruction.name in times
    ]
    said = (
        f"{profile.name} measures {len(priced)} of {len(unestimated)} instructions without cycles"
    )
    if not others:
        return said
    slow_s = _slow_s(program)
    measured_s = sum(
        times[program.instructions[s].name] * program.multiplicity(program.instructions[s].level)
        for s in others
    )
    least, most = (1e6 * sum(a[s] for s in others) for a in (program.least_s, slow_s))
    return (
        f"{said}; {len(others)} others took {1e6 * measured_s:,.1f} us, by the compiler's cycles"
        f" {least:,.1f} (everything fast) to {most:,.1f} us (everything slow)"
    )


def _slow_s(program: Program) -> list[float]:
    """`[T]` seconds with everything slow that are the compiler's."""
    slow_s = [instruction.fast_s - instruction.priced_s for instruction in program.instructions]
    for access in program.accesses:
        slow_s[access.time] += access.saving_s
    return slow_s


def _unestimated(program: Program) -> list[int]:
    """Slots that take no time by the compiler, though they move something."""
    moves = {access.time for access in program.accesses if access.slow_bytes > 0}
    return [
        slot
        for slot, seconds in enumerate(_slow_s(program))
        if slot in moves and seconds <= 1e-9 * program.instructions[slot].fast_s
    ]


def _measured(program: Program, slot: int, times: Mapping[str, float]) -> float | None:
    """Seconds of one execution; of what is only started, those of its done too."""
    name = program.instructions[slot].name
    started = times.get(name)
    done = times.get(name.replace("-start", "-done")) if "-start" in name else None
    if started is None and done is None:
        return None
    return (started or 0.0) + (done or 0.0)


def _of_table(data: bytes, where: str) -> dict[str, Mapping[str, float]]:
    # Of the whole process. XProf states the text of an instruction, of any length.
    csv.field_size_limit(MAX_BYTES)
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ProgramFormatError(f"{where}: neither a trace nor a CSV ({error!s:.100})") from error
    head = [cell.strip() for cell in rows[0]] if rows else []
    column = next((cell for cell in head if cell in _NAMES), None)
    unit = next((cell for cell in head if cell in _UNITS), None)
    if column is None or unit is None:
        raise ProgramFormatError(
            f"{where}: no profile: its first line must name the columns instruction and one of"
            " time_s, time_ms, time_us, time_ns"
        )
    seconds: _Times = defaultdict(lambda: defaultdict(list))
    for number, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        try:
            cells = dict(zip(head, row, strict=False))
            name, time_s = cells[column].strip(), float(cells[unit]) * _UNITS[unit]
        except (KeyError, ValueError):
            raise ProgramFormatError(f"{where}: line {number} has no name or no time") from None
        if not (name and 0 <= time_s <= MAX_SECONDS):
            raise ProgramFormatError(f"{where}: line {number} has an impossible name or time")
        seconds[cells.get(_PROGRAM, "")][name.removeprefix("%")].append(time_s)
    if not seconds:
        raise ProgramFormatError(f"{where}: no instruction was measured")
    return _means(seconds)


def _means(seconds: _Times) -> dict[str, Mapping[str, float]]:
    """The mean times of the instructions of each program."""
    return {
        program: {name: math.fsum(times) / len(times) for name, times in by_name.items()}
        for program, by_name in seconds.items()
    }


class _Arguments(msgspec.Struct, frozen=True):
    """What we read of the arguments of an event: metadata have a name, executions a duration."""

    name: Any = None
    device_duration_ps: Any = None


class _Event(msgspec.Struct, frozen=True):
    """What we read of an event of a trace, in microseconds; the rest of it is not kept."""

    ph: Any = None
    pid: Any = None
    tid: Any = None
    name: Any = None
    ts: Any = None
    dur: Any = None
    args: _Arguments | None = None


_Events = list[_Event | list[Any] | str | float | bool | None]
"""Those of a trace; what is no event is passed over."""


class _Trace(msgspec.Struct, frozen=True):
    traceEvents: _Events


def _of_trace(data: bytes, where: str) -> dict[str, Mapping[str, float]]:
    try:
        body = msgspec.json.decode(data, type=_Trace | _Events)
        events = body.traceEvents if isinstance(body, _Trace) else body
        found = _by_program([event for event in events if isinstance(event, _Event)])
    except (
        msgspec.DecodeError,
        ValueError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ProgramFormatError(f"{where}: not a trace of XProf ({error!r:.100})") from error
    if not found:
        raise ProgramFormatError(
            f"{where}: no thread {_OPS!r} of a process {_DEVICE!r} has an event: no trace of a TPU"
        )
    return found


def _by_program(events: Sequence[_Event]) -> dict[str, Mapping[str, float]]:
    """The mean times of the instructions of each program in a trace."""
    devices = {
        event.pid
        for event in events
        if event.name == "process_name" and _named(event).startswith(_DEVICE)
    }
    threads = {
        (event.pid, event.tid): _named(event)
        for event in events
        if event.name == "thread_name" and event.pid in devices
    }

    def on(thread: str) -> Iterator[tuple[Any, float, float, str]]:
        """Device, start and duration in microseconds, and name of each event of a thread."""
        for event in events:
            if event.ph == "X" and threads.get((event.pid, event.tid)) == thread:
                yield event.pid, float(event.ts), _microseconds(event), str(event.name)

    spans: defaultdict[Any, list[tuple[float, float, str]]] = defaultdict(list)
    for device, start, duration, name in on(_MODULES):
        spans[device].append((start, start + duration, name))
    for ordered in spans.values():
        ordered.sort()
    seconds: _Times = defaultdict(lambda: defaultdict(list))
    for device, start, duration, name in on(_OPS):
        if 0 <= duration <= 1e6 * MAX_SECONDS:
            instruction = name.removeprefix("%").partition(" ")[0]
            seconds[_running(spans[device], start)][instruction].append(duration * 1e-6)
    return _means(seconds)


def _named(event: _Event) -> str:
    """The name that metadata give. Raises TypeError where they give none."""
    name = None if event.args is None else event.args.name
    if not isinstance(name, str):
        raise TypeError(f"an event {event.name!r:.40} gives no name")
    return name


def _microseconds(event: _Event) -> float:
    """The duration on the device, which XProf states to the picosecond beside the shown one."""
    stated = None if event.args is None else event.args.device_duration_ps
    return float(event.dur) if stated is None else float(stated) * 1e-6


def _running(spans: Sequence[tuple[float, float, str]], start: float) -> str:
    """The program that runs at a time, like `jit_step(1618)`; empty if none is known."""
    last = bisect_right(spans, (start, math.inf, "")) - 1
    if last < 0 or spans[last][1] < start:
        return ""
    return spans[last][2]

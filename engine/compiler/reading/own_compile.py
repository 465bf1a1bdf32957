"""A stored program and the HLO of its own compile: which event is which instruction.

A program file holds no HLO. Its StableHLO compiled again, with everything in slow memory, gives the
same instructions under the same names, as long as the versions are the same; so the stored costs
are kept, and only the map from instructions to HLO events is made anew.
"""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from engine.compiler.toolchain.compile import MAX_SOURCE_BYTES, Compiled
from engine.compiler.toolchain.memory_log import SCOPED_BYTES
from engine.compiler.toolchain.results import SLOW_OPTIONS, Answers
from engine.compiler.toolchain.target import SCOPED_LIMIT, target_of
from engine.errors import CompilerError, ProgramFormatError
from engine.files import MAX_JSON, unpacked
from engine.hardware.presets import Device, find_device
from engine.program.hlo.build import Imported
from engine.program.hlo.flow import Flow
from engine.program.hlo.parse import parse_hlo
from engine.program.hlo.record import COMPUTE, Event
from engine.program.hlo.shape import shape_text
from engine.program.model import Access, Program
from engine.program.provenance import SCRATCH_REGION

STABLEHLO = "stablehlo_gzip_base64"
"""The entry of a provenance with the program as `jax.export` serialises it."""

MAX_PACKED = MAX_JSON // 4 * 3
"""Most characters of that entry: a file has room for the schedule beside it."""


def stored_answers(
    program: Program,
    folder: Path | None,
    options: Mapping[str, str] = MappingProxyType({}),
    init_args: str = "",
    note: Callable[[str], None] = lambda _: None,
) -> Answers:
    """The compiler's answers to a program as it was captured, under its own flags and these.

    `options`, `init_args`: more flags of the user's; they change what the default is. Raises
    ProgramFormatError for a program that holds nothing to compile.
    """
    target = target_of(program).with_flags(options, init_args)
    return Answers(stored_stablehlo(program), target, folder, note=note)


def stored_stablehlo(program: Program) -> bytes:
    """The serialised StableHLO in a program's provenance. Raises ProgramFormatError."""
    text = require_stablehlo(program)
    try:
        stablehlo = unpacked(base64.b64decode(text, validate=True), MAX_SOURCE_BYTES)
    except (ValueError, EOFError, zlib.error) as error:
        raise ProgramFormatError(f"{program.name}: its StableHLO is damaged ({error})") from error
    if len(stablehlo) > MAX_SOURCE_BYTES:
        raise ProgramFormatError(
            f"{program.name}: its StableHLO is larger than {MAX_SOURCE_BYTES >> 20} MiB"
        )
    return stablehlo


def require_stablehlo(program: Program) -> str:
    """The StableHLO in a program's provenance, as it is packed there.

    Raises ProgramFormatError where there is none.
    """
    text = program.provenance.get(STABLEHLO)
    if not isinstance(text, str):
        raise ProgramFormatError(
            f"{program.name}: holds no StableHLO to compile again; capture it, from a model of"
            " the zoo or with --stablehlo"
        )
    return text


def packed_stablehlo(stablehlo: bytes, name: str) -> str:
    """Serialised StableHLO as a provenance holds it.

    Raises ProgramFormatError where it is too large for a program file; `name` is the program's.
    """
    text = base64.b64encode(gzip.compress(stablehlo, mtime=0)).decode()
    if len(text) > MAX_PACKED:
        raise ProgramFormatError(
            f"{name}: its StableHLO takes {len(text) / 2**20:,.0f} MiB of a program file, which"
            f" holds {MAX_PACKED >> 20} MiB of it; give the function its weights as arguments, so"
            " that they are no part of it"
        )
    return text


def own_compile(program: Program, answers: Answers) -> Imported:
    """The program with its flow in the all-slow compile. Seconds, if that is not known yet.

    Raises CompilerError where the compile has other instructions than the program.
    """
    where = f"{program.name}, all slow"
    slow = answers.early(SLOW_OPTIONS)
    flow = Flow(parse_hlo(slow.hlo.encode(), where), where, keeps_copies=False)
    events = _events(program, flow)
    return Imported(program, flow, events, _values(program, flow, events), has_cycles=True)


def device_of(compiled: Compiled, hardware: str, scoped_bytes: int | None = None) -> Device:
    """The device as a compile used it: flags may change the region for scratch.

    `scoped_bytes`: of the region by the flags, where the compile's log does not say.
    """
    stated = compiled.limits.get(SCOPED_BYTES)
    return find_device(hardware).with_scoped(int(stated) if stated else scoped_bytes)


def scratch_region(program: Program) -> int:
    """Bytes of the fast memory that the compiler kept for the scratch of every instruction.

    What instructions reserve tells, unless each reserves more: then the program says it, if it was
    captured since programs do.
    """
    kept = program.provenance.get(SCRATCH_REGION)
    told = min((i.reserved_bytes for i in program.instructions), default=0)
    return kept if type(kept) is int and 0 < kept < told else told


def refuse_other_region(program: Program, compiled: Compiled) -> None:
    """Raise CompilerError where a compile kept more or less for scratch than the program says."""
    stated = compiled.limits.get(SCOPED_BYTES)
    device = find_device(program.hardware.name)
    if stated is None or device.scoped_bytes == 0:
        return
    own = scratch_region(program)
    if device.with_scoped(int(stated)).scoped_bytes != own:
        raise CompilerError(
            f"{program.name}: this compile keeps {int(stated) >> 10} KiB of the fast memory for"
            f" scratch, and the program was captured with {own >> 10} KiB: capture it again with"
            f" {SCOPED_LIMIT}={int(stated) >> 10}"
        )


def _events(program: Program, flow: Flow) -> tuple[int, ...]:
    """The number of each slot's event. Both follow the schedule, and the flow has some more."""
    events = []
    number = 0
    for slot, instruction in enumerate(program.instructions):
        while number < len(flow.events) and not _is(flow.events[number], instruction.name):
            number += 1
        if number == len(flow.events):
            raise _other(program, f"instruction {slot}, {instruction.name}, is missing in it")
        events.append(number)
        number += 1
    return tuple(events)


def _is(event: Event, name: str) -> bool:
    return event.kind == COMPUTE and event.name == name


def _values(program: Program, flow: Flow, events: tuple[int, ...]) -> dict[int, int]:
    """Flow value -> program value, by the order of each instruction's operands and results."""
    accesses: list[list[Access]] = [[] for _ in program.instructions]
    for access in program.accesses:
        accesses[access.time].append(access)
    value_of: dict[int, int] = {}
    for slot, number in enumerate(events):
        event = flow.events[number]
        theirs = list(dict.fromkeys(flow.origin(v) for _, v, _ in event.reads)) + event.writes
        ours = accesses[slot]
        if len(ours) != len(theirs):
            raise _other(program, f"{event.name} has {len(theirs)} operands, not {len(ours)}")
        for access, value in zip(ours, theirs, strict=True):
            known = value_of.setdefault(value, access.value)
            shape = shape_text(flow.values[value].shape)
            if known != access.value or shape != program.values[access.value].shape:
                raise _other(program, f"{event.name} works on other values")
    return value_of


def _other(program: Program, why: str) -> CompilerError:
    versions = program.provenance.get("versions", "unknown")
    return CompilerError(
        f"{program.name}: this compiler makes another program of it ({why}); it was captured with"
        f" {versions}: capture it again"
    )

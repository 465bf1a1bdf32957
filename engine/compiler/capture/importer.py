"""HLO dumps of the user's own to programs: one dump, or a pair at two placements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from engine.compiler.costs.calibrate import calibrate, fit_costs, pools
from engine.compiler.reading.matching import match_events, with_split_sizes
from engine.compiler.reading.observation import Observation, observe
from engine.compiler.reading.repair import best_reading
from engine.compiler.reading.writable import with_reached, with_unwritable
from engine.compiler.reading.xla_plan import fast_end, read_plan
from engine.compiler.toolchain.target import (
    GENERATIONS,
    SCOPED_LIMIT,
    Target,
    chips_of,
    target_facts,
    whole_kib,
)
from engine.errors import ProgramFormatError, UsageError
from engine.files import read_bytes, spelt_out
from engine.hardware.presets import DEVICES, Device, find_device
from engine.hardware.pricing import pricing
from engine.hardware.roofline import roofline_cost
from engine.plan.io import plan_to_json
from engine.plan.model import Plan
from engine.program.counts import Counts, refuse_unknown
from engine.program.hlo.build import (
    Costs,
    Imported,
    Roofline,
    build_program,
    is_between_memories,
)
from engine.program.hlo.collective import devices_in
from engine.program.hlo.flow import Flow
from engine.program.hlo.module import cycles, granted_bytes, scratch_bytes
from engine.program.hlo.parse import parse_hlo_file
from engine.program.hlo.shape import FAST_SPACES, fast_space, memory_space
from engine.program.model import Program
from engine.program.prices import with_prices
from engine.program.provenance import CODEGEN, CYCLES, FITTED, ROOFLINE, TILED

ONE_CORE = frozenset({"tpu-v4", "tpu-v5e", "tpu-v6e"})
"""Devices on which XLA never splits an instruction between two cores; on the others it may."""


def refuse_other_hardware(flow: Flow, device: Device, where: str) -> None:
    """Raise ProgramFormatError if the dump is of another chip than `device`, as far as it shows.

    The memories in its shapes, instructions split between two cores, and scratch beyond the region
    that XLA keeps for it tell; only kernels of the user's own may use more. Nothing is asked of a
    device that is none of XLA's.
    """
    problem = _problem(flow, device)
    if problem:
        known = ", ".join(name for name in DEVICES if name.startswith("tpu"))
        raise ProgramFormatError(
            f"{where}: not compiled for {device.hardware.name}: {problem};"
            f" give the --hardware that it was compiled for ({known})"
        )
    if device.hardware.fast_name == "VMEM":
        _refuse_other_scratch(flow, device, where)


def _refuse_other_scratch(flow: Flow, device: Device, where: str) -> None:
    for event in flow.events:
        used = scratch_bytes(event.instruction, FAST_SPACES["VMEM"])
        if used > device.hardware.fast_bytes:
            raise ProgramFormatError(
                f"{where}: {event.name} uses {used} bytes of scratch, of the"
                f" {device.hardware.fast_bytes} of {device.hardware.name}; give the --hardware"
                " that it was compiled for"
            )
        is_kernel = event.instruction.opcode == "custom-call"
        if used > device.scoped_bytes > 0 and not is_kernel:
            raise ProgramFormatError(
                f"{where}: {event.name} uses {used} bytes of scratch, and the region for it has"
                f" {device.scoped_bytes}; give the region that the compiler was told to keep with"
                " --scoped-kib, or the --hardware that it was compiled for"
            )


def _problem(flow: Flow, device: Device) -> str:
    hardware = device.hardware
    if hardware.fast_name not in FAST_SPACES:
        return ""
    spaces = {memory_space(value.shape) for value in flow.values}
    for name, space in FAST_SPACES.items():
        if space in spaces and name != hardware.fast_name:
            return f"it has values in {name}, and this chip's fast memory is {hardware.fast_name}"
    instructions = [event.instruction for event in flow.events]
    is_split = any(b"megacore_config" in i.backend_config for i in instructions)
    if is_split and hardware.name in ONE_CORE:
        return "its instructions are split between two cores, as on tpu-v5p and tpu-v4-megacore"
    return ""


_SCOPED_KIB = re.compile(rf"^{SCOPED_LIMIT}: (\d+)$", re.MULTILINE)
_ENVIRONMENT = ".tpu_comp_env.txt"
"""End of the name of the file, beside its dumps, in which the compiler states its flags."""


def _stated_limit(dumps: Sequence[Path]) -> dict[str, str]:
    """The flag for the scratch region, as the compiler states it beside its dumps.

    Raises ProgramFormatError where the dumps differ.
    """
    stated = {path: kib for path in dumps if (kib := _stated_kib(path))}
    if len(set(stated.values())) > 1:
        names = " and ".join(f"{path} with {kib} KiB" for path, kib in stated.items())
        raise ProgramFormatError(f"{names}: compiled with different regions for scratch")
    return {SCOPED_LIMIT: next(iter(stated.values()))} if stated else {}


def _stated_kib(dump: Path) -> str:
    """The region in the file of flags beside a dump, as `xla_dump_to` writes it; else nothing."""
    if not dump.parent.is_dir():
        return ""
    for path in sorted(dump.parent.iterdir()):
        module = path.name.removesuffix(_ENVIRONMENT)
        if module != path.name and dump.name.startswith(f"{module}."):
            found = _SCOPED_KIB.search(read_bytes(path).decode(errors="replace"))
            return found[1] if found else ""
    return ""


def _device(target: Target) -> Device:
    """The chip with the scratch region of the flags. Raises UsageError for one it cannot have."""
    device, scoped = find_device(target.hardware), target.scoped_bytes
    if scoped is not None and device.scoped_bytes == 0:
        raise UsageError(f"{target.hardware} keeps no region for scratch: leave {SCOPED_LIMIT} out")
    if scoped is not None and scoped >= device.hardware.fast_bytes:
        most = device.hardware.fast_bytes // 2**10
        raise UsageError(f"{SCOPED_LIMIT}: {scoped // 2**10} is not below the chip's {most} KiB")
    return device.with_scoped(scoped)


def _refuse_other_region(buffers: str, device: Device, where: str) -> None:
    """Raise ProgramFormatError if a buffer assignment needs more than what the region leaves."""
    end = fast_end(buffers, fast_space(device.hardware.fast_name))
    left = device.hardware.fast_bytes - device.scoped_bytes
    if end > left:
        raise ProgramFormatError(
            f"{where}: its values end at {end}, past the {left} bytes that a region of"
            f" {device.scoped_bytes} for scratch leaves; give the region that the compiler was told"
            " to keep with --scoped-kib"
        )


BYTES_SHARE = 0.5
"""A pair of dumps shows half of the accesses in slow memory only, a single one each in one memory
only. Those are credited with half of what their bytes suggest; captures, which look at many
placements, guess none.
"""

MIN_MATCHED_SHARE = 0.5
"""Two compiles of one program have nearly all instruction names in common."""


def import_hlo(
    slow: Path,
    fast: Path | None,
    hardware_name: str,
    buffers: Path | None = None,
    options: Mapping[str, str] = MappingProxyType({}),
    counts: Counts | None = None,
    topology: str = "",
) -> Program:
    """The program of a dump compiled with everything in slow memory, or of any one dump.

    `fast`: the default compile of the same program; its placements fit the savings and are XLA's
    own plan. One dump alone may be the default compile itself: its cycles are those of what it has
    in fast memory. `buffers`: the buffer-assignment dump of the default compile, which has the
    offsets of XLA's plan; without it they are packed anew for `fast`, and one dump alone brings no
    plan. `options`: the compiler options under which all were made; the region for scratch is read
    from the flags that the compiler states beside its dumps. `counts`: how often loops run and
    branches are taken that the dump does not tell of. `topology`: of the chips that a program of a
    mesh is for (`Target`). A dump without cycles (of the CPU or GPU compiler) gets roofline costs.
    Raises ProgramFormatError, UnknownNameError, CompilerError for a topology with too few devices,
    UsageError for `buffers` of an all-slow dump, and for a region of no size.
    """
    if not whole_kib(limit := options.get(SCOPED_LIMIT, "1")):
        raise UsageError(f"{SCOPED_LIMIT}: {limit!r:.40} is no positive whole number of KiB")
    stated = _stated_limit([slow, *([fast] if fast else [])])
    counts = counts or Counts()
    target = Target(hardware_name, topology, {**stated, **options}, counts=counts)
    device, module = _device(target), parse_hlo_file(slow)
    names = [spelt_out(path.name) for path in (slow, fast) if path is not None]
    devices = devices_in(module)
    imported = build_program(
        module,
        name=names[0].split(".")[0],
        hardware=device.hardware,
        where=str(slow),
        reserved_bytes=device.scoped_bytes,
        roofline=roofline(device),
        pricing=pricing(device, chips_of(target, devices)),
    )
    refuse_other_hardware(imported.flow, device, str(slow))
    refuse_unknown(imported.program, counts)
    imported = with_unwritable(imported.with_counts(counts))
    costs = CYCLES if imported.has_cycles else ROOFLINE
    provenance: dict[str, object] = {
        "kind": "imported",
        "slow": spelt_out(slow.name),
        "costs": costs,
    }
    provenance |= target_facts(target, devices if hardware_name in GENERATIONS else 1)
    if not imported.has_cycles and _is_tiled(imported.flow):
        provenance[TILED] = True
    own, flow = observe(imported, imported.flow), None
    if fast is not None:
        _refuse_default(own, str(slow))
        flow = _second_compile(imported, fast)
        refuse_other_hardware(flow, device, str(fast))
    elif own.is_fast.any():
        flow = Flow(module, str(slow))
    elif buffers is not None:
        raise UsageError(
            f"{buffers}: a buffer assignment needs the dump that it is of; give --fast"
        )
    if flow is not None:
        imported = with_split_sizes(with_reached(imported, flow), flow)
    program, seen = imported.program, own if flow is None else observe(imported, flow)
    if imported.has_cycles:
        all_slow = own if fast is not None else _with_all_slow(imported, seen)
        program, fit = calibrate(imported, all_slow, [seen], [seen], guess=BYTES_SHARE)
        program = with_prices(program, imported.prices)
        if fast is not None:
            provenance |= {
                "fast": spelt_out(fast.name),
                "costs": FITTED,
                "fit_error": fit.errors[0],
            }
        elif seen.is_fast.any():
            provenance["remarks"] = [_remark_on_one(seen)]
    if flow is not None and (fast is not None or buffers is not None):
        plan = _own_plan(imported, program, flow, seen, buffers, device)
        provenance["xla_plan"] = plan_to_json(plan)
    return replace(program, provenance={**provenance, **program.provenance})


def _refuse_default(seen: Observation, where: str) -> None:
    """Raise ProgramFormatError where the first dump of a pair has something in fast memory."""
    if seen.is_fast.any():
        raise ProgramFormatError(
            f"{where}: has values in fast memory, so that it does not show what all slow takes;"
            " give the compile with xla_msa_enable=DISABLED as --slow, the default one as --fast"
        )


def _with_all_slow(imported: Imported, seen: Observation) -> Observation:
    """The all-slow compile beside a single dump, as far as can be told.

    Its cycles are those that were seen, and on top of them what the accesses that were fast saved,
    by the same share of their bytes as for any that no dump tells of.
    """
    program = imported.program
    savings = fit_costs(program, pools(imported, seen), seen, [], BYTES_SHARE).savings
    all_slow = seen.cycles.copy()
    for access, saved, is_fast in zip(program.accesses, savings, seen.is_fast, strict=True):
        all_slow[access.time] += saved if is_fast else 0.0
    return Observation(all_slow, np.zeros_like(seen.is_fast))


def _remark_on_one(seen: Observation) -> str:
    return (
        f"{int(seen.is_fast.sum())} of its {len(seen.is_fast)} uses of values are in fast memory in"
        " the one dump: its cycles count as of that placement, and what it would take with all slow"
        " is estimated from bytes; the compile with xla_msa_enable=DISABLED beside it (--slow)"
        " tells"
    )


def _own_plan(
    imported: Imported,
    program: Program,
    flow: Flow,
    seen: Observation,
    buffers: Path | None,
    device: Device,
) -> Plan:
    """XLA's plan, as the compile `flow` has it, of `program`, which is the imported one priced."""
    text = None if buffers is None else read_bytes(buffers).decode(errors="replace")
    if text is not None and not _has_scratch_in_heap(flow, device):
        _refuse_other_region(text, device, str(buffers))

    def read(buffers_text: str | None) -> Plan:
        return read_plan(imported, flow, buffers_text, device.scoped_bytes)

    return best_reading(program, read, text, seen.is_fast.tolist()).valid


def _has_scratch_in_heap(flow: Flow, device: Device) -> bool:
    """Whether the memory pass gave instructions their scratch out of its heap."""
    space = fast_space(device.hardware.fast_name)
    return any(granted_bytes(event.instruction, space) for event in flow.events)


def roofline(device: Device) -> Roofline:
    """Costs of one instruction from its operations and the bytes of each access."""

    def costs(flops: float, access_bytes: Sequence[int]) -> Costs:
        cost = roofline_cost(device, flops, access_bytes)
        return cost.fast_s, cost.savings_s

    return costs


def _second_compile(imported: Imported, path: Path) -> Flow:
    """The flow of another compile.

    Raises ProgramFormatError if it is of another program, or if one of the two states no cycles.
    """
    if not imported.has_cycles:
        advice = f"give the {CODEGEN} of both" if _is_tiled(imported.flow) else "leave it out"
        raise ProgramFormatError(
            f"{path}: a second dump tells nothing, since the first one states no cycles; {advice}"
        )
    flow = Flow(parse_hlo_file(path), str(path))
    matched = match_events(imported, flow)
    if len(matched) < MIN_MATCHED_SHARE * imported.program.num_slots:
        raise ProgramFormatError(
            f"{path}: not a compile of the same program: it has {len(matched)} of"
            f" {imported.program.num_slots} instructions"
        )
    if _lost_cycles(imported, flow, matched):
        raise ProgramFormatError(
            f"{path}: states no cycles, and the first dump does; give the {CODEGEN} of both"
        )
    return flow


def _lost_cycles(imported: Imported, flow: Flow, matched: Mapping[int, int]) -> bool:
    """Whether another compile states no cycles at all for what has some in the first dump."""
    pairs = [
        (imported.flow.events[imported.events[slot]].instruction, flow.events[number])
        for number, slot in matched.items()
    ]
    theirs = [event.instruction for _, event in pairs]
    return all(cycles(ins) is None for ins in theirs) and any(
        cycles(mine) for mine, event in pairs if not is_between_memories(flow, event)
    )


def _is_tiled(flow: Flow) -> bool:
    """Whether arrays lie in tiles, as the TPU's compiler alone has them."""
    return any(value.shape.layout.tiles for value in flow.values)

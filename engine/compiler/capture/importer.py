"""HLO dumps of the user's own to programs: one dump, or a pair at two placements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from engine.compiler.costs.calibrate import calibrate
from engine.compiler.reading.matching import with_split_sizes
from engine.compiler.reading.observation import FAST_SPACES, match_events, observe
from engine.compiler.reading.repair import repaired
from engine.compiler.reading.writable import with_unwritable
from engine.compiler.reading.xla_plan import read_plan
from engine.compiler.toolchain.target import Target, target_facts
from engine.errors import ProgramFormatError, UsageError
from engine.files import read_bytes
from engine.hardware.cost import roofline_cost
from engine.hardware.presets import DEVICES, Device, find_device
from engine.plan.io import plan_to_json
from engine.program.hlo.build import Costs, Imported, Roofline, build_program
from engine.program.hlo.flow import Flow
from engine.program.hlo.module import scratch_bytes
from engine.program.hlo.parse import parse_hlo_file
from engine.program.hlo.shape import memory_space
from engine.program.io import content_hash
from engine.program.model import Program
from engine.program.provenance import CYCLES, FITTED, ROOFLINE

ONE_CORE = frozenset({"tpu-v4", "tpu-v5e", "tpu-v6e"})
"""Devices on which XLA never splits an instruction between two cores; on v5p it does."""


def refuse_other_hardware(flow: Flow, device: Device, where: str) -> None:
    """Raise ProgramFormatError if the dump is of another chip than `device`, as far as it shows.

    The memories in its shapes, instructions split between two cores, and scratch beyond the region
    that XLA keeps for it tell. Nothing is asked of a device that is none of XLA's.
    """
    problem = _problem(flow, device)
    if problem:
        known = ", ".join(name for name in DEVICES if name.startswith("tpu"))
        raise ProgramFormatError(
            f"{where}: not compiled for {device.hardware.name}: {problem};"
            f" give the --hardware that it was compiled for ({known})"
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
        return "its instructions are split between two cores, as on tpu-v5p"
    used = max((scratch_bytes(i, FAST_SPACES["VMEM"]) for i in instructions), default=0)
    if hardware.fast_name == "VMEM" and used > device.scoped_bytes > 0:
        return f"an instruction uses {used} bytes of scratch, of {device.scoped_bytes} at most"
    return ""


BYTES_SHARE = 0.5
"""A pair of dumps shows half of the accesses in slow memory only, a single one all of them. Those
are credited with half of what their bytes suggest; captures, which look at many placements, guess
none.
"""

MIN_MATCHED_SHARE = 0.5
"""Two compiles of one program have nearly all instruction names in common."""


def import_hlo(
    slow: Path,
    fast: Path | None,
    hardware_name: str,
    buffers: Path | None = None,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Program:
    """The program of a dump compiled with everything in slow memory (or of any one dump).

    `fast`: the default compile of the same program; its placements fit the savings and are XLA's
    own plan. `buffers`: its buffer-assignment dump, which has the offsets of that plan; without it
    they are packed anew. `options`: the compiler options under which all were made. A dump without
    cycles (of the CPU or GPU compiler) gets roofline costs. Raises ProgramFormatError,
    UnknownNameError, UsageError for `buffers` without `fast`.
    """
    if buffers is not None and fast is None:
        raise UsageError(
            f"{buffers}: a buffer assignment needs the dump that it is of; give --fast"
        )
    target = Target(hardware_name, options=dict(options))
    device = find_device(hardware_name).with_scoped(target.scoped_bytes)
    imported = build_program(
        parse_hlo_file(slow),
        name=slow.name.split(".")[0],
        hardware=device.hardware,
        where=str(slow),
        reserved_bytes=device.fixed_scratch_bytes,
        roofline=roofline(device),
    )
    refuse_other_hardware(imported.flow, device, str(slow))
    imported = with_unwritable(imported)
    costs = CYCLES if imported.has_cycles else ROOFLINE
    provenance: dict[str, object] = {"kind": "imported", "slow": slow.name, "costs": costs}
    provenance |= target_facts(target, 1)
    program = imported.program
    if fast is None and imported.has_cycles:
        program, _ = calibrate(imported, observe(imported, imported.flow), [], [], BYTES_SHARE)
    if fast is not None:
        flow = _second_compile(imported, fast)
        refuse_other_hardware(flow, device, str(fast))
        imported = with_split_sizes(imported, flow)
        observed = observe(imported, flow)
        program, fit = calibrate(
            imported, observe(imported, imported.flow), [observed], [observed], guess=BYTES_SHARE
        )
        provenance |= {"fast": fast.name, "costs": FITTED, "fit_error": fit.errors[0]}
        text = None if buffers is None else read_bytes(buffers).decode(errors="replace")
        plan = read_plan(imported, flow, text, device.scoped_bytes)
        plan = replace(plan, program_hash=content_hash(program))
        plan = repaired(program, plan, observed.is_fast.tolist())
        provenance["xla_plan"] = plan_to_json(plan)
    return replace(program, provenance=provenance)


def roofline(device: Device) -> Roofline:
    """Costs of one instruction from its operations and the bytes of each access."""

    def costs(flops: float, access_bytes: Sequence[int]) -> Costs:
        cost = roofline_cost(device, flops, access_bytes)
        return cost.fast_s, cost.savings_s

    return costs


def _second_compile(imported: Imported, path: Path) -> Flow:
    """The flow of another compile. Raises ProgramFormatError if it is of another program."""
    if not imported.has_cycles:
        raise ProgramFormatError(
            f"{path}: a second dump tells nothing, since the first one states no cycles"
        )
    flow = Flow(parse_hlo_file(path), str(path))
    matched = len(match_events(imported, flow))
    if matched < MIN_MATCHED_SHARE * imported.program.num_slots:
        raise ProgramFormatError(
            f"{path}: not a compile of the same program: it has {matched} of"
            f" {imported.program.num_slots} instructions"
        )
    return flow

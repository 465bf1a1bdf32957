"""HLO dumps of the user's own to programs: one dump, or a pair at two placements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.compiler.calibrate import calibrate
from engine.compiler.generation import refuse_other_hardware
from engine.compiler.observe import match_events, observe
from engine.compiler.repair import repaired
from engine.compiler.split_sizes import with_split_sizes
from engine.compiler.writable import with_unwritable
from engine.compiler.xla_plan import read_plan
from engine.errors import ProgramFormatError
from engine.hardware.cost import roofline_cost
from engine.hardware.presets import Device, find_device
from engine.plan.io import plan_to_json
from engine.program.hlo.build import Costs, Imported, Roofline, build_program
from engine.program.hlo.flow import Flow
from engine.program.hlo.parse import parse_hlo_file
from engine.program.io import content_hash, read_bytes
from engine.program.model import Program
from engine.program.origin import CYCLES, FITTED, ROOFLINE

BYTES_SHARE = 0.5
"""A pair of dumps shows half of the accesses in slow memory only, a single one all of them. Those
are credited with half of what their bytes suggest; captures, which look at many placements, guess
none.
"""

MIN_MATCHED_SHARE = 0.5
"""Two compiles of one program have nearly all instruction names in common."""


def import_hlo(
    slow: Path, fast: Path | None, hardware_name: str, buffers: Path | None = None
) -> Program:
    """The program of a dump compiled with everything in slow memory (or of any one dump).

    `fast`: the default compile of the same program; its placements fit the savings and are XLA's
    own plan. `buffers`: its buffer-assignment dump, which has the offsets of that plan; without it
    they are packed anew. A dump without cycles (of the CPU or GPU compiler) gets roofline costs.
    Raises ProgramFormatError, UnknownNameError.
    """
    device = find_device(hardware_name)
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

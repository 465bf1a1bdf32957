"""HLO dumps of the user's own to programs: one dump, or a pair at two placements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.compiler.calibrate import calibrate
from engine.compiler.observe import observe
from engine.compiler.repair import repaired
from engine.compiler.xla_plan import read_plan
from engine.errors import UnknownNameError
from engine.hardware.presets import PRESETS
from engine.plan.io import plan_to_json
from engine.program.hlo import Roofline, build_program
from engine.program.hlo_flow import Flow
from engine.program.hlo_parse import parse_hlo_file
from engine.program.io import content_hash, read_bytes
from engine.program.model import Hardware, Program

HEAP_BASES = {"tpu-v4": 0, "tpu-v5e": 16 << 20, "tpu-v5p": 16 << 20, "tpu-v6e": 32 << 20}
"""Where XLA's heap begins in the fast memory: below it lies its scoped region.

Measured: of tensors of growing size the largest placed were 112, 46 and 94 MiB on v5e, v5p and
v6e; offsets in its dumps overlap the scratch at offset 0 freely, so the two are apart. CMEM on v4
has no scoped region.
"""


def import_hlo(
    slow: Path,
    fast: Path | None,
    hardware_name: str,
    buffers: Path | None = None,
    roofline: Roofline | None = None,
) -> Program:
    """The program of a dump compiled with everything in slow memory (or of any one dump).

    `fast`: the default compile of the same program; its placements fit the savings. `buffers`: its
    buffer-assignment dump, which has the offsets of XLA's own plan. `roofline`: costs for dumps
    without cycles. Raises ProgramFormatError, UnknownNameError.
    """
    hardware = preset(hardware_name)
    imported = build_program(
        parse_hlo_file(slow),
        name=slow.name.split(".")[0],
        hardware=hardware,
        where=str(slow),
        reserved_bytes=HEAP_BASES.get(hardware.name),
        roofline=roofline,
    )
    provenance: dict[str, object] = {"kind": "imported", "slow": slow.name}
    program = imported.program
    if fast is not None:
        flow = Flow(parse_hlo_file(fast), str(fast))
        seen = observe(imported, flow)
        program, _ = calibrate(imported, observe(imported, imported.flow), [seen], [])
        provenance["fast"] = fast.name
        if buffers is not None:
            text = read_bytes(buffers).decode(errors="replace")
            plan = read_plan(imported, flow, text, HEAP_BASES.get(hardware.name, 0))
            plan = repaired(program, replace(plan, program_hash=content_hash(program)))
            provenance["xla_plan"] = plan_to_json(plan)
    return replace(program, provenance=provenance)


def preset(name: str) -> Hardware:
    """A hardware preset by name. Raises UnknownNameError."""
    if name not in PRESETS:
        raise UnknownNameError(f"no hardware is called {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]

"""Small scheduled HLO modules for tests, and short views of the programs made from them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxlib import _hlo

from engine.program.hlo.build import Costs, Imported, build_program
from engine.program.hlo.flow import Flow
from engine.program.hlo.proto import decode_module
from engine.program.model import Hardware, Program

FIXTURES = Path(__file__).resolve().parents[2] / "data" / "hlo"

HARDWARE = Hardware(
    name="test", fast_bytes=1 << 20, alignment=512, bandwidth=1e9, clock_hz=1e9, fast_name="VMEM"
)

A = "f32[64,128]"
"""The array of most test modules: 32 KiB."""

A_BYTES = 64 * 128 * 4


def module(entry: str, *computations: str, head: str = "") -> str:
    """HLO text of a scheduled module. In `entry` and `computations`, `A` stands for `f32[64,128]`.

    `entry`: the lines of the entry computation. Each of `computations`: its name, then its lines.
    """
    text = [f"HloModule test, is_scheduled=true{head}", ""]
    for computation in computations:
        name, _, lines = computation.strip().partition("\n")
        text += [f"{name.strip()} {{", lines, "}", ""]
    text += ["ENTRY main {", entry.strip("\n"), "}", ""]
    return re.sub(r"(?<=[ (])A(?=[ ,)])", A, "\n".join(text))


def decoded(text: str) -> Any:
    """The module message, parsed by XLA in this process: for text that is known to be good."""
    data = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    return decode_module(data, "test")


def flow(text: str) -> Flow:
    """The flow of HLO text, copies kept."""
    return Flow(decoded(text), "test")


def costs(flops: float, access_bytes: Sequence[int]) -> Costs:
    """A microsecond of computing, and every byte at the bandwidth of `HARDWARE`."""
    return 1e-6, [b / HARDWARE.bandwidth for b in access_bytes]


def imported(text: str, hardware: Hardware = HARDWARE) -> Imported:
    """The program of HLO text, with the dump's cycles or else `costs`."""
    return build_program(decoded(text), "test", hardware, "test", roofline=costs)


def program(text: str) -> Program:
    """The program alone."""
    return imported(text).program


def names(of: Program) -> list[str]:
    """Instruction names in order."""
    return [i.name for i in of.instructions]


def reads(of: Program, name: str) -> dict[str, int]:
    """Value name -> bytes drawn by the instruction of that name, over one run."""
    return _accesses(of, name, is_write=False)


def writes(of: Program, name: str) -> dict[str, int]:
    """Value name -> bytes written by the instruction of that name, over one run."""
    return _accesses(of, name, is_write=True)


def shared(of: Program) -> set[frozenset[str]]:
    """The alias groups of more than one value, by value names."""
    groups = (frozenset(of.values[v].name for v in g.values) for g in of.groups)
    return {group for group in groups if len(group) > 1}


def value(of: Program, name: str) -> Any:
    """The value of that name."""
    return next(v for v in of.values if v.name == name)


def _accesses(of: Program, name: str, is_write: bool) -> dict[str, int]:
    time = names(of).index(name)
    found = [a for a in of.accesses if a.time == time and a.is_write == is_write]
    return {of.values[a.value].name: a.slow_bytes for a in found}

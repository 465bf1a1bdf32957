"""Which chip a dump cannot be of. A dump does not name its chip, but much of it is of one only."""

from __future__ import annotations

from engine.compiler.observe import FAST_SPACES
from engine.errors import ProgramFormatError
from engine.hardware.presets import DEVICES, Device
from engine.program.hlo.flow import Flow
from engine.program.hlo.module import scratch_bytes
from engine.program.hlo.shape import memory_space

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

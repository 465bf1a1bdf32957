"""What if the chip were another one: a program derived from a captured one, honestly labelled.

This is arithmetic, not a compilation: schedule, fusions, layouts and padding stay those that the
compiler made for the original chip. What changes:

- fast-memory size, bandwidth, alignment and the number of cross-program prefetches;
- the scoped scratch, where the original had its chip's own, becomes the new chip's;
- `fast_s` and `floor_s` are scaled by the ratio of the chips' peak rates, when both are known;
  prices too, those of links and of measurements with them;
- the savings of an instruction, together, by the roofline model of `engine.hardware.roofline`. With
  `Q` bytes that its accesses draw from slow memory and `E` their savings, `H = Q / bandwidth - E`
  is the transfer time that was hidden behind compute. Hidden time is compute time, so the new
  sum is `max(0, Q / new bandwidth - scale * H)`, shared in proportion to the old savings (by bytes
  where there were none). An instruction that saved nothing hid at least `fast_s`:
  `H = max(fast_s, Q / bandwidth)`. A negative `H` is an overhead of slow accesses and stays as it
  is. Where the new savings leave less than the floor, `fast_s` rises until all slow is the floor;
- what a write takes longer into fast memory is no transfer: it is scaled like compute.

At the original hardware all of it changes nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from engine.errors import ProgramFormatError
from engine.hardware.presets import DEVICES, find_device
from engine.program.counts import COUNTS
from engine.program.io import content_hash
from engine.program.model import Access, Hardware, Instruction, Program
from engine.program.prices import PRICES
from engine.program.validate import validate

KIND = "what-if"
"""`provenance["kind"]` of a derived program."""

_MIB = 2**20
_GIGA = 9
"""Digits of what a GB has more than a byte."""
_SIZE = r"[0-9]{1,12}(?:\.[0-9]{1,12})?"
_SPEED = r"[0-9]{1,17}(?:\.[0-9]{1,25})?(?:e[+-][0-9]{1,3})?"
"""Patterns of numbers in a link, which may say anything: no more digits than needed."""
_CHIP = "|".join(map(re.escape, DEVICES))
_WISHED = re.compile(f"(.+?)(?:~({_CHIP}))?(?:~({_SIZE})MiB)?(?:~({_SPEED})GBps)?", re.DOTALL)


@dataclass(frozen=True)
class WhatIf:
    """The wished hardware; None leaves a thing as it is, or as the named preset has it.

    `hardware`: name of a preset. `fast_bytes`: size of the fast memory. `bandwidth`: of the slow
    memory, bytes per second.
    """

    hardware: str | None = None
    fast_bytes: int | None = None
    bandwidth: float | None = None


def name_of(original: str, wish: WhatIf) -> str:
    """A name that says what was wished, and from which `wish_of` reads it: `p~tpu-v6e~64MiB`."""
    parts = [original]
    if wish.hardware is not None:
        parts.append(wish.hardware)
    if wish.fast_bytes is not None:
        size = f"{Decimal(wish.fast_bytes) / _MIB:.12f}".rstrip("0").rstrip(".")
        parts.append(f"{size}MiB")
    if wish.bandwidth is not None:
        speed = Decimal(repr(float(wish.bandwidth))).scaleb(-_GIGA).normalize()
        is_usual = 1e-7 < float(speed) < 1e17
        parts.append(f"{speed:f}GBps" if is_usual else f"{speed:e}GBps")
    return "~".join(parts)


def wish_of(name: str) -> tuple[str, WhatIf] | None:
    """The original's name and the wish in a name made by `name_of`; None for any other name.

    What looks like a wish at the end of an original's own name is taken for one.
    """
    match = _WISHED.fullmatch(name)
    if match is None or not any(match.groups()[1:]):
        return None
    original, hardware, size, speed = match.groups()
    wish = WhatIf(
        hardware=hardware,
        fast_bytes=round(float(size) * _MIB) if size else None,
        bandwidth=float(Decimal(speed).scaleb(_GIGA)) if speed else None,
    )
    return original, wish


def derive(program: Program, wish: WhatIf, name: str) -> Program:
    """The program on the wished hardware, called `name`.

    Raises UnknownNameError for an unknown preset, ProgramFormatError for a fast memory smaller than
    the scratch, or an impossible bandwidth.
    """
    hardware = _hardware(program.hardware, wish)
    if not hardware.bandwidth > 0:
        raise ProgramFormatError(f"{name}: a bandwidth of {hardware.bandwidth} moves nothing")
    scale = _compute_scale(program.hardware.name, hardware.name)
    accesses = _accesses(program, hardware.bandwidth, scale)
    instructions = tuple(
        _instruction(instruction, program.hardware, hardware, scale, saved_s)
        for instruction, saved_s in zip(
            program.instructions, _saved_s(program.num_slots, accesses), strict=True
        )
    )
    scratch = max((i.reserved_bytes for i in instructions), default=0)
    if hardware.fast_bytes < scratch:
        raise ProgramFormatError(
            f"{name}: {hardware.fast_bytes} bytes of fast memory are less than the {scratch} bytes"
            " of scratch that an instruction needs; choose a larger size"
        )
    derived = Program(
        name=name,
        hardware=hardware,
        instructions=instructions,
        values=program.values,
        accesses=accesses,
        regions=program.regions,
        provenance={
            "kind": KIND,
            "derived_from": program.name,
            "original_hash": content_hash(program),
            "original_hardware": program.hardware.name,
            "compute_scale": scale,
            **{
                key: program.provenance[key]
                for key in (COUNTS, PRICES)
                if key in program.provenance
            },
            "rule": "roofline per instruction, see engine/hardware/what_if.py; not a compilation",
        },
    )
    validate(derived, name)
    return derived


def _hardware(original: Hardware, wish: WhatIf) -> Hardware:
    is_same = wish.hardware in (None, original.name)
    chip = original if is_same else find_device(str(wish.hardware)).hardware
    return replace(
        chip,
        # Sizes and offsets of the tensors are multiples of the original's granule.
        alignment=max(chip.alignment, original.alignment),
        fast_bytes=chip.fast_bytes if wish.fast_bytes is None else wish.fast_bytes,
        bandwidth=chip.bandwidth if wish.bandwidth is None else wish.bandwidth,
    )


def _compute_scale(original: str, wished: str) -> float:
    """How much longer compute takes; 1 where one of the chips' rates is not known."""
    if original == wished or original not in DEVICES or wished not in DEVICES:
        return 1.0
    return DEVICES[original].peak_flops / DEVICES[wished].peak_flops


def _instruction(
    instruction: Instruction, original: Hardware, wished: Hardware, scale: float, saved_s: float
) -> Instruction:
    """The instruction on the wished hardware, where its accesses save `saved_s` in all."""
    reserved, floor_s = instruction.reserved_bytes, scale * instruction.floor_s
    is_known = original.name in DEVICES and wished.name in DEVICES
    if is_known and reserved == DEVICES[original.name].reserved_bytes(instruction.scratch_bytes):
        reserved = DEVICES[wished.name].reserved_bytes(instruction.scratch_bytes)
    elif wished.holds_scratch:
        reserved = max(reserved, instruction.scratch_bytes)
    return replace(
        instruction,
        fast_s=max(scale * instruction.fast_s, floor_s - saved_s),
        floor_s=floor_s,
        priced_s=scale * instruction.priced_s,
        reserved_bytes=reserved,
    )


def _saved_s(num_slots: int, accesses: Sequence[Access]) -> list[float]:
    """`[T]`: what all accesses of each instruction save, if that adds up."""
    saved_s = [0.0] * num_slots
    for access in accesses:
        saved_s[access.time] += access.saving_s
    return saved_s


def _accesses(program: Program, bandwidth: float, scale: float) -> tuple[Access, ...]:
    if bandwidth == program.hardware.bandwidth and scale == 1.0:
        return program.accesses
    by_time: dict[int, list[Access]] = defaultdict(list)
    for access in program.accesses:
        by_time[access.time].append(access)
    slower = program.hardware.bandwidth / bandwidth
    return tuple(
        replace(access, uncertainty_s=slower * access.uncertainty_s)
        for time in sorted(by_time)
        for access in _rescaled(by_time[time], program, time, bandwidth, scale)
    )


def _rescaled(
    accesses: list[Access], program: Program, time: int, bandwidth: float, scale: float
) -> list[Access]:
    """The accesses of instruction `time` with the savings of the other bandwidth."""
    drawn = sum(a.slow_bytes for a in accesses)
    saved_s = sum(max(0.0, a.saving_s) for a in accesses)
    transfer_s = drawn / program.hardware.bandwidth
    hidden_s = transfer_s - saved_s
    if saved_s == 0.0:
        hidden_s = max(program.instructions[time].fast_s, transfer_s)
    exposed_s = max(0.0, drawn / bandwidth - (scale if hidden_s > 0 else 1.0) * hidden_s)
    if saved_s > 0:
        shares = [max(0.0, a.saving_s) / saved_s for a in accesses]
    else:
        shares = [a.slow_bytes / drawn if drawn and not a.must_be_slow else 0.0 for a in accesses]
    return [
        replace(a, saving_s=scale * a.saving_s if a.saving_s < 0 else exposed_s * share)
        for a, share in zip(accesses, shares, strict=True)
    ]

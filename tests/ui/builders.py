"""Plans for the explorer's tests, made without any solver, and a program of hostile names."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program
from tests.ui.network import residual_network

HUGE = 2**26
SLACK = 2
"""Slots that a prefetch is given before its tensor is read."""
STRIKE = "window.struck = 1"
LINKS = "www.evil.test http://evil.test/x a@evil.test"
MARKDOWN = f"`![](x)[here](/struck):red[x]$x$ {LINKS} "
MARKUP = f'"><img src=x onerror="{STRIKE}"><svg onload="{STRIKE}">{MARKDOWN}'


def hostile(thing: Any) -> Any:
    """The same with markup before all that it is called."""
    names = [f.name for f in fields(thing) if isinstance(getattr(thing, f.name), str)]
    return replace(thing, **{name: MARKUP + getattr(thing, name) for name in names})


def hostile_program() -> Program:
    """A program whose names would like to be obeyed."""
    program = residual_network()
    return replace(
        program,
        name=MARKUP,
        instructions=tuple(map(hostile, program.instructions)),
        values=tuple(map(hostile, program.values)),
    )


def enlarged(program: Program) -> Program:
    """The program with all of its granules `HUGE` times as many, on hardware as much larger."""
    chip = program.hardware

    def size(num_bytes: int) -> int:
        return -(-num_bytes // chip.alignment) * chip.alignment * HUGE

    return replace(
        program,
        hardware=replace(chip, fast_bytes=HUGE * chip.fast_bytes, bandwidth=HUGE * chip.bandwidth),
        values=tuple(replace(v, size_bytes=size(v.size_bytes)) for v in program.values),
        instructions=tuple(
            replace(i, reserved_bytes=size(i.reserved_bytes)) for i in program.instructions
        ),
    )


def first_fit_plan(program: Program) -> Plan:
    """Every tensor from its first touch to its last, at the lowest place that is free, or not."""
    stays: list[Stay] = []
    copies: list[Copy] = []
    end = program.num_slots
    for number, group in enumerate(program.groups):
        times = [program.touches[i].time for i in program.touches_of_group[number]]
        if not times or not group.may_be_fast:
            continue
        start = max(0, min(times) - SLACK) if group.is_input else min(times)
        stop = end if group.is_live_out else max(times) + 1
        stay = _place(program, stays, number, start, stop)
        if stay is None:
            continue
        stays.append(stay)
        if group.is_input:
            copies.append(Copy(number, True, start, min(times)))
        if group.is_live_out:
            copies.append(Copy(number, False, max(times) + 1, end))
    fast = {s.group for s in stays}
    return Plan(
        program_hash=content_hash(program),
        solver="first fit",
        is_fast=tuple(program.values[a.value].group in fast for a in program.accesses),
        stays=tuple(stays),
        copies=tuple(copies),
    )


def _place(program: Program, stays: list[Stay], group: int, start: int, end: int) -> Stay | None:
    hardware = program.hardware
    size = -(-program.groups[group].size_bytes // hardware.alignment) * hardware.alignment
    offset = max((i.reserved_bytes for i in program.instructions[start:end]), default=0)
    offset = -(-offset // hardware.alignment) * hardware.alignment
    taken = sorted(
        (s.offset, s.offset + program.groups[s.group].size_bytes)
        for s in stays
        if s.start < end and start < s.end
    )
    for low, high in taken:
        if offset + size <= low:
            break
        offset = max(offset, -(-high // hardware.alignment) * hardware.alignment)
    fits = offset + size <= hardware.fast_bytes
    return Stay(group, offset, start, end) if fits else None

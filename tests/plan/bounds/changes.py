"""Valid plans found by changing plans at random: also such as no game can make."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from engine.plan.check import check
from engine.plan.model import Copy, Plan, Stay
from engine.plan.simulate import simulate
from engine.program.model import Program
from tests.strategies import all_slow_plan


def walk(program: Program, chance: random.Random, num_tries: int) -> Iterator[Plan]:
    """The valid ones of so many changed plans, from the all-slow plan on, mostly downhill."""
    plan = all_slow_plan(program)
    latency_s = simulate(program, plan).latency_s
    yield plan
    for _ in range(num_tries):
        candidate = plan
        for _ in range(chance.choice([1, 1, 2, 3])):
            candidate = changed(program, candidate, chance)
        if check(program, candidate) is None:
            yield candidate
            found_s = simulate(program, candidate).latency_s
            if found_s <= latency_s or chance.random() < 0.05:
                plan, latency_s = candidate, found_s


def changed(program: Program, plan: Plan, chance: random.Random) -> Plan:
    """The plan with one touch, stay or copy added, moved or removed at random."""
    end, fast = program.num_slots, list(plan.is_fast)
    stays, copies = list(plan.stays), list(plan.copies)
    kind = chance.choice(["touch", "touch", "touch", "stay", "copy", "copy", "fewer"])
    if kind == "touch" and program.touches:
        touch = chance.choice(program.touches)
        for index in touch.accesses:
            fast[index] = not fast[index]
        if fast[touch.accesses[0]]:
            start, stop = chance.randint(-1, touch.time), chance.randint(touch.time + 1, end)
            stays = [
                s for s in stays if s.group != touch.group or s.end <= start or stop <= s.start
            ]
            stays.append(Stay(touch.group, place(program, chance), start, stop))
            first = max(start, 0)
            if touch.reads and start >= 0:
                due = chance.randint(first, touch.time)
                copies.insert(0, Copy(touch.group, True, chance.randint(first, due), due))
            if touch.writes:
                begin = chance.randint(touch.time, stop)
                copies.append(Copy(touch.group, False, begin, chance.randint(begin, stop)))
    elif kind == "stay" and stays:
        index = chance.randrange(len(stays))
        stays[index] = replace(stays[index], offset=place(program, chance))
    elif kind == "copy" and copies:
        index, start = chance.randrange(len(copies)), chance.randint(0, end)
        moved = replace(copies[index], start=start, deadline=chance.randint(start, end))
        copies[index] = moved
    elif kind == "fewer" and copies + stays:
        victim = chance.choice(copies + stays)
        copies = [c for c in copies if c is not victim]
        stays = [s for s in stays if s is not victim]
    return replace(plan, is_fast=tuple(fast), stays=tuple(stays), copies=tuple(copies))


def place(program: Program, chance: random.Random) -> int:
    hardware = program.hardware
    return hardware.alignment * chance.randrange(hardware.fast_bytes // hardware.alignment)

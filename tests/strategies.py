"""Random programs and plans: for hypothesis (they shrink), and by seed for benches.

Both ways run the same generator; hypothesis only hands it a shrinkable source of chance. Programs
follow `docs/model.md`: nested regions, loop-carried and in-place groups, live-outs, scratch.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from itertools import takewhile

from hypothesis import strategies as st

from engine.plan.check import check
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import (
    INPUT_TIME,
    TOP_LEVEL,
    Access,
    Hardware,
    Instruction,
    Program,
    Region,
    Touch,
    Value,
)
from engine.program.validate import validate

BANDWIDTH = 1e9
MAX_DEPTH = 3


def random_program(
    seed: int, num_instructions: int, loops: bool = True, flights: bool = True, forks: bool = False
) -> Program:
    """A rich valid program; the same for the same arguments on every machine."""
    return draw_program(random.Random(seed), num_instructions, loops, flights, forks)


def programs(max_instructions: int = 24) -> st.SearchStrategy[Program]:
    """Valid programs that hypothesis can shrink; in some an input is empty."""

    def draw(chance: random.Random, num_instructions: int, loops: bool) -> Program:
        program = draw_program(chance, num_instructions, loops)
        return with_empty_input(program) if chance.random() < 0.1 else program

    return st.builds(
        draw, st.randoms(use_true_random=False), st.integers(1, max_instructions), st.booleans()
    )


def with_empty_input(program: Program) -> Program:
    """The program whose input that saves most has no bytes, and saves as much."""
    inputs = [n for n, g in enumerate(program.groups) if g.is_input and g.may_be_fast]
    saving_s = [sum(program.touches[k].saving_s for k in own) for own in program.touches_of_group]
    empty = max(inputs, key=lambda n: saving_s[n], default=-1)
    values = (replace(v, size_bytes=0) if v.group == empty else v for v in program.values)
    return replace(program, values=tuple(values))


def draw_program(
    chance: random.Random,
    num_instructions: int,
    loops: bool = True,
    flights: bool = True,
    forks: bool = True,
) -> Program:
    """A rich valid program of that many instructions, drawn from `chance`.

    `forks`: some conditionals have two branches with instructions. `flights`: some instructions
    only start what goes on, on this thread or another one, and some are kernels with more scratch.
    """
    alignment = chance.choice([128, 512])
    hardware = Hardware(
        name="random",
        fast_bytes=alignment * chance.choice([16, 64, 256]),
        alignment=alignment,
        bandwidth=BANDWIDTH,
        clock_hz=1e9,
        max_cross_program_prefetches=chance.choice([0, 1, 1, 2]),
    )
    draft = _Draft(chance, hardware, forks)
    if loops:
        draft.nest_regions(0, num_instructions, TOP_LEVEL, 0)
    draft.add_inputs(2 + num_instructions // 6)
    for time in range(num_instructions):
        draft.add_instruction(time)
    draft.mark_live_outs()
    program = draft.program()
    if flights:
        program = _with_kernels(chance, _with_flights(chance, program))
    validate(program, "random program")
    return program


@dataclass
class _GroupDraft:
    """`home`: the innermost level whose code may touch the group; `value`: its newest value.

    `since`: the first slot that may, past the conditional of which one branch has made it.
    """

    home: int
    value: int
    size_bytes: int
    is_mutable: bool
    since: int = 0


@dataclass
class _Draft:
    """A program under construction, in schedule order."""

    chance: random.Random
    hardware: Hardware
    forks: bool
    regions: list[Region] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    groups: list[_GroupDraft] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    ends_of_branches: dict[int, tuple[int, int]] = field(default_factory=dict)
    results: dict[tuple[int, int], int] = field(default_factory=dict)

    def nest_regions(self, start: int, end: int, parent: int, depth: int) -> None:
        """Scatter properly nested whiles and branches over `[start, end)`."""
        time = start
        while time < end:
            if depth == MAX_DEPTH or self.chance.random() >= 0.12:
                time += 1
                continue
            stop = time + self.chance.randint(1, min(end - time, 2 + (end - start) // 2))
            outer = 1.0 if parent == TOP_LEVEL else self.regions[parent].multiplicity
            if self.forks and stop - time > 1 and self.chance.random() < 0.4:
                self._branch_off(time, stop, parent, outer, depth)
            else:
                kind = self.chance.choice(["while", "while", "branch"])
                factor = self.chance.choice([2, 3, 12]) if kind == "while" else 0.5
                name = f"{kind}.{len(self.regions)}"
                is_known = not (self.forks and kind == "while" and self.chance.random() < 0.3)
                region = Region(name, time, stop, outer * factor, parent, kind, is_known)
                self._nest(region, depth)
            time = stop

    def _nest(self, region: Region, depth: int) -> None:
        index = len(self.regions)
        self.regions.append(region)
        self.nest_regions(region.start, region.end, index, depth + 1)

    def _branch_off(self, start: int, end: int, parent: int, outer: float, depth: int) -> None:
        """Two branches, of a conditional that may have a third without instructions.

        Their last instructions may make its result, in one place.
        """
        cut = self.chance.randint(start + 1, end - 1)
        share = self.chance.choice([0.5, 0.5, 1 / 3])
        name = f"if.{len(self.regions)}"
        if self.chance.random() < 0.7 and self.ends_of_branches.keys().isdisjoint(
            (cut - 1, end - 1)
        ):
            self.ends_of_branches |= {cut - 1: (parent, end), end - 1: (parent, end)}
        for number, (first, last) in enumerate([(start, cut), (cut, end)]):
            region = Region(f"{name}[{number}]", first, last, outer * share, parent, "branch")
            self._nest(region, depth)

    def add_inputs(self, count: int) -> None:
        """Weights that are only read, and donated inputs that may be updated in place."""
        for _ in range(count):
            self._new_group(INPUT_TIME, TOP_LEVEL, is_mutable=self.chance.random() < 0.3)

    def add_instruction(self, time: int) -> None:
        """Reads of visible groups, then in-place updates, overwrites and new values."""
        level = self._level_at(time)
        visible = self._visible_groups(level, time)
        read = [self._pick(visible) for _ in range(self.chance.randint(0, 3)) if visible]
        updated = [g for g in read if self.groups[g].is_mutable and self.chance.random() < 0.25]
        if visible and self.chance.random() < 0.08:
            updated += [g for g in [self._pick(visible)] if self.groups[g].is_mutable]
        count = self.chance.choice([0, 1, 1, 1, 2])
        for operand, group in enumerate(read):
            self._access(time, level, self.groups[group].value, False, operand)
        written = [self._new_value(time, g) for g in dict.fromkeys(updated)]
        written += [self._define(time, level) for _ in range(count)]
        if time in self.ends_of_branches:
            written.append(self._result_of_branch(time))
        for result, value in enumerate(written):
            self._access(time, level, value, True, result)
        self._append_instruction(time, level)

    def mark_live_outs(self) -> None:
        """Some of the groups that the top level may touch leave the program."""
        top = [g for g in self.groups if g.home == TOP_LEVEL]
        for group in top:
            odds = 0.2 if group.is_mutable else 0.05
            if group is top[-1] or self.chance.random() < odds:
                self.values[group.value] = replace(self.values[group.value], is_live_out=True)

    def program(self) -> Program:
        """The finished program."""
        self.accesses = [self._now_and_then_slow(a) for a in self.accesses]
        self._add_floors()
        self.accesses = [self._now_and_then_costly(a) for a in self.accesses]
        return Program(
            name="random",
            hardware=self.hardware,
            instructions=tuple(self.instructions),
            values=tuple(self.values),
            accesses=tuple(self.accesses),
            regions=tuple(self.regions),
        )

    def _add_floors(self) -> None:
        """Some instructions take longer than the savings of all their accesses leave."""
        savings_s = [0.0] * len(self.instructions)
        for access in self.accesses:
            savings_s[access.time] += access.saving_s
        for time, one in enumerate(self.instructions):
            if self.chance.random() < 0.2:
                share = self.chance.choice([0.2, 0.5, 0.9, 1.0])
                floor_s = one.fast_s + share * savings_s[time]
                self.instructions[time] = replace(one, floor_s=floor_s)

    def _now_and_then_costly(self, access: Access) -> Access:
        """A write that takes longer into fast memory; all slow, its instruction takes no less."""
        if not access.is_write or self.chance.random() >= 0.08:
            return access
        cost_s = self.chance.choice([0.1, 0.5]) * access.saving_s
        one = self.instructions[access.time]
        fast_s = one.fast_s + access.saving_s + 2 * cost_s
        self.instructions[access.time] = replace(one, fast_s=fast_s)
        return replace(access, saving_s=0.0 - cost_s)

    def _now_and_then_slow(self, access: Access) -> Access:
        if not access.is_write or self.chance.random() >= 0.06:
            return access
        return replace(access, saving_s=0.0, must_be_slow=True)

    def _append_instruction(self, time: int, level: int) -> None:
        unit = 0.3 * self.hardware.fast_bytes / BANDWIDTH
        # Whole femtoseconds: hypothesis likes denormal numbers, of which no game can make ticks.
        fast_s = round(unit * self.chance.choice([0.0, 0.05, 0.3, 1.0]) * self.chance.random(), 15)
        granules = self.hardware.fast_bytes // self.hardware.alignment
        share = self.chance.choice([0.0, 0.0, 0.0, 0.1, 0.3])
        reserved = round(share * granules) * self.hardware.alignment
        self.instructions.append(
            Instruction(
                name=f"fusion.{time}",
                opcode="fusion",
                fast_s=fast_s * self._multiplicity(level),
                level=level,
                reserved_bytes=reserved,
                scratch_bytes=reserved // 2,
            )
        )

    def _define(self, time: int, level: int) -> int:
        """A fresh group; now and then code after its region may read it too."""
        home, since = level, 0
        if level != TOP_LEVEL and self.chance.random() < 0.15:
            home = self.regions[level].parent
            if self.forks and self.regions[level].kind == "branch":
                since = self._end_of_conditional(level)
        return self._new_group(time, home, is_mutable=True, since=since)

    def _end_of_conditional(self, branch: int) -> int:
        name = self.regions[branch].name.partition("[")[0]
        return max(r.end for r in self.regions if r.name.partition("[")[0] == name)

    def _result_of_branch(self, time: int) -> int:
        """What a conditional returns: each of its branches writes it.

        In a place of its own, or in that of something from before the conditional.
        """
        home, end = self.ends_of_branches[time]
        if (home, end) not in self.results:
            start = self.regions[self._level_below(home, time)].start
            before = [
                number
                for number in self._visible_groups(home, start)
                if self.groups[number].is_mutable and self._is_made(number, start)
            ]
            if not before or self.chance.random() < 0.5:
                self.results[home, end] = len(self.groups)
                return self._new_group(time, home, is_mutable=True, since=end)
            self.results[home, end] = self._pick(before)
        return self._new_value(time, self.results[home, end])

    def _level_below(self, home: int, time: int) -> int:
        """The region right inside a level that holds the slot."""
        level = self._level_at(time)
        while self.regions[level].parent != home:
            level = self.regions[level].parent
        return level

    def _is_made(self, group: int, time: int) -> bool:
        """Whether the group has a content before the slot."""
        return any(v.group == group and v.defined < time for v in self.values)

    def _new_group(self, defined: int, home: int, is_mutable: bool, since: int = 0) -> int:
        self.groups.append(_GroupDraft(home, -1, self._size(), is_mutable, since))
        return self._new_value(defined, len(self.groups) - 1)

    def _new_value(self, defined: int, group: int) -> int:
        draft = self.groups[group]
        shrink = self.chance.choice([1, 1, 1, 2])
        self.values.append(
            Value(
                name=f"v{len(self.values)}",
                shape=f"u8[{draft.size_bytes // shrink}]",
                size_bytes=max(1, draft.size_bytes // shrink),
                defined=defined,
                group=group,
                may_be_fast=self.chance.random() >= 0.03,
            )
        )
        draft.value = len(self.values) - 1
        return draft.value

    def _size(self) -> int:
        """1 granule to 60 % of the fast memory, small ones as likely as big ones; rarely more."""
        hardware = self.hardware
        if self.chance.random() < 0.02:
            return 2 * hardware.fast_bytes
        granules = 0.6 * hardware.fast_bytes / hardware.alignment
        size = max(1, round(granules ** self.chance.random())) * hardware.alignment
        return size - self.chance.choice([0, 0, 0, 4])

    def _access(self, time: int, level: int, value: int, is_write: bool, number: int) -> None:
        multiplicity = self._multiplicity(level)
        moved = self.values[value].size_bytes * self.chance.choice([1.0, 1.0, 1.0, 0.25])
        share = self.chance.choice([0.0, 0.3, 0.7, 1.0, 1.0])
        self.accesses.append(
            Access(
                time=time,
                value=value,
                is_write=is_write,
                saving_s=multiplicity * share * moved / BANDWIDTH,
                slow_bytes=round(multiplicity * moved),
                operand=number,
            )
        )

    def _pick(self, visible: list[int]) -> int:
        """Half the time one of the newest groups, else any."""
        return self.chance.choice(visible[-4:] if self.chance.random() < 0.5 else visible)

    def _visible_groups(self, level: int, time: int) -> list[int]:
        chain = {TOP_LEVEL}
        while level != TOP_LEVEL:
            chain.add(level)
            level = self.regions[level].parent
        return [i for i, g in enumerate(self.groups) if g.home in chain and g.since <= time]

    def _level_at(self, time: int) -> int:
        """Regions are in pre-order, so the last that holds the slot is the innermost."""
        holding = [i for i, r in enumerate(self.regions) if r.start <= time < r.end]
        return holding[-1] if holding else TOP_LEVEL

    def _multiplicity(self, level: int) -> float:
        return 1.0 if level == TOP_LEVEL else self.regions[level].multiplicity


def _with_flights(chance: random.Random, program: Program) -> Program:
    """The program with some instructions that only start what goes on.

    On another thread, as to and from the host, all that is accessed must be slow.
    """
    accesses = list(program.accesses)
    for time in range(program.num_slots):
        own = [n for n, access in enumerate(accesses) if access.time == time]
        if not own or chance.random() >= 0.3:
            continue
        ends = _possible_ends(replace(program, accesses=tuple(accesses)), time)
        if not ends:
            continue
        end, is_elsewhere = chance.choice(ends), chance.random() < 0.3
        for number in own:
            one = replace(accesses[number], in_flight=end - time - 1)
            slow = replace(one, must_be_slow=True, saving_s=0.0)
            accesses[number] = slow if is_elsewhere else one
    slow_s = [0.0] * program.num_slots
    for before, after in zip(program.accesses, accesses, strict=True):
        slow_s[before.time] += before.saving_s - after.saving_s
    instructions = (
        replace(one, fast_s=max(0.0, one.fast_s + more))
        for one, more in zip(program.instructions, slow_s, strict=True)
    )
    return replace(program, accesses=tuple(accesses), instructions=tuple(instructions))


def _possible_ends(program: Program, time: int) -> list[int]:
    """Where all that instruction `time` accesses may still be in flight, past its own slot."""
    level = program.level_at(time)
    last = program.level_end(level)
    for touch in program.touches:
        if touch.time != time:
            continue
        others = [program.touches[i] for i in program.touches_of_group[touch.group]]
        if any(o.time < time < o.end and (o.writes or touch.writes) for o in others):
            return []
        later = (o.time for o in others if o.time > time and (o.writes or touch.writes))
        last = min(last, *later, last)
    inner = [r for r in program.regions if time < r.start]
    return [e for e in range(time + 2, last + 1) if not any(r.start < e < r.end for r in inner)]


def _with_kernels(chance: random.Random, program: Program) -> Program:
    """The program with some instructions that take most of the memory for themselves."""
    granules = program.hardware.fast_bytes // program.hardware.alignment
    reserved = round(0.7 * granules) * program.hardware.alignment
    return replace(
        program,
        instructions=tuple(
            replace(one, reserved_bytes=reserved, scratch_bytes=reserved)
            if chance.random() < 0.04
            else one
            for one in program.instructions
        ),
    )


def all_slow_plan(program: Program) -> Plan:
    """The plan that leaves everything in slow memory."""
    flags = (False,) * len(program.accesses)
    return Plan(content_hash(program), "all-slow", flags, (), ())


def touchwise_plan(program: Program) -> Plan:
    """A valid plan with a stay per touch that fits, filled and emptied by copies without slots.

    A touch in flight has its stay to itself until it is over.

    As large as a plan can be, and full of stalls.
    """
    alignment = program.hardware.alignment
    free = [-(-i.reserved_bytes // alignment) * alignment for i in program.instructions]
    busy = [0] * len(program.groups)
    is_fast = [False] * len(program.accesses)
    stays, copies = [], []
    for touch in program.touches:
        group, time, end = program.groups[touch.group], touch.time, touch.end
        if not group.may_be_fast or touch.must_be_slow or time < busy[touch.group]:
            continue
        offset = max(free[time:end])
        if offset + group.size_bytes > program.hardware.fast_bytes:
            continue
        stays.append(Stay(touch.group, offset, time, end))
        busy[touch.group] = end
        top = offset + -(-group.size_bytes // alignment) * alignment
        free[time:end] = [top] * (end - time)
        if touch.reads:
            copies.append(Copy(touch.group, True, time, time))
        if touch.writes:
            copies.append(Copy(touch.group, False, end, end))
        for access in touch.accesses:
            is_fast[access] = True
    return Plan(content_hash(program), "touchwise", tuple(is_fast), tuple(stays), tuple(copies))


def programs_with_plans(max_instructions: int = 10) -> st.SearchStrategy[tuple[Program, Plan]]:
    """Valid programs, each with a valid plan; both shrink."""

    def draw(chance: random.Random, num_instructions: int, loops: bool) -> tuple[Program, Plan]:
        program = draw_program(chance, num_instructions, loops)
        return program, draw_plan(chance, program, attempts=6)

    return st.builds(
        draw, st.randoms(use_true_random=False), st.integers(1, max_instructions), st.booleans()
    )


def draw_plan(chance: random.Random, program: Program, attempts: int = 12) -> Plan:
    """A valid plan: stays drawn one by one, each kept if the referee has no objection."""
    plan = all_slow_plan(program)
    touched = [g for g, touches in enumerate(program.touches_of_group) if touches]
    for _ in range(attempts if touched else 0):
        extended = _with_stay(chance, program, plan, chance.choice(touched))
        if check(program, extended) is None:
            plan = extended
    return plan


def _with_stay(chance: random.Random, program: Program, plan: Plan, group: int) -> Plan:
    """`plan` and a stay for some successive touches of the group, with copies that it may need."""
    touches = [program.touches[i] for i in program.touches_of_group[group]]
    chosen = touches[chance.randrange(len(touches)) :]
    chosen = chosen[: chance.randint(1, len(chosen))]
    chosen = list(takewhile(lambda touch: not touch.must_be_slow, chosen))
    if not chosen:
        return plan
    start, copies = chosen[0].time, []
    if chosen[0].reads:
        deadline, start = start, max(0, start - chance.choice([0, 1, 2, 5]))
        is_early = program.groups[group].is_input and chance.random() < 0.2
        start = BEFORE_START if is_early else start
        copies = [] if is_early else [Copy(group, True, start, deadline)]
    end = max(_needed_until(program, start, touch) for touch in chosen)
    if start != BEFORE_START and any(touch.writes for touch in chosen) and chance.random() < 0.8:
        begin, end = end, min(program.num_slots, end + chance.choice([0, 1, 2, 5]))
        copies.append(Copy(group, False, begin, end))
    granules = program.hardware.fast_bytes // program.hardware.alignment
    offset = chance.randrange(granules) * program.hardware.alignment
    stays = [Stay(group, offset, start, end)]
    if start == BEFORE_START:
        stays, copies = kept(chance, program, stays[0])
    is_fast = list(plan.is_fast)
    for touch in chosen:
        for access in touch.accesses:
            is_fast[access] = True
    position = chance.randint(0, len(plan.copies))
    return replace(
        plan,
        is_fast=tuple(is_fast),
        stays=(*plan.stays, *stays),
        copies=(*plan.copies[:position], *copies, *plan.copies[position:]),
    )


def kept(chance: random.Random, program: Program, early: Stay) -> tuple[list[Stay], list[Copy]]:
    """The stay from before the start, to the program's end or with a copy that brings it back."""
    end = program.num_slots
    begin = chance.randint(early.end, end)
    if begin == end or chance.random() < 0.5:
        return [replace(early, end=end)], []
    back = Copy(early.group, True, chance.randint(begin, end), end)
    return [early, replace(early, start=begin, end=end)], [back]


def _needed_until(program: Program, start: int, touch: Touch) -> int:
    """The least end of a stay from `start` that serves the touch."""
    holding = [r for r in program.regions if start < r.start <= touch.time < r.end]
    return max((r.end for r in holding), default=touch.end)

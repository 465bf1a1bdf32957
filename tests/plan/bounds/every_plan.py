"""The best of all plans of a tiny program, found by looking at every one that the checker takes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, combinations, permutations, product

from engine.errors import ProgramFormatError
from engine.plan.check import check
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.plan.simulate import simulate
from engine.program.model import Program, Region
from engine.program.validate import validate
from tests.plan.cases import HARDWARE, Buffer, program_of
from tests.strategies import all_slow_plan

SLOTS = 4
GRANULE = 256
MOST_STAYS, MOST_COPIES = 2, 2
"""Of one group: four slots have no use for more."""


@dataclass(frozen=True)
class Part:
    """What a plan says of one group: the accesses served fast, its stays, its copies."""

    fast: frozenset[int]
    stays: tuple[Stay, ...]
    copies: tuple[Copy, ...]


def tiny_program(seed: int) -> Program:
    """Two or three buffers, of which not all fit, in four slots.

    Some have a loop or a branch, scratch, work in flight, or accesses that must be slow.
    """
    chance = random.Random(seed)
    while True:
        try:
            return _drawn(chance, f"tiny-{seed}")
        except ProgramFormatError:
            continue


def _drawn(chance: random.Random, name: str) -> Program:
    """Raises ProgramFormatError where what was drawn is no program."""
    regions = []
    if chance.random() < 0.6:
        start = chance.randrange(SLOTS - 1)
        end = chance.randint(start + 1, SLOTS)
        kind, times = chance.choice([("while", 3.0), ("branch", 0.5)])
        regions = [Region(f"{kind}[0]", start, end, times, kind=kind)]
        if kind == "branch" and end < SLOTS:
            regions.append(Region("branch[1]", end, end + 1, 0.5, kind=kind))
    hardware = replace(
        HARDWARE,
        fast_bytes=GRANULE * chance.choice([2, 3]),
        alignment=GRANULE,
        max_cross_program_prefetches=chance.choice([0, 1]),
    )
    program = program_of(
        [_buffer(chance) for _ in range(chance.choice([2, 2, 3]))],
        SLOTS,
        regions,
        reserved={chance.randrange(SLOTS): GRANULE} if chance.random() < 0.4 else None,
        fast_s=[chance.choice([0.0, 100.0, 700.0]) for _ in range(SLOTS)],
        hardware=hardware,
    )
    accesses = tuple(
        replace(a, must_be_slow=True, saving_s=0.0) if chance.random() < 0.1 else a
        for a in program.accesses
    )
    program = replace(program, name=name, accesses=accesses)
    validate(program, name)
    if check(program, all_slow_plan(program)) is not None:
        raise ProgramFormatError("a branch reads what another one makes")
    return program


def _buffer(chance: random.Random) -> Buffer:
    is_input = chance.random() < 0.5
    times = sorted(chance.sample(range(SLOTS), chance.randint(1, 3)))
    words = []
    for number, time in enumerate(times):
        is_write = (number == 0 and not is_input) or (number and chance.random() < 0.25)
        flight = f"+{chance.randint(1, 2)}" if chance.random() < 0.25 else ""
        words.append(f"{'w' if is_write else 'r'}{time}{flight}")
    size = GRANULE * chance.choice([1, 1, 2])
    return Buffer(size, " ".join(words), is_input=is_input, is_live_out=chance.random() < 0.3)


def optimum_s(program: Program) -> float:
    """The least latency of all plans, whatever their offsets and the order of their copies are."""
    parts = [list(_parts(program, group)) for group in range(len(program.groups))]
    slow = all_slow_plan(program)
    best_s = simulate(program, slow).latency_s
    for chosen in product(*parts):
        fast = frozenset[int]().union(*(part.fast for part in chosen))
        if _compute_s(program, fast) >= best_s:
            continue
        placed = (_plan(slow, fast, *rest) for rest in _placed(program, chosen))
        plan = next((plan for plan in placed if check(program, plan) is None), None)
        for order in permutations(plan.copies) if plan is not None else ():
            best_s = min(best_s, simulate(program, replace(plan, copies=order)).latency_s)
    return best_s


def _compute_s(program: Program, fast: frozenset[int]) -> float:
    seconds = [i.fast_s for i in program.instructions]
    for index, access in enumerate(program.accesses):
        seconds[access.time] += 0.0 if index in fast else access.saving_s
    return sum(max(s, i.floor_s) for s, i in zip(seconds, program.instructions, strict=True))


def _plan(slow: Plan, fast: frozenset[int], stays: Sequence[Stay], copies: Sequence[Copy]) -> Plan:
    is_fast = tuple(index in fast for index in range(len(slow.is_fast)))
    return replace(slow, is_fast=is_fast, stays=tuple(stays), copies=tuple(copies))


def _parts(program: Program, group: int) -> Iterator[Part]:
    """All that the checker takes of one group while everything else is slow, and takes no place."""
    instructions = tuple(replace(i, reserved_bytes=0) for i in program.instructions)
    program = replace(program, instructions=instructions)
    slow = all_slow_plan(program)
    touches = [program.touches[index] for index in program.touches_of_group[group]]
    for served in product((False, True), repeat=len(touches)):
        some = [t for t, is_fast in zip(touches, served, strict=True) if is_fast]
        fast = frozenset(chain.from_iterable(t.accesses for t in some))
        needed = frozenset(chain.from_iterable(range(t.time, t.end) for t in some))
        ways = {way for way in (True, False) if any(t.reads if way else t.writes for t in some)}
        lean: list[tuple[frozenset[int], frozenset[Copy]]] = []
        for stays in _sets_of_stays(program, group) if fast else [()]:
            held = frozenset(chain.from_iterable(range(s.start, s.end) for s in stays))
            if not needed <= held:
                continue
            for copies in _sets_of_copies(group, stays, ways):
                # More place and more copies for the same service gain nothing.
                if any(slots <= held and fewer <= set(copies) for slots, fewer in lean):
                    continue
                if check(program, _plan(slow, fast, stays, copies)) is None:
                    lean.append((held, frozenset(copies)))
                    yield Part(fast, stays, copies)


def _sets_of_stays(program: Program, group: int) -> Iterator[tuple[Stay, ...]]:
    end = program.num_slots
    starts = range(BEFORE_START, end)
    every = [Stay(group, 0, a, b) for a in starts for b in range(max(a, 0) + 1, end + 1)]
    sets = (stays for count in range(1, MOST_STAYS + 1) for stays in combinations(every, count))
    apart = [s for s in sets if all(a.end <= b.start for a, b in combinations(s, 2))]
    yield from sorted(apart, key=lambda stays: sum(s.end - s.start for s in stays))


def _sets_of_copies(
    group: int, stays: Sequence[Stay], ways: Set[bool]
) -> Iterator[tuple[Copy, ...]]:
    every = {
        Copy(group, is_prefetch, a, b)
        for stay in stays
        for a in range(max(stay.start, 0), stay.end + 1)
        for b in range(a, stay.end + 1)
        for is_prefetch in ways
    }
    for count in range(MOST_COPIES + 1):
        yield from combinations(sorted(every, key=repr), count)


def _placed(program: Program, chosen: Sequence[Part]) -> Iterator[tuple[list[Stay], list[Copy]]]:
    """The stays at all offsets, and the copies."""
    stays = [stay for part in chosen for stay in part.stays]
    copies = [copy for part in chosen for copy in part.copies]
    offsets = range(0, program.hardware.fast_bytes, program.hardware.alignment)
    for places in product(offsets, repeat=len(stays)):
        yield [replace(s, offset=at) for s, at in zip(stays, places, strict=True)], copies

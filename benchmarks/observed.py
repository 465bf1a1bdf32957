"""The section `observed`: what the whole compiles that are kept say of instructions' cycles.

Over all programs that ship with compiles, or `--programs`: how many pairs of an instruction and a
placement of its operands and results several compiles contain, and how many of these have more than
one count of cycles; the same for pairs of a pool (instructions equal but for their names) and a
placement; how the savings that placements tell apart compare with the transfer times of the bytes;
and the programs in which some writes are slower into fast memory. With `--programs` also every
count. No compiler is needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from statistics import mean, median

import numpy as np

from benchmarks.settings import Settings
from engine.compiler.costs.calibrate import accesses_by_slot
from engine.compiler.costs.observations import (
    Observations,
    load_observations,
    observations_path,
)
from engine.compiler.costs.pools import MAX_PER_BYTE
from engine.program import library
from engine.program.model import Program

Counts = dict[tuple[Hashable, str], list[float]]
"""The cycles of every compile, by what they are of (an instruction or a pool) and by what was fast:
`f` or `s` for each of its accesses."""


def run(section: str, settings: Settings) -> None:
    """Print what all compiles come to."""
    del section
    pairs = np.zeros((2, 2), dtype=int)
    num_programs, num_compiles, slower = 0, 0, []
    ratios: list[float] = []
    for entry in (*library.index(), *library.held_out(), *library.large(), *library.real()):
        if settings.programs and entry.name not in settings.programs:
            continue
        program = library.load_entry(entry)
        if any(access.saving_s < 0 for access in program.accesses):
            slower.append(entry.name)
        path = observations_path(entry.name, entry.folder)
        if path.exists():
            seen = load_observations(path, program)
            num_programs += 1
            ratios += per_transfer(program)
            num_compiles += 1 + len(seen.compiles)
            own = counts(program, seen, lambda slot: slot)
            pools = counts(program, seen, seen.pools.__getitem__)
            pairs += [agreement(own), agreement(pools)]
            if settings.programs:
                print("\n".join(lines(program, own)))
    for (several, differ), what in zip(pairs.tolist(), ("instruction", "pool"), strict=True):
        print(
            f"{several} pairs of {what} and placement seen more than once, {differ} with two counts"
        )
    if ratios:
        below = mean(ratio <= MAX_PER_BYTE for ratio in ratios)
        print(
            f"{len(ratios)} savings that placements tell apart, median {median(ratios):.2f} times"
            f" the transfer time of the bytes, {below:.0%} at most {MAX_PER_BYTE:g} times"
        )
    print(f"{num_compiles} whole compiles of {num_programs} programs")
    print(f"writes that cost time in {len(slower)}: {' '.join(slower)}")


def counts(program: Program, seen: Observations, of: Callable[[int], Hashable]) -> Counts:
    """The counts of all compiles; `of` says to what an instruction's number belongs."""
    accesses = accesses_by_slot(program)
    found: Counts = defaultdict(list)
    for one in (seen.slow, *seen.compiles):
        for slot, cycles in enumerate(one.seen.cycles):
            if not np.isnan(cycles):
                placement = "".join("sf"[int(one.seen.is_fast[a])] for a in accesses[slot])
                found[of(slot), placement].append(float(cycles))
    return found


def agreement(found: Counts) -> tuple[int, int]:
    """How many pairs have more than one count, and how many of these two that differ."""
    several = [cycles for cycles in found.values() if len(cycles) > 1]
    return len(several), sum(len(set(cycles)) > 1 for cycles in several)


def per_transfer(program: Program) -> list[float]:
    """The savings without uncertainty, each in transfer times of its bytes."""
    return [
        access.saving_s * program.hardware.bandwidth / access.slow_bytes
        for access in program.accesses
        if access.uncertainty_s == 0 < access.saving_s and access.slow_bytes > 0
    ]


def lines(program: Program, found: Counts) -> list[str]:
    """Every instruction with its cycles by what was fast, operands first."""
    return [
        f"{program.name} {program.instructions[slot].name:32} {placement:8} {cycles[0]:14,.0f}"
        for (slot, placement), cycles in sorted(found.items(), key=str)
        if isinstance(slot, int)
    ]

"""Prices: what instructions take for which the compiler states no cycles, by a model or a profile.

A price is part of its instruction's `fast_s`, and `Instruction.priced_s` says how much of it; so it
is a constant that no placement changes, equal in every plan's latency and in every bound. Work that
goes on beside the schedule (`Access.in_flight`: collectives, copies to the host) costs what is left
of it when it is awaited: its price less what the instructions between its start and its done take
at least, also where that is in the next iteration of their loop. Works that share a link hide
behind different parts of that time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.program.model import TOP_LEVEL, Instruction, Program, in_turn

PRICES = "prices"
"""The entry of a provenance that says who priced what: a list of instruction names by source.

Work in flight that others hide whole is named too. Without prices it is there, and empty.
"""

MODEL = "model"
"""Operations, bytes and links (`engine.hardware.pricing`)."""
KERNEL = "kernel"
"""The same model, by the operations and bytes that a kernel states of itself."""
PROFILE = "profile"
"""The user's measurements."""
SOURCES = (MODEL, KERNEL, PROFILE)
PROFILE_NAME = "profile_name"
"""The file that the measurements are from; of several, their names in a row."""
_AND = " and "

CHIP, LINKS, HOST = "chip", "links", "host"


@dataclass(frozen=True)
class Price:
    """What one execution of an instruction takes. `source`: one of `SOURCES`.

    `over`: what it keeps busy: the chip, the links between chips, or the link to the host.
    `next_end`: of what only the next iteration of its loop awaits, the slot there before which it
    is over; else -1.
    """

    seconds: float
    source: str = MODEL
    over: str = CHIP
    next_end: int = -1


def priced_s(program: Program) -> float:
    """Seconds of one run that are no estimate of the compiler's."""
    return sum(instruction.priced_s for instruction in program.instructions)


def with_prices(
    program: Program,
    prices: Mapping[int, Price],
    profile: str = "",
    taken_s: Sequence[float] | None = None,
) -> Program:
    """The program with the prices of these slots, in place of what they had.

    Its provenance says who priced what; `profile`: the file that measured prices are from.
    `taken_s`: seconds of one run that the instructions take without prices, behind which works in
    flight hide; None: what they take at least.
    """
    seconds = {
        time: price.seconds * program.multiplicity(program.instructions[time].level)
        for time, price in prices.items()
    }
    awaited = _awaited_s(program, prices, seconds, taken_s)
    instructions = list(program.instructions)
    sources = price_sources(program)
    for time, price in prices.items():
        old, new_s = instructions[time], awaited.get(time, seconds[time])
        instructions[time] = _priced(old, new_s)
        sources[old.name] = price.source
    priced = {program.instructions[time].name for time in prices}
    entry = _entry(instructions, sources, _files(program, priced, profile))
    provenance = {**program.provenance, PRICES: entry}
    return replace(program, instructions=tuple(instructions), provenance=provenance)


def with_prices_of(program: Program, other: Program) -> Program:
    """The program with what its instructions are priced in `other`, by their names, and by whom.

    An execution costs the same in both. Where a computation was inlined more than once, several
    instructions have one name: the n-th of them there is the n-th here.
    """
    known = in_turn(i.name for i in other.instructions)
    priced = {
        key: (i.priced_s, other.multiplicity(i.level))
        for key, i in zip(known, other.instructions, strict=True)
    }
    instructions = list(program.instructions)
    for time, key in enumerate(in_turn(i.name for i in program.instructions)):
        if key in priced:
            seconds, times = priced[key]
            scale = program.multiplicity(instructions[time].level) / times
            instructions[time] = _priced(instructions[time], seconds * scale)
    own = {name: who for name, who in price_sources(program).items() if (name, 0) not in priced}
    sources = own | price_sources(other)
    files = _files(program, {name for name, _ in priced}, profile_name(other))
    entry = _entry(instructions, sources, files)
    provenance = {**program.provenance, PRICES: entry}
    return replace(program, instructions=tuple(instructions), provenance=provenance)


def _priced(instruction: Instruction, new_s: float) -> Instruction:
    if new_s == instruction.priced_s:
        return instruction
    stated_s = max(0.0, instruction.fast_s - instruction.priced_s)
    return replace(instruction, fast_s=stated_s + new_s, priced_s=new_s)


def _files(program: Program, priced: Collection[str], profile: str) -> str:
    """The names of the files that measured prices are from, once those `priced` have new ones."""
    sources = price_sources(program).items()
    is_left = any(source == PROFILE and name not in priced for name, source in sources)
    old = profile_name(program).split(_AND) if is_left else []
    return _AND.join(dict.fromkeys(filter(None, [*old, profile])))


def _entry(
    instructions: Sequence[Instruction], sources: Mapping[str, str], profile: str
) -> dict[str, Any]:
    names = dict.fromkeys(i.name for i in instructions if i.priced_s > 0 or i.name in sources)
    entry: dict[str, Any] = {}
    for source in SOURCES:
        listed = [name for name in names if sources.get(name, MODEL) == source]
        entry |= {source: listed} if listed else {}
    return {**entry, PROFILE_NAME: profile} if PROFILE in entry else entry


def profile_name(program: Program) -> str:
    """The file, or files, that its measured prices are from; empty where none is."""
    known = program.provenance.get(PRICES)
    return str(known.get(PROFILE_NAME, "")) if isinstance(known, Mapping) else ""


def price_sources(program: Program) -> dict[str, str]:
    """Instruction name -> who priced it; a file may say anything here."""
    known = program.provenance.get(PRICES)
    if not isinstance(known, Mapping):
        return {}
    return {
        str(name): source
        for source in SOURCES
        if isinstance(known.get(source), list)
        for name in known[source]
    }


def is_measured(program: Program) -> bool:
    """Whether some prices are the user's measurements, which hold for this program alone."""
    return PROFILE in price_sources(program).values()


def _awaited_s(
    program: Program,
    prices: Mapping[int, Price],
    seconds: Mapping[int, float],
    taken_s: Sequence[float] | None,
) -> dict[int, float]:
    """What is left of works in flight when they are awaited, by slot; other slots are missing.

    `seconds`: of their prices, over one run. What was measured is what was left.
    """
    beside = _beside(program, prices)
    whole_s = program.least_s if taken_s is None else taken_s
    free = {LINKS: list(whole_s), HOST: list(whole_s), CHIP: []}
    starts = {access.time for access in program.accesses if access.in_flight} | beside.keys()
    for time, price in prices.items():
        least_s = program.least_s[time] - program.instructions[time].priced_s
        old_s = least_s if taken_s is None else taken_s[time]
        # Behind a kernel a transfer is hidden as behind what the compiler estimates.
        lasts_s = 0.0 if time in starts else max(0.0, old_s) + seconds[time]
        for over, left_s in free.items():
            if left_s:
                left_s[time] = lasts_s if over != price.over else 0.0
    awaited: dict[int, float] = {}
    for time, others in sorted(beside.items()):
        left_s = free[prices[time].over]
        rest_s = seconds[time]
        for between in others if left_s else ():
            hidden_s = min(rest_s, left_s[between])
            left_s[between] -= hidden_s
            rest_s -= hidden_s
        awaited[time] = rest_s
    return awaited


def _beside(program: Program, prices: Mapping[int, Price]) -> dict[int, Sequence[int]]:
    """The slots that run while works in flight go on, by the slot of those; none if measured."""
    modelled = {time: price for time, price in prices.items() if price.source != PROFILE}
    beside: dict[int, Sequence[int]] = {}
    for access in program.accesses:
        if access.in_flight and access.time in modelled:
            found = range(access.time + 1, min(access.end, program.num_slots))
            beside[access.time] = max(found, beside.get(access.time, ()), key=len)
    for time, price in modelled.items():
        level = program.level_at(time)
        if price.next_end >= 0 and level != TOP_LEVEL:
            loop = program.regions[level]
            rest = range(loop.start, min(time, price.next_end))
            beside[time] = [*range(time + 1, loop.end), *rest]
    return beside

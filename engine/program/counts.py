"""How often loops run and branches are taken, where the compiled program does not say.

XLA states the length of most loops, or it follows from their condition. A loop that runs until
something is found has none: it counts as `DEFAULT_TRIP_COUNT` iterations, and each of the n
branches of a conditional as 1/n. The user may know better (`Counts`). All costs of a program are
totals over one run, so that other counts scale the costs of what is inside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Protocol, TypeVar

from engine.errors import ProgramFormatError, UsageError
from engine.files import spelt_out
from engine.program.io import content_hash
from engine.program.model import LEAST_SHARE, TOP_LEVEL, Program, branch_of
from engine.program.prices import price_sources
from engine.program.validate import validate

DEFAULT_TRIP_COUNT = 5
"""What XLA's own cost analysis assumes for a loop of unknown length."""

MAX_TRIP_COUNT = 10**9

_N = TypeVar("_N", int, float)

COUNTS = "counts"
"""The entry of a provenance that holds the counts given by the user."""


_TOTALS = ("default_compile", "fastest_compile")


class _Region(Protocol):
    """A region of a program, or of the flow of a compile."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def multiplicity(self) -> float: ...
    @property
    def parent(self) -> int: ...


@dataclass(frozen=True)
class Counts:
    """Counts given by the user, by the name of the instruction.

    `trips`: while -> iterations each time that it is reached. `shares`: conditional -> how often
    each of its branches is taken; they add up to 1, and none is below `LEAST_SHARE`.
    """

    trips: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises UsageError for counts that cannot be."""
        for counts in (self.trips, self.shares):
            if not isinstance(counts, Mapping):
                raise UsageError(f"{counts!r:.60}: counts go by the name of their instruction")
        for name, count in self.trips.items():
            is_number = isinstance(count, Real)
            if not (is_number and 1 <= count <= MAX_TRIP_COUNT and count == int(count)):
                raise UsageError(
                    f"{name}={count}: a trip count is a whole number, 1 to {MAX_TRIP_COUNT}"
                )
        for name, given in self.shares.items():
            is_list = isinstance(given, Iterable) and not isinstance(given, str)
            shares: list[Any] = list(given) if is_list else [repr(given)]
            is_taken = all(
                isinstance(share, Real) and float(share) >= LEAST_SHARE for share in shares
            )
            if not (is_taken and abs(math.fsum(shares) - 1) < 1e-6):
                shown = ",".join(map(str, shares))
                raise UsageError(
                    f"{name}={shown}: the shares of branches are {LEAST_SHARE:.5f} or more and add"
                    " up to 1; give one that is never taken the least"
                )

    def to_json(self) -> dict[str, Any]:
        """One entry per name: a number of iterations, or the list of shares."""
        return {**self.trips, **{name: list(shares) for name, shares in self.shares.items()}}


def given_counts(program: Program) -> Counts:
    """The counts that were given for a program. Raises ProgramFormatError for a damaged record."""
    return counts_from_json(program.provenance.get(COUNTS, {}), spelt_out(program.name))


def counts_from_json(known: Any, where: str) -> Counts:
    """The counts of which `Counts.to_json` made this record. Raises ProgramFormatError."""
    try:
        return Counts(
            {name: n for name, n in known.items() if not isinstance(n, list)},
            {name: [float(s) for s in n] for name, n in known.items() if isinstance(n, list)},
        )
    except (AttributeError, ArithmeticError, TypeError, ValueError, UsageError) as error:
        raise ProgramFormatError(f"{where}: its record of trip counts is damaged") from error


def multiplicities(regions: Sequence[_Region], counts: Counts) -> list[float]:
    """`[R]` how often each region runs in one run of the program, by these counts."""
    times: list[float] = []
    for region in regions:
        before, outer = (
            (1.0, 1.0)
            if region.parent == TOP_LEVEL
            else (regions[region.parent].multiplicity, times[region.parent])
        )
        own = region.multiplicity / before
        conditional, number = branch_of(region.name, region.kind)
        if region.kind == "while":
            own = float(counts.trips.get(region.name, own))
        elif number is not None and conditional in counts.shares:
            shares = counts.shares[conditional]
            own = shares[number] if number < len(shares) else own
        times.append(outer * own)
    return times


def with_counts(program: Program, counts: Counts) -> Program:
    """The program with the costs of these counts; names that it does not have change nothing."""
    times = multiplicities(program.regions, counts)
    pairs = zip(times, program.regions, strict=True)
    scale = [*(new / region.multiplicity for new, region in pairs), 1.0]
    levels = [instruction.level for instruction in program.instructions]
    return replace(
        program,
        regions=tuple(
            replace(region, multiplicity=new)
            for new, region in zip(times, program.regions, strict=True)
        ),
        instructions=tuple(
            replace(
                i,
                fast_s=i.fast_s * by,
                floor_s=i.floor_s * by,
                flops=i.flops * by,
                priced_s=i.priced_s * by,
            )
            for i, by in ((i, scale[i.level]) for i in program.instructions)
        ),
        accesses=tuple(
            replace(
                a,
                saving_s=a.saving_s * by,
                uncertainty_s=a.uncertainty_s * by,
                slow_bytes=round(a.slow_bytes * by),
            )
            for a, by in ((a, scale[levels[a.time]]) for a in program.accesses)
        ),
    )


def recounted(program: Program, counts: Counts) -> Program:
    """The program as if its loops and branches ran so often, as its provenance then says.

    XLA's plan stays. Raises UsageError for a name that is none of its loops or conditionals of
    unknown count.
    """
    refuse_unknown(program, counts)
    known = given_counts(program)
    every = Counts({**known.trips, **counts.trips}, {**known.shares, **counts.shares})
    made = with_counts(program, counts)
    validate(made, program.name)
    _refuse_stale_prices(program, made)
    # Totals of compiles are by other counts.
    kept = {k: v for k, v in program.provenance.items() if k not in _TOTALS}
    provenance = {**kept, COUNTS: every.to_json()}
    plan = provenance.get("xla_plan")
    if isinstance(plan, Mapping):
        provenance["xla_plan"] = {**plan, "program_hash": content_hash(made)}
    return replace(made, provenance=provenance)


def _refuse_stale_prices(program: Program, made: Program) -> None:
    """Raise UsageError where a price hangs on how often a loop runs.

    The price of work in flight is what is left of it after the instructions meanwhile.
    """
    pairs = zip(program.regions, made.regions, strict=True)
    changed = [old for old, new in pairs if old.multiplicity != new.multiplicity]
    sources = price_sources(program)
    for access in program.accesses:
        instruction = program.instructions[access.time]
        if instruction.priced_s <= 0 and instruction.name not in sources:
            continue
        for region in changed:
            if access.time < region.start and region.end <= access.end:
                raise UsageError(
                    f"{program.name}: {instruction.name} is in flight over {region.name}, and its"
                    " price is what is left of it then; import the program with these counts"
                )


def refuse_unknown(program: Program, counts: Counts) -> None:
    """Raise UsageError for a count of what the program has not, or the compiler states itself."""
    loops, branches = unknown_loops(program), _unknown_branches(program)
    for name in counts.trips:
        if name not in loops:
            raise UsageError(
                f"{program.name} has no loop of unknown length called {name!r}; it has "
                + (", ".join(loops) or "none")
            )
    for name, shares in counts.shares.items():
        if name not in branches:
            raise UsageError(
                f"{program.name} has no conditional called {name!r}; it has "
                + (", ".join(branches) or "none")
            )
        if len(shares) != branches[name]:
            raise UsageError(
                f"{name} has {branches[name]} branches, and {len(shares)} shares were given"
            )


def unknown_loops(program: Program) -> dict[str, float]:
    """The loops whose length the compiler does not know, and how many iterations count."""
    return {
        region.name: region.multiplicity / program.multiplicity(region.parent)
        for region in program.regions
        if region.kind == "while" and not region.is_trip_count_known
    }


def count_text(count: float) -> str:
    """How often a loop runs, or a branch: a share or a mean with three digits.

    >>> count_text(1024.0), count_text(1e6), count_text(1 / 3)
    ('1,024', '1,000,000', '0.333')
    """
    is_whole = abs(count - round(count)) <= 1e-9 * count
    return f"{round(count):,}" if is_whole or count >= 100 else f"{count:.3g}"


def counts_remarks(program: Program) -> list[str]:
    """A sentence on the counts that were assumed, for want of better; none where all are known."""
    known = given_counts(program)
    loops = [
        f"{name} as {count_text(count)} iterations"
        for name, count in unknown_loops(program).items()
        if name not in known.trips
    ]
    branches = [
        f"{name} as 1/{n} for each branch"
        for name, n in _unknown_branches(program).items()
        if name not in known.shares
    ]
    found = []
    if loops:
        found.append(
            f"the compiler does not know how often these loops run, and each counts as assumed:"
            f" {_listed(loops)}; give the number with --trip-count WHILE=N"
        )
    if branches:
        found.append(
            "the compiler does not know which branches are taken, and each counts alike:"
            f" {_listed(branches)}; give shares with --branch COND=0.9,0.1"
        )
    return found


_MOST_LISTED = 8


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_LISTED
    return ", ".join(texts[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def _unknown_branches(program: Program) -> dict[str, int]:
    """The conditionals with how many branches they have.

    Branches without instructions make no region, so that the share of another one tells: as long
    as nobody gave shares, it is 1/n.
    """
    known = given_counts(program).shares
    found: dict[str, int] = {}
    for region in program.regions:
        conditional, number = branch_of(region.name, region.kind)
        if number is not None:
            outer = program.multiplicity(region.parent)
            alike = round(outer / region.multiplicity)
            found[conditional] = len(known[conditional]) if conditional in known else alike
    return found


def read_counts(trips: Iterable[str], shares: Iterable[str]) -> Counts:
    """Counts as a user gives them: `WHILE=N`, `COND=0.9,0.1`. Raises UsageError."""
    return Counts(
        {name: _number(text, int) for name, text in _pairs(trips, "WHILE=N")},
        {
            name: [_number(part, float) for part in text.split(",")]
            for name, text in _pairs(shares, "COND=0.9,0.1")
        },
    )


def _pairs(texts: Iterable[str], form: str) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"{text!r} is no {form}")
        pairs.append((name.removeprefix("%"), value))
    return pairs


def _number(text: str, kind: type[_N]) -> _N:
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"{text!r} is no number") from None

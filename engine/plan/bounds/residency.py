"""The lower bound's variables: how groups are served, where they stay, their copies.

Names of the variables as in `docs/bound.md`: `x` service of a touch, `r` residency since the touch
before, `p` prefetch for a touch, `b` write-back after a write, `c` cover of a whole region, `z`
cross-program prefetch. Bytes are in units of the fast memory, seconds in `Scale.second_s`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.plan.bounds.linear import LinearProgram
from engine.program.model import TOP_LEVEL, Program, Sink

Expression = list[tuple[int, float]]
Choice = tuple[str, int, int]
"""A 0/1 variable: its letter; the touch, or for `c` and `z` the group; the region of `p`, `b`, `c`.

A kept input's stay and prefetch at the end of the program are those of touch `-1 - group`.
"""
Way = tuple[str, int, int, int]
"""A 0/1 variable that says whether a copy is under way: the copy's choice, and the slot."""


@dataclass(frozen=True)
class Scale:
    """Units that keep the coefficients near 1."""

    second_s: float
    byte: float


@dataclass(frozen=True)
class Piece:
    """The share `held` of a group, which takes `place` when whole, during slots `[start, end)`."""

    group: int
    start: int
    end: int
    held: Expression
    place: float


@dataclass(frozen=True)
class Prefetch:
    """Variable `share` of a copy of `size` that runs in `level` and is complete before `time`.

    It starts at slot `start` at the earliest and takes `place`. `is_charged`: whether what is under
    way is charged for its place. `choice`: the name of `share`.
    """

    share: int
    choice: Choice
    group: int
    size: float
    place: float
    level: int
    multiplicity: float
    start: int
    time: int
    is_charged: bool


@dataclass(frozen=True)
class WriteBack:
    """Variable `share` of a copy that may begin at slot `release` and takes `work` of idle time.

    It is complete before slot `last`; until then `group` holds `place`. `choice`: `share`'s name.
    """

    share: int
    choice: Choice
    group: int
    work: float
    release: int
    place: float
    last: int


@dataclass(frozen=True)
class Window:
    """`work` must be done by copies within the slots `[start, end)` or a stall at `end`."""

    work: Expression
    start: int
    end: int


@dataclass
class Residency:
    """What the groups of a linear program hold and copy, as `GroupRows` adds them.

    `choices` and `ways`: the variables that are 0 or 1 in every plan.
    """

    program: Program
    linear: LinearProgram
    scale: Scale
    served: dict[int, Expression] = field(default_factory=dict)
    pieces: list[Piece] = field(default_factory=list)
    prefetches: list[Prefetch] = field(default_factory=list)
    write_backs: list[WriteBack] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    choices: dict[Choice, int] = field(default_factory=dict)
    ways: dict[Way, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        levels = [i.level for i in self.program.instructions]
        self._times = [self.program.multiplicity(level) for level in levels]
        self._sinks: dict[int, list[Sink]] = {}
        for sink in self.program.sinks:
            self._sinks.setdefault(sink.group, []).append(sink)

    def add_choice(self, letter: str, index: int, region: int = TOP_LEVEL) -> int:
        """A variable that is 0 or 1 in every plan."""
        variable = self.choices[letter, index, region] = self.linear.add_choice()
        return variable

    def add_way(self, choice: Choice, slot: int) -> int:
        """A variable that is 1 in plans in which that copy is under way in the slot, else 0."""
        variable = self.ways[(*choice, slot)] = self.linear.add_choice()
        return variable

    def sinks_of(self, group: int) -> list[Sink]:
        """The sinks of a group, in time order."""
        return self._sinks.get(group, [])

    def cheapest(self, level: int, start: int, end: int) -> float:
        """Smallest multiplicity of a copy that starts at `level` or in a slot of `[start, end)`.

        Slots of inner regions count: a copy may run inside a branch, at its lower multiplicity.
        """
        return min([self.program.multiplicity(level), *self._times[start:end]])

    def around(self, time: int) -> list[int]:
        """The regions that hold slot `time`, innermost first."""
        return self.outwards(self.program.level_at(time))

    def outwards(self, level: int) -> list[int]:
        """`level` and the regions around it, without the top level."""
        levels = []
        while level != TOP_LEVEL:
            levels.append(level)
            level = self.program.regions[level].parent
        return levels


def scaled(terms: Expression, factor: float) -> Expression:
    """`factor` times an expression."""
    return [(variable, factor * value) for variable, value in terms]

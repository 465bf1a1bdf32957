"""Which values may share one place: pairs that must, unless both contents are alive together.

XLA inserts copies before it schedules, so that pairs which must share never interfere. A module
from elsewhere need not be so kind: there a pair is only joined if nothing reads what the other
overwrites. Time is counted in points, three per event: its start, its reads, its writes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FOREVER = 2**62
"""End of what nothing in the program may overwrite: live-outs, inputs not donated, constants."""

BEFORE = -1
"""Point at which inputs and constants come to be."""

Span = tuple[int, int]
"""Points `[start, end)` during which a content must stand."""


def boundary(event: int) -> int:
    """The point just before an event: where loops take over what they carry."""
    return 3 * event


def write_point(event: int) -> int:
    """Where an event's results come to be; what it reads must stand until here."""
    return 3 * event + 2


@dataclass(frozen=True, slots=True)
class Loop:
    """What liveness needs of a region: `end` as a point, its parent, whether it has a back edge."""

    end: int
    parent: int
    repeats: bool


@dataclass(frozen=True, slots=True)
class Use:
    """A content must stand up to `point`, for an instruction of region `region`."""

    value: int
    point: int
    region: int


def live_spans(
    births: Sequence[tuple[int, int]], uses: Iterable[Use], regions: Sequence[Loop]
) -> list[Span]:
    """Span of every value, from its birth `(point, region)` to its last use.

    What is born outside a loop and used inside is needed again in the next iteration.
    """
    ends = [point + 1 for point, _ in births]
    for use in uses:
        end = _past_loops(use, births[use.value][1], regions)
        ends[use.value] = max(ends[use.value], end)
    return [(birth[0], end) for birth, end in zip(births, ends, strict=True)]


def _past_loops(use: Use, born: int, regions: Sequence[Loop]) -> int:
    around = {-1}
    while born >= 0:
        around.add(born)
        born = regions[born].parent
    end, region = use.point, use.region
    while region not in around:
        if regions[region].repeats:
            end = max(end, regions[region].end)
        region = regions[region].parent
    return end


class Places:
    """Values joined into places, each with the spans during which it is taken."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._leader = list(range(len(spans)))
        self._spans: list[list[Span]] = [[span] for span in spans]

    def leader(self, value: int) -> int:
        """The number that stands for the place of `value`."""
        while self._leader[value] != value:
            self._leader[value] = self._leader[self._leader[value]]
            value = self._leader[value]
        return value

    def join(self, a: int, b: int) -> bool:
        """Give both one place, unless they are alive together; whether they now share one."""
        small, large = sorted((self.leader(a), self.leader(b)), key=lambda v: len(self._spans[v]))
        if small == large:
            return True
        if any(self._is_taken(large, span) for span in self._spans[small]):
            return False
        for span in self._spans[small]:
            insort(self._spans[large], span)
        self._leader[small] = large
        self._spans[small] = []
        return True

    def _is_taken(self, place: int, span: Span) -> bool:
        spans = self._spans[place]
        later = bisect_left(spans, span)
        is_after = later > 0 and spans[later - 1][1] > span[0]
        return is_after or (later < len(spans) and spans[later][0] < span[1])

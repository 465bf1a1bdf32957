"""Which values share one place: in-place results, and pairs unless both are alive together.

In place are dynamic-update-slice, scatter, exchanges and permutations into a given array, and
fusions that end in one (of `HloDataflowAnalysis::GetInPlaceInputOutputPairs`). XLA inserts copies
before it schedules, so that pairs which must share never interfere. A module from elsewhere need
not be so kind: there a pair is only joined if nothing reads what the other overwrites. Time is
counted in points, three per event: its start, its reads, its writes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.program.hlo.collective import PERMUTE, has_destination
from engine.program.hlo.module import Scope
from engine.program.hlo.shape import is_array, leaves, size_bytes

CALLERS = ("fusion", "async-start", "call")
"""What a computation of its own says: a fusion, or work that another thread is to do."""
MAX_NESTING = 30
"""Fusions in fusions; the compiler nests two or three."""


@dataclass(frozen=True, slots=True)
class InPlace:
    """Result `index` (a tuple index, or `()`) updates `part` of `operand`: `written` bytes."""

    index: tuple[int, ...]
    operand: int
    written: int
    part: tuple[int, ...] = ()


def in_place_results(scope: Scope, computation: int, ins: Any, depth: int = 0) -> list[InPlace]:
    """Every result of `ins` (of `computation`) that must share an operand's place."""
    if ins.opcode == "dynamic-update-slice":
        return [InPlace((), 0, _size(scope.operand(computation, ins, 1)))]
    if ins.opcode in ("ragged-all-to-all", PERMUTE):
        return list(_sent(scope, computation, ins))
    if ins.opcode == "scatter":
        return list(_scattered(scope, computation, ins))
    if ins.opcode not in CALLERS or depth > MAX_NESTING:
        return []
    inner = ins.called_computation_ids[0]
    if inner not in scope.in_place:
        scope.in_place[inner] = _fused(scope, inner, depth)
    results: list[InPlace] = scope.in_place[inner]
    return results


def _fused(scope: Scope, inner: int, depth: int) -> list[InPlace]:
    """The results of a fused computation that update one of its parameters."""
    root = scope.root(inner)
    results: list[tuple[tuple[int, ...], Any]] = [((), root)]
    if root.opcode == "tuple":
        results = [((n,), scope.operand(inner, root, n)) for n in range(len(root.operand_ids))]
    updates = [(index, _updated(scope, inner, result, depth)) for index, result in results]
    return [InPlace(index, u.operand, u.written) for index, u in updates if u is not None]


def _sent(scope: Scope, computation: int, ins: Any) -> Iterator[InPlace]:
    """What is sent is written into the second operand, where that is a place for it."""
    if has_destination(scope, computation, ins):
        for index, leaf in leaves(scope.operand(computation, ins, 0).shape):
            yield InPlace(index, 1, size_bytes(leaf), index)


def _scattered(scope: Scope, computation: int, ins: Any) -> Iterator[InPlace]:
    """Operands are the updated arrays, the indices, then the updates."""
    count = (len(ins.operand_ids) - 1) // 2
    for number in range(count):
        written = _size(scope.operand(computation, ins, count + 1 + number))
        yield InPlace(() if count == 1 else (number,), number, written)


def _updated(scope: Scope, inner: int, result: Any, depth: int) -> InPlace | None:
    """The update that a fusion's result is, if it updates one of the fusion's parameters."""
    result = _unwrapped(scope, inner, result)
    index: tuple[int, ...] = ()
    if result.opcode == "get-tuple-element":
        index = (int(result.tuple_index),)
        result = _unwrapped(scope, inner, scope.operand(inner, result, 0))
    for update in in_place_results(scope, inner, result, depth + 1):
        base = _unwrapped(scope, inner, scope.operand(inner, result, update.operand))
        if update.index == index and base.opcode == "parameter":
            return InPlace((), int(base.parameter_number), update.written)
    return None


def _unwrapped(scope: Scope, computation: int, ins: Any) -> Any:
    """The instruction under any bitcasts."""
    for _ in range(len(scope.by_id[computation])):
        if ins.opcode != "bitcast":
            break
        ins = scope.operand(computation, ins, 0)
    return ins


def _size(ins: Any) -> int:
    return size_bytes(ins.shape) if is_array(ins.shape) else 0


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
class LiveRegion:
    """What liveness needs of a region: `[start, end)` as points, its parent, what it is.

    `conditional`: the first of the branches of which it is one; -1 for a loop.
    """

    start: int
    end: int
    parent: int
    conditional: int = -1

    @property
    def repeats(self) -> bool:
        """Whether it has a back edge."""
        return self.conditional < 0


@dataclass(frozen=True, slots=True)
class Use:
    """A content must stand up to `point`, for an instruction of region `region`."""

    value: int
    point: int
    region: int


_End = tuple[int, tuple[int, ...]]
"""Where a use ends; the branches that it is in and the value's birth is not, outermost first."""


def live_spans(
    births: Sequence[tuple[int, int]], uses: Iterable[Use], regions: Sequence[LiveRegion]
) -> list[list[Span]]:
    """Spans of every value, from its birth `(point, region)` to its last use.

    What is born outside a loop and used inside is needed again in the next iteration. What is last
    needed in the branches of a conditional is needed in each only up to the last use in that one.
    """
    ends: list[list[_End]] = [[(point + 1, ())] for point, _ in births]
    for use in uses:
        ends[use.value].append(_past_loops(use, births[use.value][1], regions))
    return [
        list(_spans(birth[0], some, 0, regions)) for birth, some in zip(births, ends, strict=True)
    ]


def _past_loops(use: Use, born: int, regions: Sequence[LiveRegion]) -> _End:
    around = {-1}
    while born >= 0:
        around.add(born)
        born = regions[born].parent
    end, region = use.point, use.region
    branches: list[int] = []
    while region not in around:
        if regions[region].repeats:
            end = max(end, regions[region].end)
            branches = []
        else:
            branches.append(region)
        region = regions[region].parent
    return end, tuple(reversed(branches))


def _spans(
    begin: int, ends: Sequence[_End], depth: int, regions: Sequence[LiveRegion]
) -> Iterator[Span]:
    """What is alive from `begin` on, in code at that depth of the branches of `ends`."""
    last, branches = max(ends, key=lambda end: (end[0], -len(end[1])))
    if len(branches) == depth:
        yield begin, last
        return
    conditional = regions[branches[depth]].conditional
    if begin < regions[conditional].start:
        yield begin, regions[conditional].start
    within: dict[int, list[_End]] = {}
    for end in ends:
        if len(end[1]) > depth and regions[end[1][depth]].conditional == conditional:
            within.setdefault(end[1][depth], []).append(end)
    for branch, some in sorted(within.items()):
        start = regions[branch].start
        yield from (s for s in _spans(start, some, depth + 1, regions) if s[0] < s[1])


class Places:
    """Values joined into places, each with the spans during which it is taken."""

    def __init__(self, spans: Sequence[Sequence[Span]]) -> None:
        self._leader = list(range(len(spans)))
        self._spans = [sorted(some) for some in spans]

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

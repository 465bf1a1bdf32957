"""Dataflow of a scheduled HLO module: one flat sequence of events on values in shared places.

Tuples, get-tuple-element, bitcasts and the like are forwards: they make no value. While bodies,
conditional branches and calls are inlined once. Asynchronous copies stay visible as events, and a
copy's destination knows the value whose content it holds (`origin`), so that the same flow serves
to build a program (copies resolved away) and to read the compiler's own plan (copies kept).
"""

from __future__ import annotations

from typing import Any

from engine.errors import ProgramFormatError
from engine.program.hlo.alias import LiveRegion, Places, Use, boundary, live_spans
from engine.program.hlo.module import Scope
from engine.program.hlo.record import CARRIED, COMPUTE, COPIED, HANDED_ON, OWN, Record
from engine.program.hlo.tree import Tree, at, flat
from engine.program.hlo.walk import Walker

IMPOSSIBLE = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    StopIteration,
)
"""Exceptions that our code raises for a module whose parts contradict one another."""


class Flow:
    """The flat sequence of events of a module. Raises ProgramFormatError.

    `keeps_copies`: a copy has a place of its own, as in the compiler's plan; else it shares that of
    its origin, as in a program.

    `values`, `events`, `regions` and `aliases` refer to one another by index
    (`engine.program.hlo.record`). `place_of`: a number per value, equal for values that share one
    place. `updates`: bytes written, per value that is an update in place. `refused`: what it would
    have updated, per value that cannot, since the old content is needed. `real`: events that are
    copies in flight, and work all the same. `outputs`: the live-outs.
    """

    def __init__(self, module: Any, where: str, keeps_copies: bool = True) -> None:
        self.where = where
        self.scope = Scope(module)
        order = {e.key: list(e.value.instruction_ids) for e in module.schedule.sequences}
        if module.entry_computation_id not in order:
            raise ProgramFormatError(
                f"{where}: the module is not scheduled; dump the compiled program"
                " (`compiled.as_text()`, whose first line says is_scheduled=true)"
            )
        record = Record(self.scope, where)
        self.values, self.events, self.regions = record.values, record.events, record.regions
        self.aliases = record.aliases
        self.real: set[int] = set()
        self._forwards = {HANDED_ON} if keeps_copies else {HANDED_ON, COPIED}
        try:
            root = self._walk(module, record, Walker(record, order))
            self._hand_on(record)
            self.place_of = self._share(record)
            self._settle(record)
        except IMPOSSIBLE as error:
            raise ProgramFormatError(f"{where}: inconsistent module ({error!r:.160})") from error
        self.outputs = {self.origin(v) for v in flat(root)}

    def origin(self, value: int) -> int:
        """The value whose content `value` holds, through any chain of copies and loops."""
        while self.values[value].origin != value:
            value = self.values[value].origin
        return value

    def _content(self, value: int) -> int:
        """The value in whose place the content of `value` is, in every iteration of a loop."""
        while self.values[value].kind in self._forwards:
            value = self.values[value].origin
        return value

    def _walk(self, module: Any, record: Record, walker: Walker) -> Tree:
        """Inline the entry computation; returns the tree of the program's results."""
        entry = module.entry_computation_id
        instructions = self.scope.by_id[entry].values()
        parameters = [i for i in instructions if i.opcode == "parameter"]
        parameters.sort(key=lambda i: i.parameter_number)
        inputs = [record.define(i.name, i.shape, -1, -1) for i in parameters]
        root = walker.walk(entry, inputs, -1)
        donated: set[int] = set()
        for entry in module.input_output_alias.entries:
            source = at(inputs[entry.parameter_number], entry.parameter_shape_index)
            donated.update(flat(source))
            record.pair(source, at(root, entry.output_shape_index))
        record.keep([v for v in flat(inputs) if v not in donated])
        record.keep(root)
        return root

    def _hand_on(self, record: Record) -> None:
        """Note what loops leave as it is, though they copy it anew in every iteration."""
        left = record.rounds
        while left:
            same = {c for b, c, a in left if self._content(a) in (c, self._content(b))}
            for carried in same:
                self.values[carried].kind = HANDED_ON
            left = [one for one in left if one[1] not in same] if same else []

    def _share(self, record: Record) -> list[int]:
        """Join the alias pairs that do not interfere; settle where carried values come from.

        A copy that enters a loop, or leaves a branch, for another place than its origin's is real.
        """
        births = [(v.point, v.region) for v in self.values]
        regions = [
            LiveRegion(boundary(r.start), boundary(r.end), r.parent, r.conditional)
            for r in self.regions
        ]
        while True:
            uses = [Use(self._content(u.value), u.point, u.region) for u in record.uses]
            places = Places(live_spans(births, uses, regions))
            sources: dict[int, int] = {}
            refused: list[int] = []
            for a, b in self.aliases:
                if not places.join(self._content(a), self._content(b)):
                    refused += [a, b] if any(self.values[v].is_merged for v in (a, b)) else []
                elif a < b:
                    sources.setdefault(b, a)
            if not self._keep_real(refused):
                break
        for number, value in enumerate(self.values):
            if value.kind == CARRIED:
                value.origin = sources.get(number, number)
                value.kind = CARRIED if number in sources else OWN
        return [places.leader(self._content(v)) for v in range(len(self.values))]

    def _keep_real(self, values: list[int]) -> bool:
        """Keep as work the copies whose content these values hold; whether there are any."""
        before = len(self.real)
        for value in values:
            while self.values[value].kind == HANDED_ON:
                value = self.values[value].origin
            known = self.values[value]
            if known.kind in self._forwards:
                known.origin, known.kind = value, OWN
                self.events[known.event].kind = COMPUTE
                self.real.add(known.event)
        return len(self.real) > before

    def _settle(self, record: Record) -> None:
        """Read carried values as what enters the loop, and drop updates that are not in place."""
        for event in self.events:
            event.reads = [(n, self._entering(v), space) for n, v, space in event.reads]
        self.updates: dict[int, int] = {}
        self.refused: dict[int, int] = {}
        for target, (source, written) in record.updates.items():
            if self.place_of[source] == self.place_of[target]:
                self.updates[target] = written
            else:
                self.refused[target] = self._entering(source)

    def _entering(self, value: int) -> int:
        while self.values[value].kind in (CARRIED, HANDED_ON):
            value = self.values[value].origin
        return value

"""A line on the browser's map: a plan sent whole now and then, and the changes since."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from engine.game.notes import notes_of
from engine.game.reference.blocks import Block
from engine.game.reference.game import ReferenceGame
from engine.plan.model import Copy, Plan, Stay
from engine.plan.simulate import Simulation, simulate
from engine.program.io import content_hash
from engine.program.model import Program
from ui.components.memory_map.board import copy_rows, stall_before_s
from ui.components.memory_map.schema import PICO

Row = tuple[int, ...]

_LIMIT = 1000
"""Characters of changes sent with a step; beyond that the whole line is sent once more."""
_KEPT = 8
"""Versions that both sides keep, besides the whole."""


@dataclass(frozen=True)
class Picture:
    """A line as the map shows it, in rows that can be compared.

    `stays`, `copies`, `service`: rows of the tables in `schema.py`, times of the service in
    picoseconds. `slots`: what slow memory adds to the instruction, and the stall before it, in
    picoseconds.
    """

    plan: Plan
    actions: tuple[int, ...]
    stays: tuple[Row, ...]
    copies: tuple[Row, ...]
    service: tuple[Row, ...]
    slots: tuple[Row, ...]


def picture(game: ReferenceGame) -> Picture:
    """The line so far; slow memory serves everything after it."""
    plan = plan_so_far(game)
    simulation = simulate(game.program, plan)
    return Picture(
        plan=plan,
        actions=tuple(game.actions),
        stays=tuple(stay_rows(game)),
        copies=tuple(copy_rows(game.program, plan)),
        service=_service_rows(plan, simulation),
        slots=_slot_rows(game.program, simulation),
    )


class Draft:
    """A line as the browser holds it: sent whole once, under `identity`, then as changes.

    The browser keeps the versions that it has put together, as this does, and says which it holds;
    so a message that was lost or overtaken does no harm.
    """

    def __init__(self, whole: Picture) -> None:
        """`whole` is version 0."""
        self.identity = f"line-{uuid4().hex[:12]}"
        self.whole = whole
        self._versions = {0: whole}
        self._last = (whole, 0, 0)

    def message(self, now: Picture, held: int) -> dict[str, Any] | None:
        """The message that turns version `held` into `now`; None if it is too long for a step.

        `on` and `number`: the versions before and after. Per table the rows gone (their numbers)
        and the rows new; slots as in `Picture`, with their numbers; changed actions; the tip.
        """
        on = held if held in self._versions else 0
        changes = _changes(self._versions[on], now)
        if len(json.dumps(changes)) > _LIMIT:
            return None
        last, last_on, number = self._last
        if last is not now or on not in (last_on, number):
            number = max(self._versions) + 1
            # In the order in which the browser puts them together, which the next numbers refer to.
            self._versions[number] = _changed_by(self._versions[on], changes, now)
            self._last = (now, on, number)
            for old in sorted(self._versions)[1:-_KEPT]:
                del self._versions[old]
        return {"on": on, "number": number, **changes}


def drawn(draft: Draft | None, now: Picture, held: int) -> tuple[Draft, dict[str, Any]]:
    """The draft, and the message that turns its version `held` into `now`.

    `held`: the version that the browser has. Where there is no draft yet, or the changes are too
    many for a message, the draft is a new one, to be sent whole first.
    """
    message = draft.message(now, held) if draft else None
    if draft is None or message is None:
        draft = Draft(now)
        message = draft.message(now, 0)
    assert message is not None, "a draft has no changes against itself"
    return draft, message


def _changes(known: Picture, now: Picture) -> dict[str, Any]:
    return {
        "stays": _difference(known.stays, now.stays),
        "copies": _difference(known.copies, now.copies),
        "service": _difference(known.service, now.service),
        "slots": [
            [slot, *new]
            for slot, (old, new) in enumerate(zip(known.slots, now.slots, strict=True))
            if new != old
        ],
        "actions": _changed(known.actions, now.actions),
        "tip": len(now.actions),
    }


def _changed_by(known: Picture, changes: dict[str, Any], now: Picture) -> Picture:
    def rows(name: str) -> tuple[Row, ...]:
        gone, new = changes[name]
        left = set(gone)
        return (*(r for i, r in enumerate(getattr(known, name)) if i not in left), *new)

    return replace(now, stays=rows("stays"), copies=rows("copies"), service=rows("service"))


def _difference(held: Sequence[Row], now: Sequence[Row]) -> list[list[Any]]:
    """Numbers of the rows that went, and the rows that came; equal rows are counted."""
    wanted, gone = Counter(now), []
    for number, row in enumerate(held):
        if wanted[row]:
            wanted[row] -= 1
        else:
            gone.append(number)
    return [gone, list(wanted.elements())]


def _changed(held: Sequence[int], now: Sequence[int]) -> list[list[int]]:
    padded = [*held, *[-1] * (len(now) - len(held))]
    return [[m, a] for m, (a, old) in enumerate(zip(now, padded, strict=False)) if a != old]


def stay_rows(game: ReferenceGame) -> list[Row]:
    """Blocks of the game so far; live ones end where they are certain to stand."""
    arrivals = {(c.group, c.start): c.deadline for c in game.records.copies if c.is_prefetch}
    return [
        (b.group, b.offset, b.start, _end(b), arrivals.get((b.group, b.start), -1))
        for b in [*game.records.stays, *game.state.live.values()]
    ]


def _end(block: Block) -> int:
    return block.busy + 1 if block.is_live else block.end


def _service_rows(plan: Plan, simulation: Simulation) -> tuple[Row, ...]:
    timeline = simulation.timeline
    return tuple(
        (int(plan.copies[copy].is_prefetch), round(start / PICO), round(end / PICO))
        for copy, start, end in zip(
            timeline.segment_copy.tolist(),
            timeline.segment_start_s.tolist(),
            timeline.segment_end_s.tolist(),
            strict=True,
        )
    )


def _slot_rows(program: Program, simulation: Simulation) -> tuple[Row, ...]:
    slow = [
        round(max(0.0, d - least_s) / PICO)
        for d, least_s in zip(simulation.timeline.duration_s.tolist(), program.least_s, strict=True)
    ]
    stall = [round(s / PICO) for s in stall_before_s(simulation).tolist()]
    return tuple(zip(slow, stall, strict=True))


def plan_so_far(game: ReferenceGame) -> Plan:
    """The moves played, and slow memory for everything after: a plan to look at, not to check."""
    program: Program = game.program
    granule = program.hardware.alignment
    is_fast = [False] * len(program.accesses)
    for touch in game.records.fast_touches:
        for access in program.touches[touch].accesses:
            is_fast[access] = True
    return Plan(
        program_hash=content_hash(program),
        solver="you",
        is_fast=tuple(is_fast),
        stays=tuple(Stay(g, o * granule, start, end) for g, o, start, end, _ in stay_rows(game)),
        copies=tuple(
            Copy(c.group, c.is_prefetch, c.start, c.deadline) for c in game.records.copies
        ),
        notes=notes_of(game),
    )

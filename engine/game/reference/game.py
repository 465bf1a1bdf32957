"""The mallocGame in plain Python: clear, exact, and written apart from the JAX rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from engine.game.moves import ACTION_NAMES, DROP, KINDS, NO_COPY, NUM_ACTIONS, Move, Rules
from engine.game.quantise import TICKS
from engine.game.reference.blocks import (
    FIRST_HORIZON,
    Block,
    Booking,
    Effect,
    Facts,
    Reason,
    Refusal,
    State,
)
from engine.game.reference.effects import effect_of, is_same_place, return_copy
from engine.plan.model import Copy, Plan, Stay
from engine.program.io import content_hash
from engine.program.model import Program


@dataclass
class Records:
    """What a game leaves behind: blocks as they ended, copies as booked, touches served fast."""

    stays: list[Block] = field(default_factory=list)
    copies: list[Booking] = field(default_factory=list)
    fast_touches: list[int] = field(default_factory=list)

    def copy(self) -> Records:
        """A copy that changes by itself."""
        return Records(list(self.stays), list(self.copies), list(self.fast_touches))


def plan_from_records(
    program: Program, records: Records, solver: str, notes: Mapping[str, Any]
) -> Plan:
    """The plan: stays sorted by start, copies in booking order, one flag per access."""
    is_fast = [False] * len(program.accesses)
    for index in records.fast_touches:
        for access in program.touches[index].accesses:
            is_fast[access] = True
    granule = program.hardware.alignment
    stays = [Stay(b.group, b.offset * granule, b.start, b.end) for b in records.stays]
    return Plan(
        program_hash=content_hash(program),
        solver=solver,
        is_fast=tuple(is_fast),
        stays=tuple(sorted(stays, key=lambda s: (s.start, s.offset, s.end))),
        copies=tuple(Copy(b.group, b.is_prefetch, b.start, b.deadline) for b in records.copies),
        notes=dict(notes),
    )


_DEFAULT_RULES = Rules()


class ReferenceGame:
    """One game in progress; its attributes may be read, never written, from outside.

    `state`: what the rules read, see `State`. `actions`: one per move played. `forced`: moves that
    Drop-backup has forced to Drop. `records`: what the plan is made of. `return_stall_ticks`: of
    kept inputs that come back after the last move.
    """

    def __init__(
        self,
        program: Program,
        rules: Rules = _DEFAULT_RULES,
        forced: frozenset[int] = frozenset(),
    ) -> None:
        """Set up the first position of `program`; at the moves `forced` only Drop is legal."""
        self.forced = forced
        self._start(Facts(program, rules))

    def reset(self) -> None:
        """Go back to the first position; `forced` stays as it is."""
        self._start(self.facts)

    def _start(self, facts: Facts) -> None:
        self.state = State.first(facts)
        self.move_index = 0
        self.actions: list[int] = []
        self.records = Records()
        self.total_reward = 0.0
        self.return_stall_ticks = 0
        self._slow_ticks = 0
        self._slow_draw = 0
        self._begin_slot()
        self._effects: dict[int, Effect] = {}

    @property
    def facts(self) -> Facts:
        """What never changes: program, rules, moves and numbers."""
        return self.state.facts

    @property
    def program(self) -> Program:
        """The program that is played."""
        return self.facts.program

    @property
    def rules(self) -> Rules:
        """The options of this game."""
        return self.facts.rules

    @property
    def moves(self) -> tuple[Move, ...]:
        """All moves of the game in order."""
        return self.facts.moves

    @property
    def num_moves(self) -> int:
        """How many moves the game has."""
        return len(self.facts.moves)

    @property
    def is_over(self) -> bool:
        """Whether all moves are played."""
        return self.move_index >= self.num_moves

    @property
    def is_dead_end(self) -> bool:
        """Whether no action is legal although moves are left (with strict sinks only)."""
        return not self.is_over and not any(self.legal())

    @property
    def move(self) -> Move:
        """The move to be decided. Raises IndexError when the game is over."""
        return self.facts.moves[self.move_index]

    def effect(self, action: int) -> Effect:
        """What `action` would do now, or its refusal. Raises IndexError when the game is over."""
        effect = self._effects.get(action)
        if effect is None:
            if action != DROP and self.move_index in self.forced:
                effect = Effect(action, Refusal(Reason.FORCED))
            else:
                effect = self._other_than_its_kind(action)
            self._effects[action] = effect
        return effect

    def _other_than_its_kind(self, action: int) -> Effect:
        """The effect; refused if the action is at the other end and places nothing otherwise."""
        effect, kind = effect_of(self.state, self.move, action), KINDS[action]
        if action != kind and is_same_place(self.effect(kind), effect):
            return Effect(action, Refusal(Reason.SAME_PLACE))
        return effect

    def legal(self) -> tuple[bool, ...]:
        """Whether each action is legal now; all False when the game is over."""
        if self.is_over:
            return (False,) * NUM_ACTIONS
        return tuple(self.effect(action).is_legal for action in range(NUM_ACTIONS))

    def legal_actions(self) -> list[int]:
        """The actions that are legal now, in ascending order; none when the game is over."""
        return [action for action, is_legal in enumerate(self.legal()) if is_legal]

    def step(self, action: int) -> float:
        """Play `action`; returns its reward. Raises ValueError if illegal or the game is over."""
        if self.is_over:
            raise ValueError("the game is over")
        effect = self.effect(action)
        if not effect.is_legal:
            raise ValueError(f"{ACTION_NAMES[action]} is illegal at move {self.move_index}")
        move = self.move
        self._book(effect.bookings)
        self._end_blocks(effect)
        if effect.block is not None:
            self._place(effect.block, effect.is_new)
        if not move.is_sink:
            self._serve(move, action)
        self._retire(move)
        self._advance(move)
        self.actions.append(action)
        if self.is_over:
            self.return_stall_ticks = self._return_kept()
        stall_ticks = effect.stall_ticks + self.return_stall_ticks
        reward = effect.saving_s / self.program.all_slow_s - stall_ticks / TICKS
        self.total_reward += reward
        return reward

    def _end_blocks(self, effect: Effect) -> None:
        for block in effect.displaced:
            self._end(block)
        if effect.dropped is not None:
            self._end(effect.dropped)

    def _end(self, block: Block) -> None:
        state, group = self.state, block.group
        del state.live[group]
        state.ended.append(block)
        # A later copy of the group must not reach back into this stay.
        state.valid_from[group] = max(state.valid_from[group], block.end)
        self.records.stays.append(block)

    def _book(self, bookings: Iterable[Booking]) -> None:
        for one in bookings:
            self.state.ledger.book(one.run, one.deadline, is_prefetch=one.is_prefetch)
            self.records.copies.append(one)
            if not one.is_prefetch:
                self.state.valid_from[one.group] = one.deadline

    def _place(self, block: Block, is_new: bool) -> None:
        state = self.state
        if is_new and len(state.live) + len(state.ended) >= self.facts.max_blocks:
            oldest = min((b for b in state.ended if not b.is_kept), key=lambda b: b.end)
            state.ended.remove(oldest)
            state.horizon = max(state.horizon, oldest.end)
        if is_new and block.start == FIRST_HORIZON:
            state.num_stayed_before += 1
        state.live[block.group] = block

    def _serve(self, move: Move, action: int) -> None:
        if action != DROP:
            self.records.fast_touches.append(move.touch)
            self.state.spare_s -= move.saving_s
            self.state.spare_ticks -= move.saving_ticks
            return
        self._slow_ticks += move.saving_ticks
        self._slow_draw += move.draw_ticks
        if move.writes:
            self.state.valid_from[move.group] = move.end

    def _retire(self, move: Move) -> None:
        """End the group's block if no later move can use it."""
        block = self.state.live.get(move.group)
        if block is None or block.is_kept or move.next_time < block.level_end:
            return
        if move.is_last or not block.is_dirty:
            self._end(replace(block, end=block.busy + 1))

    def _advance(self, move: Move) -> None:
        """Go to the next move; close the ledger of the slot if it is the last one there."""
        self.move_index += 1
        self._effects = {}
        if self.is_over or self.move.time > move.time:
            if self._slow_ticks or self._slow_draw:
                self.state.ledger.left[move.time] = self.facts.numbers.idle(
                    move.time, self._slow_ticks, self._slow_draw
                )
            self._slow_ticks = self._slow_draw = 0
            self._begin_slot()

    def _begin_slot(self) -> None:
        state, numbers = self.state, self.facts.numbers
        state.spare_s, state.spare_ticks = 0.0, 0
        if not self.is_over and self.move.time < self.program.num_slots:
            state.spare_s = numbers.spare_s[self.move.time]
            state.spare_ticks = numbers.spare_ticks[self.move.time]

    def _return_kept(self) -> int:
        """Bring back the inputs that were kept and gave up their places; returns the stall."""
        end = self.program.num_slots
        for block in list(self.state.live.values()):
            self._end(replace(block, end=end))
        stall = 0
        for block in sorted((b for b in self.state.ended if b.is_kept), key=lambda b: b.offset):
            if block.end < end:
                booking, stay = return_copy(self.state, block)
                self._book([booking])
                self.records.stays.append(stay)
                stall += booking.stall_ticks
        return stall

    def clone(self) -> ReferenceGame:
        """An independent copy that shares what never changes."""
        twin = copy(self)
        twin.state = self.state.copy()
        twin.actions = list(self.actions)
        twin.records = self.records.copy()
        twin._effects = dict(self._effects)
        return twin

    def play_forced(self) -> float:
        """Play all moves that have one legal action; returns their rewards' sum."""
        reward = 0.0
        while not self.is_over:
            legal = self.legal_actions()
            if len(legal) != 1:
                break
            reward += self.step(legal[0])
        return reward

    def nearest(self, action: int) -> int:
        """The action if legal, else its kind, NoCopy or Drop, the first of them that is."""
        order = (action, KINDS[action], NO_COPY)
        return next((a for a in order if self.effect(a).is_legal), DROP)

    def plan(self, solver: str, notes: Mapping[str, Any] | None = None) -> Plan:
        """The plan that was played. Raises ValueError unless the game is over."""
        if not self.is_over:
            raise ValueError(f"{self.num_moves - self.move_index} moves are not played yet")
        return plan_from_records(self.program, self.records, solver, notes or {})

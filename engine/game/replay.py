"""Any plan as moves of the game: what the player would do who wants this plan."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from engine.game.moves import (
    COPY,
    COPY_OTHER,
    DROP,
    KINDS,
    NO_COPY,
    NO_COPY_OTHER,
    OTHER_END,
    PLACE_RULES,
    Move,
    Rules,
)
from engine.game.quantise import TICKS
from engine.game.reference.blocks import Block
from engine.game.reference.game import ReferenceGame
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.plan.simulate import simulate
from engine.program.model import Program

ENOUGH = 0.995
"""Share of the plan's saving at which no further place rule is tried."""


def replay(
    program: Program, plan: Plan, rules: Rules | None = None, look_ahead: int = 0
) -> ReferenceGame:
    """Play the game as `plan` would; its `actions` are the moves, its `plan` the result.

    Copy times are the game's own and of places it offers two, so an action that the plan wants may
    be illegal or cost more than it saves; then the nearest other one is played. Of the two places
    the one nearer to the plan's is taken, or always that of the place rule, whichever ends better.
    Without `rules` every place rule is tried. If no game reaches the plan's saving and there are
    `look_ahead` moves to see, they are played once more, and before a decision each of the two
    places, and Drop in place of a Copy, is tried for so many moves. The best game is returned.
    """
    judged = simulate(program, plan)
    enough = ENOUGH * (judged.all_slow_s - judged.latency_s) / max(program.all_slow_s, 1e-300)
    best: ReferenceGame | None = None
    places = PLACE_RULES if rules is None else (rules.place,)
    wishes = _Wishes(program, plan)
    for choice in _choices(wishes, look_ahead):
        for place in places:
            start = ReferenceGame(program, replace(rules or Rules(), place=place))
            game = _played(start, choice)
            if best is None or game.total_reward > best.total_reward:
                best = game
            if best.total_reward >= enough:
                return best
    assert best is not None
    return best


Choice = Callable[[ReferenceGame], int]


def _choices(wishes: _Wishes, look_ahead: int) -> list[Choice]:
    """Ways to follow the wishes, the quickest first."""

    def by_rule(game: ReferenceGame) -> int:
        return _choose(game, wishes)

    def nearer(game: ReferenceGame) -> int:
        return _nearer_end(game, wishes, _choose(game, wishes))

    def foreseen(game: ReferenceGame) -> int:
        return _foreseen(game, nearer, look_ahead)

    return [nearer, by_rule, foreseen] if look_ahead else [nearer, by_rule]


def _played(game: ReferenceGame, choice: Choice, num_moves: int | None = None) -> ReferenceGame:
    end = game.num_moves if num_moves is None else min(game.num_moves, game.move_index + num_moves)
    while game.move_index < end:
        game.step(choice(game))
    return game


def _foreseen(game: ReferenceGame, choice: Choice, look_ahead: int) -> int:
    """Of the choice's action, its other end, and Drop for a Copy, what earns most by then."""
    first = choice(game)
    kinds = (COPY, DROP) if KINDS[first] == COPY else (KINDS[first],)
    others = (a for a, is_legal in enumerate(game.legal()) if is_legal and KINDS[a] in kinds)
    wanted = [first, *(action for action in others if action != first)]
    if len(wanted) == 1:
        return first

    def earned(action: int) -> float:
        after = game.clone()
        after.step(action)
        return _played(after, choice, look_ahead).total_reward

    # A hair more is the rounding of a sum: the first one is the nearest to the plan.
    return max(wanted, key=lambda action: round(earned(action), 9))


def _nearer_end(game: ReferenceGame, wishes: _Wishes, action: int) -> int:
    """The action, or the same at the other end, if that stalls no longer and is nearer the plan."""
    other = OTHER_END.get(action)
    if other is None or not game.legal()[other]:
        return action
    here, there = game.placement(action), game.placement(other)
    offset = wishes.offset(game.move)
    if offset is None or here.block is None or there.block is None:
        return action
    wanted = offset // game.facts.numbers.granule
    is_nearer = abs(there.block.offset - wanted) < abs(here.block.offset - wanted)
    return other if is_nearer and there.stall_ticks <= here.stall_ticks else action


def _choose(game: ReferenceGame, wishes: _Wishes) -> int:
    """The wanted action, else what keeps the group where the plan has it, else Drop.

    A Copy that costs more than it saves is not played, and NoCopy never where it would mean a
    cross-program prefetch that the plan has not.
    """
    move, legal = game.move, game.legal()
    wanted = wishes.action(move, game.live.get(move.group))
    stay = game.placement(NO_COPY).block
    is_kept = stay is not None and stay.start == BEFORE_START and move.group not in game.live
    may_stay = legal[NO_COPY] and (not is_kept or wishes.is_kept(move.group))
    if wanted == DROP and legal[DROP]:
        return DROP
    if wanted == NO_COPY and may_stay:
        return NO_COPY
    if wanted != DROP and legal[COPY] and immediate_reward(game, COPY) >= 0:
        return COPY
    if move.group in game.live and may_stay:
        return NO_COPY
    return DROP if legal[DROP] else NO_COPY


def immediate_reward(game: ReferenceGame, action: int) -> float:
    """What a legal action would earn at once: its saving less its stall, over `all_slow_s`."""
    effect = game.placement(action)
    return effect.saving_s / game.program.all_slow_s - effect.stall_ticks / TICKS


def best_action(game: ReferenceGame) -> int:
    """The legal action that earns most at once; ties go to NoCopy, then Copy, Drop."""
    legal = game.legal()
    order = (NO_COPY, COPY, DROP, NO_COPY_OTHER, COPY_OTHER)
    actions = [a for a in order if legal[a]]
    return max(actions, key=lambda a: immediate_reward(game, a))


class _Wishes:
    """What a plan says about each move."""

    def __init__(self, program: Program, plan: Plan) -> None:
        self._program = program
        self._is_fast = plan.is_fast
        self._stays: dict[int, list[Stay]] = defaultdict(list)
        self._prefetches: dict[int, list[Copy]] = defaultdict(list)
        for stay in sorted(plan.stays, key=lambda s: s.start):
            self._stays[stay.group].append(stay)
        for copy in plan.copies:
            if copy.is_prefetch:
                self._prefetches[copy.group].append(copy)

    def is_kept(self, group: int) -> bool:
        """Whether the plan has a cross-program prefetch of the group."""
        return any(stay.start == BEFORE_START for stay in self._stays[group])

    def offset(self, move: Move) -> int | None:
        """Where the plan has the group at a move, in bytes; None if it is not there."""
        stays = self._stays[move.group]
        number = bisect_right(stays, move.time, key=lambda s: s.start) - 1
        return stays[number].offset if number >= 0 else None

    def action(self, move: Move, block: Block | None) -> int:
        """Drop, NoCopy, or Copy where a prefetch serves the first touch of the plan's stay.

        `block`: the group's block in the game. A prefetch in front of the loop is a NoCopy.
        """
        if move.is_sink:
            return DROP
        touch = self._program.touches[move.touch]
        if not self._is_fast[touch.accesses[0]]:
            return DROP
        stays = self._stays[move.group]
        number = bisect_right(stays, move.time, key=lambda s: s.start) - 1
        if number < 0 or not move.reads:
            return NO_COPY
        return COPY if self._is_copied(stays[number], move, block) else NO_COPY

    def _is_copied(self, stay: Stay, move: Move, block: Block | None) -> bool:
        if block is not None and block.busy >= stay.start:
            return False
        since = -1 if move.hoist is None else move.hoist.start
        return any(
            stay.start <= copy.start and since < copy.deadline <= move.time
            for copy in self._prefetches[stay.group]
        )

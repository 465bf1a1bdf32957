"""Any plan as moves of the game: the actions that it wants, and their replay."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from itertools import product

from engine.game.moves import (
    COPY,
    COPY_OTHER,
    DROP,
    NO_COPY,
    NO_COPY_OTHER,
    OTHER_END,
    PLACE_RULES,
    Move,
    Rules,
)
from engine.game.notes import noted_game
from engine.game.quantise import TICKS, quantise
from engine.game.reference.blocks import Block
from engine.game.reference.game import ReferenceGame
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.plan.simulate import simulate
from engine.program.model import Program

Key = tuple[int, int]
"""A stay of the plan: its group, and its number among the group's stays, by time."""


class Desired:
    """What a plan says about each move."""

    def __init__(self, program: Program, plan: Plan) -> None:
        self.program = program
        self.plan = plan
        self._stays: dict[int, list[Stay]] = defaultdict(list)
        self._prefetches: dict[int, list[Copy]] = defaultdict(list)
        for stay in sorted(plan.stays, key=lambda s: s.start):
            self._stays[stay.group].append(stay)
        for copy in plan.copies:
            if copy.is_prefetch:
                self._prefetches[copy.group].append(copy)

    def places(self, granule: int) -> tuple[tuple[int, int, int], ...]:
        """Group, first slot and offset in granules of the plan's stays (`Rules.planned`)."""
        return tuple(sorted((s.group, s.start, s.offset // granule) for s in self.plan.stays))

    def key(self, group: int, time: int) -> Key:
        """The plan's stay of a group that has begun last at a time; number -1 if none has."""
        return group, bisect_right(self._stays[group], time, key=lambda s: s.start) - 1

    def is_kept(self, group: int) -> bool:
        """Whether the plan has a cross-program prefetch of the group."""
        return any(stay.start == BEFORE_START for stay in self._stays[group])

    def stay(self, move: Move) -> Stay | None:
        """The plan's stay of the group at a move; None if it has not been there."""
        group, number = self.key(move.group, move.time)
        return self._stays[group][number] if number >= 0 else None

    def action(self, move: Move, block: Block | None) -> int:
        """Drop, NoCopy, or Copy where a prefetch serves the first touch of the plan's stay.

        `block`: the group's block in the game. A prefetch in front of the loop is a NoCopy.
        """
        if move.is_sink:
            return DROP
        touch = self.program.touches[move.touch]
        if not self.plan.is_fast[touch.accesses[0]]:
            return DROP
        stay = self.stay(move)
        if stay is None or not move.reads:
            return NO_COPY
        return COPY if self._is_copied(stay, move, block) else NO_COPY

    def _is_copied(self, stay: Stay, move: Move, block: Block | None) -> bool:
        if block is not None and block.busy >= stay.start:
            return False
        since = -1 if move.hoist is None else move.hoist.start
        return any(
            stay.start <= copy.start and since < copy.deadline <= move.time
            for copy in self._prefetches[stay.group]
        )


_TOLD_EVERY = 50
"""Moves between two reports of how much of a game has been played."""

ENOUGH = 0.98
"""Share of the plan's saving that a game in its places has to keep, else others are tried."""

Choice = Callable[[ReferenceGame, Desired], int]


def replay(
    program: Program,
    plan: Plan,
    rules: Rules | None = None,
    progress: Callable[[float], object] = lambda share: None,
) -> ReferenceGame:
    """Play the game as `plan` would; its `actions` are the moves, its `plan` the result.

    Without `rules`, in the plan's own places; where more than a little of its saving is lost there,
    the best of that game and those under each place rule. Under rules, which offer two places, the
    one nearer to the plan's is taken, or always that of the place rule, whichever ends better. Copy
    times are the game's own, so an action that the plan wants may be illegal or cost more than it
    saves; then the nearest other one is played. `progress`: called with the share that is played of
    the first game, then of all others together.
    """
    desired, games = Desired(program, plan), list[ReferenceGame]()
    under = [rules] if rules else [Rules(place=place) for place in PLACE_RULES]
    if rules is None:
        planned = Rules(planned=desired.places(quantise(program).granule))
        games.append(_played(program, planned, desired, _choose, progress))
        saved_s = program.all_slow_s - simulate(program, plan).latency_s
        if games[0].total_reward * program.all_slow_s >= ENOUGH * saved_s:
            return games[0]
    ways = list(product(under, _CHOICES))
    for number, (each, choose) in enumerate(ways):

        def tell(share: float, number: int = number) -> None:
            progress((number + share) / len(ways))

        games.append(_played(program, each, desired, choose, tell))
    return max(games, key=lambda game: game.total_reward)


def follow_plan(program: Program, rules: Rules, plan: Plan) -> ReferenceGame:
    """The game that follows a plan under some rules, once."""
    return _played(program, rules, Desired(program, plan), _choose)


def game_of(
    program: Program, plan: Plan, progress: Callable[[float], object] = lambda share: None
) -> ReferenceGame:
    """The game of a plan that notes its own moves (`engine.game.notes`), else its replay."""
    return noted_game(program, plan) or replay(program, plan, progress=progress)


def _played(
    program: Program,
    rules: Rules,
    desired: Desired,
    choose: Choice,
    progress: Callable[[float], object] = lambda share: None,
) -> ReferenceGame:
    """A game under these rules; `progress` is called now and then with the share of it."""
    game = ReferenceGame(program, rules)
    while not game.is_over:
        if game.move_index % _TOLD_EVERY == 0:
            progress(game.move_index / game.num_moves)
        game.step(choose(game, desired))
    return game


def _nearer_end(game: ReferenceGame, desired: Desired) -> int:
    """The action, or the same at the other end, if that stalls no longer and is nearer the plan."""
    action = _choose(game, desired)
    other = OTHER_END.get(action)
    if other is None or not game.legal()[other]:
        return action
    here, there = game.effect(action), game.effect(other)
    stay = desired.stay(game.move)
    if stay is None or here.block is None or there.block is None:
        return action
    wanted = stay.offset // game.facts.numbers.granule
    is_nearer = abs(there.block.offset - wanted) < abs(here.block.offset - wanted)
    return other if is_nearer and there.stall_ticks <= here.stall_ticks else action


def _choose(game: ReferenceGame, desired: Desired) -> int:
    """The wanted action, else what keeps the group where the plan has it, else Drop.

    A Copy that costs more than it saves is not played, and NoCopy never where it would mean a
    cross-program prefetch that the plan has not.
    """
    move, legal = game.move, game.legal()
    wanted = desired.action(move, game.state.live.get(move.group))
    stay = game.effect(NO_COPY).block
    is_kept = stay is not None and stay.start == BEFORE_START and move.group not in game.state.live
    may_stay = legal[NO_COPY] and (not is_kept or desired.is_kept(move.group))
    if wanted == DROP and legal[DROP]:
        return DROP
    if wanted == NO_COPY and may_stay:
        return NO_COPY
    if wanted == COPY and legal[COPY] and immediate_reward(game, COPY) >= 0:
        return COPY
    if move.group in game.state.live and may_stay:
        return NO_COPY
    if wanted != DROP and legal[COPY] and immediate_reward(game, COPY) >= 0:
        return COPY
    return DROP if legal[DROP] else NO_COPY


_CHOICES: tuple[Choice, ...] = (_nearer_end, _choose)


def immediate_reward(game: ReferenceGame, action: int) -> float:
    """What a legal action would earn at once: its saving less its stall, over `all_slow_s`."""
    effect = game.effect(action)
    return effect.saving_s / game.program.all_slow_s - effect.stall_ticks / TICKS


def best_action(game: ReferenceGame) -> int:
    """The legal action that earns most at once; ties go to NoCopy, then Copy, Drop."""
    legal = game.legal()
    order = (NO_COPY, COPY, DROP, NO_COPY_OTHER, COPY_OTHER)
    actions = [a for a in order if legal[a]]
    return max(actions, key=lambda a: immediate_reward(game, a))

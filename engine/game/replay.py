"""Any plan as moves of the game: the desired actions, their replay, and repairs of its losses."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

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
from engine.game.notes import noted_game
from engine.game.quantise import TICKS, quantise
from engine.game.reference.blocks import Block
from engine.game.reference.game import ReferenceGame
from engine.plan.model import BEFORE_START, Copy, Plan, Stay
from engine.plan.simulate import simulate
from engine.program.model import Program

Key = tuple[int, int]
"""A stay of the plan: its group, and its number among the group's stays, by time."""


class Relaxation(Enum):
    """What is done about a stay that bars others: it goes to the other end, or out."""

    OTHER_END = "other end"
    DROPPED = "dropped"


class Desired:
    """What a plan says about each move, relaxed for some of its stays."""

    def __init__(
        self, program: Program, plan: Plan, relaxations: Mapping[Key, Relaxation] | None = None
    ) -> None:
        self.program = program
        self.plan = plan
        self.relaxations = dict(relaxations or {})
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

    def relaxed(self, changes: Iterable[tuple[Key, Relaxation | None]]) -> Desired:
        """A copy with these relaxations added; None removes the relaxation of a stay."""
        relaxations: dict[Key, Relaxation | None] = {**self.relaxations, **dict(changes)}
        kept = {
            key: relaxation for key, relaxation in relaxations.items() if relaxation is not None
        }
        return Desired(self.program, self.plan, kept)

    def key(self, group: int, time: int) -> Key:
        """The plan's stay of a group that has begun last at a time; number -1 if none has."""
        return group, bisect_right(self._stays[group], time, key=lambda s: s.start) - 1

    def relaxation(self, move: Move) -> Relaxation | None:
        """What is done about the stay that the plan has at a move."""
        return self.relaxations.get(self.key(move.group, move.time))

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
        if move.is_sink or self.relaxation(move) is Relaxation.DROPPED:
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


EVERY = 64
"""Moves between two positions from which a game may be played on."""
HAIR = 0.001
"""A relaxation is kept if it costs at most this share of the best game's reward."""
NUM_WAITS = 8
"""Of a loss so many of the last stalls may be the reason: no copy begins before some of them."""


@dataclass
class Loss:
    """Seconds that a move lost against the plan, and the stays that may be the reason.

    `bars`: those of them that stood in the stay's place, or were waited for during its copy.
    """

    move: int
    seconds: float
    reasons: list[Key]
    bars: list[Key] = field(default_factory=list)


@dataclass
class Followed:
    """A game that followed desired: positions on its way, what it lost, what it waited for."""

    game: ReferenceGame
    desired: Desired
    positions: list[ReferenceGame] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    waits: list[tuple[int, Key]] = field(default_factory=list)


Choice = Callable[[ReferenceGame, Desired], int]
Change = tuple[tuple[Key, Relaxation | None], ...]
"""Stays of the plan, each with its relaxation; None: as the plan says."""


def repaired(
    game: ReferenceGame, desired: Desired, choose: Choice, tries: int, enough: float
) -> ReferenceGame:
    """The best game after so many changes were tried, or one that earns `enough`.

    A change stays where it earns, or costs next to nothing: two may be needed for a gain. When all
    are tried they are tried again, as long as that changes anything.
    """
    followed = _follow(Followed(ReferenceGame(game.program, game.rules), desired), choose)
    best, first, worth = game, _first_moves(followed), _worth(followed)
    left, tried, is_changed = _changes(followed, worth), set[Change](), False
    for _ in range(tries):
        change = next((c for c in left if c not in tried), None)
        if change is None and is_changed:
            left, tried, is_changed = _changes(followed, worth), set(), False
            change = next(left, None)
        if change is None or best.total_reward >= enough:
            break
        tried.add(change)
        desired = followed.desired.relaxed(change)
        changed = _follow(_from(followed, min(first[key] for key, _ in change), desired), choose)
        if changed.game.total_reward > best.total_reward * (1 - HAIR):
            if changed.game.total_reward != followed.game.total_reward:
                left, is_changed = _changes(changed, worth), True
            followed = changed
        best = max(best, changed.game, key=lambda g: g.total_reward)
    return best


def _first_moves(followed: Followed) -> dict[Key, int]:
    """The first move of each stay of the plan."""
    first: dict[Key, int] = {}
    for number, move in enumerate(followed.game.moves):
        if not move.is_sink:
            first.setdefault(followed.desired.key(move.group, move.time), number)
    return first


def _worth(followed: Followed) -> dict[Key, float]:
    """Seconds that each stay of the plan saves, by what the plan says of its touches."""
    desired, worth = Desired(followed.desired.program, followed.desired.plan), dict[Key, float]()
    for move in followed.game.moves:
        if desired.action(move, None) != DROP:
            key = desired.key(move.group, move.time)
            worth[key] = worth.get(key, 0.0) + move.saving_s
    return worth


def _changes(followed: Followed, worth: Mapping[Key, float]) -> Iterator[Change]:
    """What could be changed: of each loss, the largest first, one reason after another.

    `worth`: seconds that each stay saves; what is no stay of the plan's cannot be changed.
    """
    losses = sorted(followed.losses, key=lambda loss: -loss.seconds)
    for loss in losses:
        bars = [key for key in loss.bars if key in worth]
        if len(bars) > 1 and sum(worth[key] for key in bars) < loss.seconds:
            yield tuple((key, Relaxation.DROPPED) for key in bars)
    for turn in range(max((len(loss.reasons) for loss in losses), default=0)):
        for loss in losses:
            if turn < len(loss.reasons) and loss.reasons[turn] in worth:
                yield ((loss.reasons[turn], Relaxation.OTHER_END),)
                yield ((loss.reasons[turn], Relaxation.DROPPED),)
    for key in followed.desired.relaxations:
        yield ((key, None),)


def _from(followed: Followed, move: int, desired: Desired) -> Followed:
    """The beginning of a followed game, up to its last kept position not after `move`."""
    kept = followed.positions[: move // EVERY + 1]
    since = kept[-1].move_index
    return Followed(
        kept[-1].clone(),
        desired,
        kept[:-1],
        [loss for loss in followed.losses if loss.move < since],
        [(at, key) for at, key in followed.waits if at < since],
    )


def _follow(followed: Followed, choose: Choice) -> Followed:
    """Play on to the end."""
    game = followed.game
    while not game.is_over:
        if game.move_index % EVERY == 0:
            followed.positions.append(game.clone())
        action = choose(game, followed.desired)
        _note(followed, action)
        game.step(action)
    return followed


def _note(followed: Followed, action: int) -> None:
    """Note what the action is about to lose, and why."""
    game, desired, number = followed.game, followed.desired, followed.game.move_index
    move, effect = game.move, game.effect(action)
    wanted = desired.action(move, game.state.live.get(move.group))
    if wanted != DROP and KINDS[action] == DROP:
        blocks = _in_the_way(followed)
        reasons = [desired.key(b.group, b.busy) for b in blocks]
        reasons += [key for _, key in followed.waits[-NUM_WAITS:]][::-1]
        bars = _bars(followed, blocks)
        followed.losses.append(Loss(number, move.saving_s, list(dict.fromkeys(reasons)), bars))
    if effect.stall_ticks:
        # A write-back begins in its stay, a prefetch ends in it.
        waiting = [
            desired.key(b.group, b.deadline if b.is_prefetch else b.start)
            for b in effect.bookings
            if b.stall_ticks
        ]
        followed.waits += [(number, key) for key in waiting]
        seconds = effect.stall_ticks / TICKS * game.program.all_slow_s
        gone = [desired.key(b.group, b.busy) for b in effect.displaced]
        followed.losses.append(Loss(number, seconds, list(dict.fromkeys(waiting + gone))))


def _bars(followed: Followed, blocks: Sequence[Block]) -> list[Key]:
    """Stays that stand in the place of the plan's stay, or were waited for since that began."""
    game, desired = followed.game, followed.desired
    stay = desired.stay(game.move)
    if stay is None:
        return []
    low, size = stay.offset // game.facts.numbers.granule, game.move.size_granules
    bars = [
        desired.key(b.group, b.busy)
        for b in blocks
        if b.offset < low + size and low < b.offset + b.size
    ]
    bars += [key for number, key in followed.waits if game.moves[number].time > stay.start]
    own = desired.key(game.move.group, game.move.time)
    return [key for key in dict.fromkeys(bars) if key != own]


def _in_the_way(followed: Followed) -> list[Block]:
    """Blocks of the time in which the plan's stay would stand here, those at its place first."""
    game, move = followed.game, followed.game.move
    stay = followed.desired.stay(move)
    if stay is None:
        return []
    low = stay.offset // game.facts.numbers.granule
    high = low + move.size_granules
    known = [
        b for b in (*game.state.live.values(), *game.state.ended) if b.end > stay.start <= move.time
    ]
    return sorted(known, key=lambda b: (max(low - b.offset - b.size, b.offset - high, 0), -b.size))


_TOLD_EVERY = 50
"""Moves between two reports of how much of a game has been played."""
ENOUGH = 0.995
"""Share of the plan's saving at which no further place rule, and no repair, is tried."""


def replay(
    program: Program,
    plan: Plan,
    rules: Rules | None = None,
    repairs: int = 0,
    *,
    may_look_up: bool = True,
    progress: Callable[[float], object] = lambda share: None,
) -> ReferenceGame:
    """Play the game as `plan` would; its `actions` are the moves, its `plan` the result.

    Copy times are the game's own, so an action that the plan wants may be illegal or cost more than
    it saves; then the nearest other one is played. Under the given `rules`, which offer two places,
    the one nearer to the plan's is taken, or always that of the place rule, whichever ends better.
    Without `rules` the plan's own places are tried first, if it may look them up, then every place
    rule. If no game reaches the plan's saving, the best ones are repaired with so many tries
    (`repaired`). The best game is returned. `progress`: called with the share of the
    games that have been played; the first one that is good enough ends it early.
    """
    judged = simulate(program, plan)
    enough = ENOUGH * (judged.all_slow_s - judged.latency_s) / max(program.all_slow_s, 1e-300)
    desired, bests = Desired(program, plan), []
    ways = _ways(program, desired, rules, may_look_up)
    tried, all_tries = 0, sum(len(some) for _, some in ways)
    for choose, some in ways:
        games = []
        for each in some:
            begun, tried = tried, tried + 1

            def tell(share: float, begun: int = begun) -> None:
                progress((begun + share) / all_tries)

            games.append(_played(program, each, desired, choose, tell))
            if games[-1].total_reward >= enough:
                return games[-1]
        bests.append((max(games, key=_earned), _relaxed(choose)))
    bests.sort(key=lambda best: _earned(best[0]), reverse=True)
    candidates = [bests[0][0]]
    for game, choice in bests if repairs else ():
        candidates.append(repaired(game, desired, choice, repairs // len(bests), enough))
        if _earned(candidates[-1]) >= enough:
            break
    return max(candidates, key=_earned)


def follow_plan(program: Program, rules: Rules, plan: Plan) -> ReferenceGame:
    """The game that follows a plan under some rules, once, without repairs."""
    return _played(program, rules, Desired(program, plan), _choose)


def game_of(
    program: Program, plan: Plan, progress: Callable[[float], object] = lambda share: None
) -> ReferenceGame:
    """The game of a plan that notes its own moves (`engine.game.notes`), else its replay."""
    return noted_game(program, plan) or replay(program, plan, progress=progress)


def _ways(
    program: Program, desired: Desired, rules: Rules | None, may_look_up: bool
) -> list[tuple[Choice, tuple[Rules, ...]]]:
    """Ways to choose between the ends, each with the rules under which it is tried."""
    if rules is not None:
        return [(_nearer_end, (rules,)), (_choose, (rules,))]
    every = tuple(Rules(place=place) for place in PLACE_RULES)
    ways: list[tuple[Choice, tuple[Rules, ...]]] = [(_nearer_end, every), (_choose, every)]
    places = desired.places(quantise(program).granule)
    if may_look_up and places:
        planned = (Rules(planned=places), Rules(place="support", planned=places))
        ways.insert(0, (_choose, planned))
    return ways


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


def _earned(game: ReferenceGame) -> float:
    return game.total_reward


def _relaxed(choose: Choice) -> Choice:
    """`choose`, but at the other end for stays relaxed to `OTHER_END`."""

    def choice(game: ReferenceGame, desired: Desired) -> int:
        action = choose(game, desired)
        if desired.relaxation(game.move) is not Relaxation.OTHER_END:
            return action
        other = OTHER_END.get(action, KINDS[action])
        return other if game.legal()[other] else action

    return choice


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

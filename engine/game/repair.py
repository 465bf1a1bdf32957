"""A game that follows a plan, made better: what bars the plan's stays is moved or given up.

The game places as it can, not as the plan says, so memory breaks into pieces that a later stay of
the plan does not fit into, and copies wait. Of everything that was lost the reasons are known: the
blocks in the way, and what compute waited for. What stood in the place of a lost stay, or was
waited for during its copy, is left out together where all of it is worth less; then each reason in
turn is put at the other end, or left out. The game is played again from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engine.game.moves import DROP, KINDS
from engine.game.quantise import TICKS
from engine.game.reference.blocks import Block
from engine.game.reference.game import ReferenceGame
from engine.game.wishes import Amendment, Key, Wishes

EVERY = 64
"""Moves between two positions from which a game may be played on."""
HAIR = 0.001
"""Share of what the best game earns that an amendment may cost and stay."""
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
    """A game that followed wishes: positions on its way, what it lost, what it waited for."""

    game: ReferenceGame
    wishes: Wishes
    positions: list[ReferenceGame] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    waits: list[tuple[int, Key]] = field(default_factory=list)


Choice = Callable[[ReferenceGame, Wishes], int]
Change = tuple[tuple[Key, Amendment | None], ...]
"""Stays of the plan, each with its amendment; None: as the plan says."""


def repaired(
    game: ReferenceGame, wishes: Wishes, choose: Choice, tries: int, enough: float
) -> ReferenceGame:
    """The best game after so many changes were tried, or one that earns `enough`.

    A change stays where it earns, or costs next to nothing: two may be needed for a gain. When all
    are tried they are tried again, as long as that changes anything.
    """
    followed = _follow(Followed(ReferenceGame(game.program, game.rules), wishes), choose)
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
        wishes = followed.wishes.amended(change)
        changed = _follow(_from(followed, min(first[key] for key, _ in change), wishes), choose)
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
            first.setdefault(followed.wishes.key(move.group, move.time), number)
    return first


def _worth(followed: Followed) -> dict[Key, float]:
    """Seconds that each stay of the plan saves, by what the plan says of its touches."""
    wishes, worth = Wishes(followed.wishes.program, followed.wishes.plan), dict[Key, float]()
    for move in followed.game.moves:
        if wishes.action(move, None) != DROP:
            key = wishes.key(move.group, move.time)
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
            yield tuple((key, Amendment.GIVEN_UP) for key in bars)
    for turn in range(max((len(loss.reasons) for loss in losses), default=0)):
        for loss in losses:
            if turn < len(loss.reasons) and loss.reasons[turn] in worth:
                yield ((loss.reasons[turn], Amendment.OTHER_END),)
                yield ((loss.reasons[turn], Amendment.GIVEN_UP),)
    for key in followed.wishes.amendments:
        yield ((key, None),)


def _from(followed: Followed, move: int, wishes: Wishes) -> Followed:
    """The beginning of a followed game, up to its last kept position not after `move`."""
    kept = followed.positions[: move // EVERY + 1]
    since = kept[-1].move_index
    return Followed(
        kept[-1].clone(),
        wishes,
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
        action = choose(game, followed.wishes)
        _note(followed, action)
        game.step(action)
    return followed


def _note(followed: Followed, action: int) -> None:
    """Note what the action is about to lose, and why."""
    game, wishes, number = followed.game, followed.wishes, followed.game.move_index
    move, effect = game.move, game.placement(action)
    wanted = wishes.action(move, game.live.get(move.group))
    if wanted != DROP and KINDS[action] == DROP:
        blocks = _in_the_way(followed)
        reasons = [wishes.key(b.group, b.busy) for b in blocks]
        reasons += [key for _, key in followed.waits[-NUM_WAITS:]][::-1]
        bars = _bars(followed, blocks)
        followed.losses.append(Loss(number, move.saving_s, list(dict.fromkeys(reasons)), bars))
    if effect.stall_ticks:
        # A write-back begins in its stay, a prefetch ends in it.
        waiting = [
            wishes.key(b.group, b.deadline if b.is_prefetch else b.start)
            for b in effect.bookings
            if b.stall_ticks
        ]
        followed.waits += [(number, key) for key in waiting]
        seconds = effect.stall_ticks / TICKS * game.program.all_slow_s
        gone = [wishes.key(b.group, b.busy) for b in effect.evicted]
        followed.losses.append(Loss(number, seconds, list(dict.fromkeys(waiting + gone))))


def _bars(followed: Followed, blocks: Sequence[Block]) -> list[Key]:
    """Stays that stand in the place of the plan's stay, or were waited for since that began."""
    game, wishes = followed.game, followed.wishes
    stay = wishes.stay(game.move)
    if stay is None:
        return []
    low, size = stay.offset // game.facts.numbers.granule, game.move.size_granules
    bars = [
        wishes.key(b.group, b.busy)
        for b in blocks
        if b.offset < low + size and low < b.offset + b.size
    ]
    bars += [key for number, key in followed.waits if game.moves[number].time > stay.start]
    own = wishes.key(game.move.group, game.move.time)
    return [key for key in dict.fromkeys(bars) if key != own]


def _in_the_way(followed: Followed) -> list[Block]:
    """Blocks of the time in which the plan's stay would stand here, those at its place first."""
    game, move = followed.game, followed.game.move
    stay = followed.wishes.stay(move)
    if stay is None:
        return []
    low = stay.offset // game.facts.numbers.granule
    high = low + move.size_granules
    known = [b for b in (*game.live.values(), *game.ended) if b.end > stay.start <= move.time]
    return sorted(known, key=lambda b: (max(low - b.offset - b.size, b.offset - high, 0), -b.size))

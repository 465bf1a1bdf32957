"""A game that follows a plan, made better: what bars the plan's stays is moved or given up.

The game places as it can, not as the plan says, so memory breaks into pieces that a later stay of
the plan does not fit into, and copies wait. Of everything that was lost the blocks in the way are
known; each in turn is put at the other end, or left out, and the game played again from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    """Seconds that a move lost against the plan, and the stays that may be the reason."""

    move: int
    seconds: float
    reasons: list[Key]


@dataclass
class Followed:
    """A game that followed wishes: positions on its way, what it lost, what it waited for."""

    game: ReferenceGame
    wishes: Wishes
    positions: list[ReferenceGame] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    waits: list[tuple[int, Key]] = field(default_factory=list)


Choice = Callable[[ReferenceGame, Wishes], int]
Change = tuple[Key, Amendment | None]
"""What becomes of a stay; None: what the plan says."""


def repaired(
    game: ReferenceGame, wishes: Wishes, choose: Choice, tries: int, enough: float
) -> ReferenceGame:
    """The best game after so many changes were tried, or one that earns `enough`.

    A change stays where it earns, or costs next to nothing: two may be needed for a gain. When all
    are tried they are tried again, as long as that changes anything.
    """
    followed = _follow(Followed(ReferenceGame(game.program, game.rules), wishes), choose)
    best, first = game, _first_moves(followed)
    left, tried, is_changed = _changes(followed), set[Change](), False
    for _ in range(tries):
        change = next((c for c in left if c not in tried and c[0] in first), None)
        if change is None and is_changed:
            left, tried, is_changed = _changes(followed), set(), False
            change = next((c for c in left if c[0] in first), None)
        if change is None or best.total_reward >= enough:
            break
        tried.add(change)
        start = _from(followed, first[change[0]], followed.wishes.amended(*change))
        changed = _follow(start, choose)
        if changed.game.total_reward > best.total_reward * (1 - HAIR):
            if changed.game.total_reward != followed.game.total_reward:
                left, is_changed = _changes(changed), True
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


def _changes(followed: Followed) -> Iterator[Change]:
    """What could be changed: of each loss, the largest first, one reason after another."""
    losses = sorted(followed.losses, key=lambda loss: -loss.seconds)
    for turn in range(max((len(loss.reasons) for loss in losses), default=0)):
        for loss in losses:
            if turn < len(loss.reasons):
                yield loss.reasons[turn], Amendment.OTHER_END
                yield loss.reasons[turn], Amendment.GIVEN_UP
    for key in followed.wishes.amendments:
        yield key, None


def _from(followed: Followed, move: int, wishes: Wishes) -> Followed:
    """The beginning of a followed game, up to a position not after a move."""
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
    """What the action is about to lose, and why."""
    game, wishes, number = followed.game, followed.wishes, followed.game.move_index
    move, effect = game.move, game.placement(action)
    wanted = wishes.action(move, game.live.get(move.group))
    if wanted != DROP and KINDS[action] == DROP:
        waits = [key for _, key in followed.waits[-NUM_WAITS:]]
        reasons = [wishes.key(b.group, b.busy) for b in _in_the_way(followed)] + waits[::-1]
        followed.losses.append(Loss(number, move.saving_s, list(dict.fromkeys(reasons))))
    if effect.stall_ticks:
        waiting = [wishes.key(b.group, b.start) for b in effect.bookings if b.stall_ticks]
        followed.waits += [(number, key) for key in waiting]
        seconds = effect.stall_ticks / TICKS * game.program.all_slow_s
        gone = [wishes.key(b.group, b.busy) for b in effect.evicted]
        followed.losses.append(Loss(number, seconds, list(dict.fromkeys(waiting + gone))))


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

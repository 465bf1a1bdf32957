"""What if a tensor were dropped here, or were never in fast memory? The game answers by replay."""

from __future__ import annotations

from dataclasses import dataclass

from engine.game.moves import DROP
from engine.game.reference.explain import explain
from engine.game.reference.game import ReferenceGame
from ui.model.play.film import saved_s
from ui.model.play.line import Line

_UNUSED = "No instruction uses it from here on, so nothing would change."


@dataclass(frozen=True)
class Eviction:
    """The game with a tensor dropped.

    `move`: where it is dropped first; `latency_s`: the runtime then, `change_s` of it more than
    before; `num_lost`: its touches that fast memory no longer serves. `obstacle`: why it could not
    be dropped there, else empty. `actions`: the whole game.
    """

    group: int
    move: int
    is_for_ever: bool
    latency_s: float
    change_s: float
    num_lost: int
    obstacle: str
    actions: tuple[int, ...]


def evict(line: Line, group: int, move: int, is_for_ever: bool) -> Eviction:
    """Drop `group` at its first touch from `move` on, or at every touch of the game.

    Else the moves are those of the current path, and after its end those of the plan; what the
    change makes illegal is replaced by the nearest legal action.
    """
    moves = line.film.game_at(0).moves
    first = 0 if is_for_ever else move
    touches = [
        m for m in range(first, len(moves)) if moves[m].group == group and not moves[m].is_sink
    ]
    if not touches:
        return Eviction(group, move, is_for_ever, line.film.latency_s, 0.0, 0, _UNUSED, ())
    drops = frozenset(touches if is_for_ever else touches[:1])
    game = line.game_at(min(touches[0], line.tip))
    _play(line, game, frozenset(), touches[0])
    obstacle = "" if game.legal()[DROP] else explain(game, DROP).reason
    before = game.clone()
    _play(line, before, frozenset(), len(moves))
    _play(line, game, drops, len(moves))
    return Eviction(
        group=group,
        move=touches[0],
        is_for_ever=is_for_ever,
        latency_s=game.program.all_slow_s - saved_s(game),
        change_s=saved_s(before) - saved_s(game),
        num_lost=sum(before.actions[m] != DROP and game.actions[m] == DROP for m in touches),
        obstacle=obstacle,
        actions=tuple(game.actions),
    )


def _play(line: Line, game: ReferenceGame, drops: frozenset[int], until: int) -> None:
    """Play on to move `until` as the line and then its plan do, but Drop at `drops`."""
    while game.move_index < until:
        move = game.move_index
        known = line.action_at(move)
        wanted = DROP if move in drops else line.film.actions[move] if known is None else known
        game.step(game.nearest(wanted))

"""The best that a game can still become: every continuation is played that might be better."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import LessonError
from engine.game.reference.game import ReferenceGame
from engine.game.replay import immediate_reward

MOST_POSITIONS = 60_000
"""More would keep a page waiting: a lesson's board is small."""
_HAIR = 1e-12
"""Shares of all slow that are the rounding of a sum."""


@dataclass(frozen=True)
class Best:
    """The actions from a position to the end, and the reward of the whole game."""

    actions: tuple[int, ...]
    total_reward: float


def best_from(game: ReferenceGame) -> Best | None:
    """The best continuation of a game, which is left as it is; None if all are dead ends.

    Depth first, what earns most at once before the rest; a branch ends where even all savings that
    are left would not be better. Raises LessonError for a board that takes too many positions.
    """
    return _Search(game).run()


def look_ahead(game: ReferenceGame, action: int, depth: int) -> float | None:
    """The most that `depth` moves from here on can earn if the first is `action`; None: a dead end.

    What comes after these moves counts for nothing: a search does not see it.
    """
    after = game.clone()
    reward = after.step(action)
    if after.is_over or depth <= 1:
        return reward
    rest = [look_ahead(after, a, depth - 1) for a, is_legal in enumerate(after.legal()) if is_legal]
    known = [r for r in rest if r is not None]
    return reward + max(known) if known else None


class _Search:
    def __init__(self, game: ReferenceGame) -> None:
        self._root = game
        self._num_positions = 0
        self._best: Best | None = None
        self._left = [0.0]
        for move in reversed(game.moves):
            self._left.append(self._left[-1] + move.saving_s / game.program.all_slow_s)
        self._left.reverse()

    def run(self) -> Best | None:
        self._visit(self._root)
        return self._best

    def _visit(self, game: ReferenceGame) -> None:
        if self._best is not None:
            most = game.total_reward + self._left[game.move_index]
            if most <= self._best.total_reward + _HAIR:
                return
        if game.is_over:
            self._best = Best(tuple(game.actions[self._root.move_index :]), game.total_reward)
            return
        self._num_positions += 1
        if self._num_positions > MOST_POSITIONS:
            raise LessonError(
                f"{game.program.name}: more than {MOST_POSITIONS:,} positions; take fewer steps"
            )
        legal = [a for a, is_legal in enumerate(game.legal()) if is_legal]
        for action in sorted(legal, key=lambda a: -immediate_reward(game, a)):
            following = game.clone()
            following.step(action)
            self._visit(following)

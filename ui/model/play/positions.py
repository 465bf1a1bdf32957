"""Some positions of one game, kept so that any other is a short replay away, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from engine.game.reference.game import ReferenceGame

NEAR = 64
"""Moves between two kept positions, where there are not too many moves for that."""
MOST_FIXED = 32
MOST_RECENT = 24
"""Kept beyond the fixed positions: those passed last, for who steps backwards."""
MOST_REACHED = 16
"""Kept besides: the positions asked for last, from which each visitor's next step begins."""


class Positions:
    """Positions by the number of the move that is to be decided; safe among threads.

    At most `MOST_FIXED` stand for good, evenly spread over the game; `MOST_RECENT` and
    `MOST_REACHED` come and go. A position of a program of 50,000 tensors takes some megabytes.
    """

    def __init__(self, num_moves: int) -> None:
        """Positions of a game of `num_moves` moves."""
        self._spacing = NEAR * -(-num_moves // (NEAR * MOST_FIXED) or 1)
        self._fixed: dict[int, ReferenceGame] = {}
        self._recent: OrderedDict[int, ReferenceGame] = OrderedDict()
        self._reached: OrderedDict[int, ReferenceGame] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """The number of positions kept."""
        return len(self._fixed) + len(self._recent) + len(self._reached)

    def clear(self) -> None:
        """Forget all: the game is another one."""
        with self._lock:
            for kept in (self._fixed, self._recent, self._reached):
                kept.clear()

    def note(self, game: ReferenceGame) -> None:
        """Keep a copy of this position if it is one of those worth keeping."""
        move = game.move_index
        with self._lock:
            if move % self._spacing == 0:
                if move not in self._fixed:
                    self._fixed[move] = game.clone()
            elif move % NEAR == 0:
                _keep(self._recent, game, MOST_RECENT)

    def reach(
        self,
        move: int,
        start: Callable[[], ReferenceGame],
        step: Callable[[ReferenceGame], object],
    ) -> ReferenceGame:
        """A copy of the position before `move`, by `step` from the nearest one, else `start`."""
        game = self._nearest(move) or start()
        while game.move_index < move:
            self.note(game)
            step(game)
        with self._lock:
            _keep(self._reached, game, MOST_REACHED)
        return game

    def _nearest(self, move: int) -> ReferenceGame | None:
        with self._lock:
            known = (*self._fixed, *self._recent, *self._reached)
            near = max((m for m in known if m <= move), default=None)
            if near is None:
                return None
            if near in self._recent:
                self._recent.move_to_end(near)
            kept = next(k for k in (self._fixed, self._recent, self._reached) if near in k)
            return kept[near].clone()


def _keep(kept: OrderedDict[int, ReferenceGame], game: ReferenceGame, most: int) -> None:
    """Keep a copy in place of the one that has not been met for longest."""
    if game.move_index not in kept:
        kept[game.move_index] = game.clone()
    kept.move_to_end(game.move_index)
    if len(kept) > most:
        kept.popitem(last=False)

"""A finished game as a film: the position before any move, without replaying all of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from engine.game.moves import ACTION_NAMES, DROP, NO_COPY
from engine.game.reference import ReferenceGame
from engine.program.model import Program

_SPACING = 64
"""Moves between two kept positions: a jump replays fewer than that."""


class Film:
    """Positions of one game, made when first asked for and shared by all sessions.

    `wishes`: one action per move. A wish that is illegal in the game is replaced by NoCopy if that
    is legal, else by Drop, as the game itself does after Drop-backup.
    """

    def __init__(self, program: Program, wishes: Sequence[int]) -> None:
        """Set up the first position."""
        self._wishes = tuple(wishes)
        self._kept = [ReferenceGame(program)]
        self._lock = threading.Lock()

    @property
    def num_moves(self) -> int:
        """Moves of the whole game."""
        return len(self._wishes)

    def game_at(self, move: int) -> ReferenceGame:
        """A copy of the position in which `move` (0 … number of moves) is to be decided."""
        move = max(0, min(move, self.num_moves))
        with self._lock:
            while len(self._kept) <= move // _SPACING:
                game = self._kept[-1].clone()
                self._advance(game, len(self._kept) * _SPACING)
                self._kept.append(game)
            game = self._kept[move // _SPACING].clone()
        self._advance(game, move)
        return game

    def finish(self, game: ReferenceGame) -> None:
        """Play `game` to its end with the film's wishes, where they are legal."""
        self._advance(game, self.num_moves)

    def _advance(self, game: ReferenceGame, move: int) -> None:
        while game.move_index < move:
            game.step(nearest(game, self._wishes[game.move_index]))


def nearest(game: ReferenceGame, wish: int) -> int:
    """`wish` if it is legal now, else NoCopy if that is, else Drop."""
    legal = game.legal()
    if wish < len(ACTION_NAMES) and legal[wish]:
        return wish
    return NO_COPY if legal[NO_COPY] else DROP

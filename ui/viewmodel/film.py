"""A plan as a film of the game: the position before any move, without replaying all of it."""

from __future__ import annotations

import threading

from engine.game.moves import DROP, NO_COPY
from engine.game.reference import ReferenceGame
from engine.game.replay import replay
from engine.plan.model import Plan
from engine.program.model import Program

_SPACING = 64
"""Moves between two kept positions: a jump replays fewer than that."""


class Film:
    """The game that follows a plan as closely as the rules allow; shared by all sessions.

    `plan`: what comes out of that game. `is_exact`: whether it is the plan that was followed, place
    by place; plans of other solvers choose addresses that the game does not.
    """

    def __init__(self, program: Program, plan: Plan) -> None:
        """Replay the plan once; raises nothing for a plan whose groups and times exist."""
        game = replay(program, plan)
        self._actions = tuple(game.actions)
        self._kept = [ReferenceGame(program)]
        self._lock = threading.Lock()
        self.plan = game.plan(f"{plan.solver} as moves")
        self.is_exact = set(self.plan.stays) == set(plan.stays)

    @property
    def num_moves(self) -> int:
        """Moves of the whole game."""
        return len(self._actions)

    def game_at(self, move: int) -> ReferenceGame:
        """A copy of the position in which `move` (0 … number of moves) is to be decided."""
        move = max(0, min(move, self.num_moves))
        with self._lock:
            while len(self._kept) <= move // _SPACING:
                game = self._kept[-1].clone()
                self.play_to(game, len(self._kept) * _SPACING)
                self._kept.append(game)
            game = self._kept[move // _SPACING].clone()
        self.play_to(game, move)
        return game

    def play_to(self, game: ReferenceGame, move: int) -> None:
        """Play on as the film does until `move` is to be decided.

        From another position an action of the film may be illegal; then NoCopy is played if that
        is legal, else Drop, as the game itself does after Drop-backup.
        """
        while game.move_index < move:
            legal = game.legal()
            action = self._actions[game.move_index]
            game.step(action if legal[action] else NO_COPY if legal[NO_COPY] else DROP)

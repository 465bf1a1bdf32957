"""A film: how the game follows a plan, of which any position is a short replay away."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any

from engine.game.notes import noted_game, notes_of
from engine.game.reference.game import ReferenceGame
from engine.game.replay import replay
from engine.plan.model import Plan
from engine.program.model import Program

NEAR = 64
"""Moves between two kept positions, where there are not too many moves for that."""
MOST_FIXED = 32
MOST_RECENT = 24
"""Kept beyond the fixed positions: those passed last, for who steps backwards."""
MOST_REACHED = 16
"""Kept besides: the positions asked for last, from which each visitor's next step begins."""
_TOLD_EVERY = 500
"""Moves between two reports of how much of a game has been played."""
_LOOKING = 0.9
"""Share of a film's time that it takes to find the game, where it has to be found first."""


class Positions:
    """Positions by the number of the move that is to be decided; safe among threads.

    At most `MOST_FIXED` stand for good, evenly spread over the game; `MOST_RECENT` and
    `MOST_REACHED` come and go. A position of a program of 50,000 tensors takes some megabytes.
    """

    def __init__(self, num_moves: int) -> None:
        """Positions of a game of at most `num_moves` moves."""
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


class Film:
    """The game that follows a plan as closely as the rules allow; shared by all sessions.

    `plan`: what comes out of that game. `is_exact`: whether it is the plan that was followed, place
    by place; plans of other solvers choose addresses that the game does not. `actions`: one per
    move. `notes`: of that game, and `game`, a name that it shares with the same games alone.
    `saved_s`: seconds saved before each move, and at the end.
    """

    def __init__(
        self,
        program: Program,
        plan: Plan,
        record: Mapping[str, Any] | None = None,
        tell: Callable[[float], object] = lambda _: None,
    ) -> None:
        """Replay the plan; raises nothing for a plan whose groups and times exist.

        `record`: what an earlier film noted of its game (`engine.game.notes`); then that is only
        played again. `tell` hears now and then what share of the work is done.
        """
        self.program = program
        self._positions = Positions(len(program.touches) + len(program.sinks))
        saved: list[float] = []
        before = 0.0

        def pass_by(position: ReferenceGame) -> None:
            self._positions.note(position)
            saved.append(saved_s(position))
            if position.move_index % _TOLD_EVERY == 0:
                tell(before + (1 - before) * position.move_index / max(1, position.num_moves))

        noted = replace(plan, notes=record) if record else plan
        game = noted_game(program, noted, pass_by)
        if game is None:
            found = replay(program, plan, progress=lambda share: tell(_LOOKING * share))
            noted, before = replace(plan, notes=notes_of(found)), _LOOKING
            game = noted_game(program, noted, pass_by)
        assert game is not None, "a game's own notes are of a whole game"
        self.actions, self.notes = tuple(game.actions), notes_of(game)
        self.game = hashlib.sha256(repr(self.notes).encode()).hexdigest()[:16]
        self.plan = game.plan(f"{plan.solver} as moves")
        self.is_exact = set(self.plan.stays) == set(plan.stays)
        self._end = game
        self.saved_s = (*saved, saved_s(game))

    @property
    def num_moves(self) -> int:
        """Moves of the whole game."""
        return len(self.actions)

    @property
    def latency_s(self) -> float:
        """Runtime of the game, which may not be that of the plan itself."""
        return self.program.all_slow_s - self.saved_s[-1]

    def game_at(self, move: int) -> ReferenceGame:
        """A copy of the position in which `move` (0 … number of moves) is to be decided."""
        move = max(0, min(move, self.num_moves))
        if move == self.num_moves:
            return self._end.clone()
        return self._positions.reach(move, self._beginning, self._go_on)

    def play_to(self, game: ReferenceGame, move: int) -> None:
        """Play on as the film does until `move` is to be decided.

        From another position an action of the film may be illegal; then the nearest one is played.
        """
        while game.move_index < move:
            self._go_on(game)

    def _beginning(self) -> ReferenceGame:
        return ReferenceGame(self.program, self._end.rules)

    def _go_on(self, game: ReferenceGame) -> None:
        game.step(game.nearest(self.actions[game.move_index]))


def saved_s(game: ReferenceGame) -> float:
    """Seconds that the moves played so far save against slow memory for everything."""
    return game.total_reward * game.program.all_slow_s

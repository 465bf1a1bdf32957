"""The players who go on at once from any position of a line: greedy, a plan, chance."""

from __future__ import annotations

import random
from typing import Protocol

from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from ui.model.play.film import Film

GREEDY, OWN_PLAN, RANDOM = "greedy", "the plan", "random"


class Player(Protocol):
    """Somebody who decides moves of the game."""

    @property
    def name(self) -> str:
        """The name in the list of players."""

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """Decide the next `num_moves` moves of `game`, or all that are left."""


class PlanPlayer:
    """Goes on as a plan does; where that is illegal, as near to it as the rules allow."""

    def __init__(self, film: Film, name: str = OWN_PLAN) -> None:
        """Follow the plan of `film`."""
        self._film, self.name = film, name

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """See `Player.play`."""
        self._film.play_to(game, _end(game, num_moves))


class GreedyPlayer:
    """At every move the action that earns most at once; ties go to NoCopy, Copy, Drop."""

    name = GREEDY

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """See `Player.play`."""
        end = _end(game, num_moves)
        while game.move_index < end:
            game.step(best_action(game))


class RandomPlayer:
    """Any legal action, all equally likely; the same ones again from the same position."""

    name = RANDOM

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """See `Player.play`; the number of the move seeds the dice."""
        dice = random.Random(game.move_index)
        end = _end(game, num_moves)
        while game.move_index < end:
            game.step(dice.choice([a for a, is_legal in enumerate(game.legal()) if is_legal]))


def players(film: Film) -> dict[str, Player]:
    """The players who answer at once, from any position of a line that leaves `film`, by name.

    The agent and the solvers take longer: `ui.play.playing_on`.
    """
    all_players: list[Player] = [GreedyPlayer(), PlanPlayer(film), RandomPlayer()]
    return {player.name: player for player in all_players}


def _end(game: ReferenceGame, num_moves: int) -> int:
    return min(game.move_index + num_moves, game.num_moves)

"""Who can play on from any position of a line: greedy, a plan, chance; the agent joins here."""

from __future__ import annotations

import random
from typing import Protocol

from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.reference import ReferenceGame
from engine.game.replay import immediate_reward
from ui.viewmodel.film import Film


class Player(Protocol):
    """Somebody who decides moves of the game."""

    @property
    def name(self) -> str:
        """What the list of players shows."""

    @property
    def description(self) -> str:
        """How it decides, in one sentence."""

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """Decide the next `num_moves` moves of `game`, or all that are left."""


class PlanPlayer:
    """Goes on as a plan does, where that is legal."""

    name = "the plan"
    description = "Plays the rest as the plan shown does; where that is illegal, NoCopy or Drop"

    def __init__(self, film: Film) -> None:
        """Follow the plan of `film`."""
        self._film = film

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """See `Player.play`."""
        self._film.play_to(game, min(game.move_index + num_moves, game.num_moves))


class GreedyPlayer:
    """Takes what earns most at once."""

    name = "greedy"
    description = "At every move the action that earns most at once"

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """See `Player.play`; ties go to NoCopy, then Copy, then Drop."""
        end = min(game.move_index + num_moves, game.num_moves)
        while game.move_index < end:
            legal = game.legal()
            actions = [a for a in (NO_COPY, COPY, DROP) if legal[a]]
            game.step(max(actions, key=lambda a: immediate_reward(game, a)))


class RandomPlayer:
    """Takes any legal action."""

    name = "random"
    description = "Any legal action, all equally likely; the same ones again from the same position"

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """See `Player.play`; the number of the move seeds the dice."""
        dice = random.Random(game.move_index)
        end = min(game.move_index + num_moves, game.num_moves)
        while game.move_index < end:
            game.step(dice.choice([a for a, is_legal in enumerate(game.legal()) if is_legal]))


def players(film: Film) -> dict[str, Player]:
    """Everybody who can play on from a position of a line that leaves `film`, by name."""
    all_players: list[Player] = [GreedyPlayer(), PlanPlayer(film), RandomPlayer()]
    return {player.name: player for player in all_players}

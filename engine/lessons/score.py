"""The score sheet of a finished game: what each decision lost, and what it won over greed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.opponents import Recorded, judged

PHASES = ("opening", "middle", "ending")
"""Thirds of the moves of a game."""

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Row:
    """One decision. `lost_s`: what the best action known would have saved more in the end.

    `won_s`: what the decision saves more than greedy's own action would have.
    """

    move: int
    action: int
    better: int
    lost_s: float
    won_s: float


@dataclass(frozen=True)
class Sheet:
    """The decisions that were looked at, in order, of a game of `num_moves` moves."""

    rows: tuple[Row, ...]
    num_moves: int
    num_decisions: int

    @property
    def worst(self) -> Row | None:
        """The decision that lost most; None if none lost anything."""
        row = max(self.rows, key=lambda r: r.lost_s, default=None)
        return row if row is not None and row.lost_s > 0 else None

    @property
    def best(self) -> Row | None:
        """The decision that won most over greed; None if none did."""
        row = max(self.rows, key=lambda r: r.won_s, default=None)
        return row if row is not None and row.won_s > 0 else None

    def lost_in(self, phase: int) -> float:
        """Seconds lost in one third of the game."""
        return sum(r.lost_s for r in self.rows if self.phase_of(r.move) == phase)

    def phase_of(self, move: int) -> int:
        """The third in which a move lies."""
        return min(len(PHASES) - 1, move * len(PHASES) // max(1, self.num_moves))


def score(
    start: ReferenceGame,
    actions: Sequence[int],
    decided: Sequence[int],
    games: Sequence[Recorded],
    most: int = 40,
    progress: Progress = lambda share: None,
) -> Sheet:
    """Judge a finished game's decisions, at most the `most` with the largest saving at stake.

    `actions`: from `start` to the end; `decided`: the moves that the player decided. After each
    action the rest is played as in the known games, greedily, or as the player did, whichever
    saves most.
    """
    moves = start.moves
    chosen = sorted(sorted(decided, key=lambda m: -moves[m].saving_s)[:most])
    game, rows = start.clone(), []
    for number, move in enumerate(chosen):
        while game.move_index < move:
            game.step(actions[game.move_index - start.move_index])
        rows.append(_row(game, actions[move - start.move_index :], games))
        progress((number + 1) / len(chosen))
    return Sheet(tuple(rows), len(moves), len(decided))


def _row(game: ReferenceGame, rest: Sequence[int], games: Sequence[Recorded]) -> Row:
    values = judged(game, games, rest)
    played, greedy = rest[0], best_action(game)
    better = max(values, key=lambda a: (values[a].saved_s, a == played))
    return Row(
        move=game.move_index,
        action=played,
        better=better,
        lost_s=values[better].saved_s - values[played].saved_s,
        won_s=values[played].saved_s - values[greedy].saved_s,
    )

"""The score sheet of a finished game: where it lost the distance to the best plan known.

The distance is split without a rest. Let `V(m)` be the best total known from the position before
move `m`, and `p(m)` the best known after the action that was played there. A decision at `m` has
lost `V(m) - p(m)`. From one judged decision `m` to the next, `n`, the moves in between have lost
`p(m) - V(n)`. Since a position is worth at least what it is worth later on the same game, neither
is negative, and their sum is `V` at the first decision less the game's own total. What the best
plan known saves beyond that, no single move explains: it plays another game.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.game.units import noise_s
from engine.lessons.opponents import Recorded, judged

PHASES = ("opening", "middle", "ending")
"""Thirds of the moves of a game."""

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Row:
    """One decision. `lost_s`: what the best action known would have saved more in the end.

    `won_s`: what the decision saves more than greedy's own action would have. `after_s`: what the
    moves after it, up to the next judged decision, have lost. `line`: from the decision to the end,
    the best game known with `better`.
    """

    move: int
    action: int
    better: int
    lost_s: float
    won_s: float
    after_s: float = 0.0
    line: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """The decisions that were judged, in order, of a game of `num_moves` moves.

    `distance_s`: seconds behind the best known; not negative. `unexplained_s`: the part of it that
    no single move explains.
    """

    rows: tuple[Row, ...]
    num_moves: int
    num_decisions: int
    distance_s: float
    unexplained_s: float

    @property
    def between_s(self) -> float:
        """What was lost by moves that were not judged: greedy's, and decisions of little weight."""
        return sum(row.after_s for row in self.rows)

    @property
    def noise_s(self) -> float:
        """What is too little to be called a good or a bad move."""
        return noise_s(self.distance_s)

    @property
    def worst(self) -> Row | None:
        """The decision that lost most; None if none lost more than noise."""
        row = max(self.rows, key=lambda r: r.lost_s, default=None)
        return row if row is not None and row.lost_s >= self.noise_s else None

    @property
    def best(self) -> Row | None:
        """Of the decisions that lost nothing the one that won most over greed; None if none did."""
        sound = [row for row in self.rows if row.lost_s < self.noise_s]
        row = max(sound, key=lambda r: r.won_s, default=None)
        return row if row is not None and row.won_s >= self.noise_s else None

    def lost_in(self, phase: int) -> float:
        """Seconds lost by the decisions of one third of the game."""
        return sum(r.lost_s for r in self.rows if self.phase_of(r.move) == phase)

    def phase_of(self, move: int) -> int:
        """The third in which a move lies."""
        return min(len(PHASES) - 1, move * len(PHASES) // max(1, self.num_moves))


def score(
    start: ReferenceGame,
    actions: Sequence[int],
    decided: Sequence[int],
    games: Sequence[Recorded],
    best_s: float = 0.0,
    most: int = 40,
    progress: Progress = lambda share: None,
) -> Sheet:
    """Judge a finished game's decisions, at most the `most` with the largest saving at stake.

    `actions`: from `start` to the end; `decided`: the moves that the player decided. `best_s`:
    seconds that the best plan known saves. After each action the rest is played as in the known
    games, greedily, or as the player did, whichever saves most.
    """
    moves = start.moves
    chosen = sorted(sorted(decided, key=lambda m: -moves[m].saving_s)[:most])
    game, judgements = start.clone(), []
    for number, move in enumerate(chosen):
        while game.move_index < move:
            game.step(actions[game.move_index - start.move_index])
        judgements.append(_judgement(game, actions[move - start.move_index :], games))
        progress((number + 1) / len(chosen))
    while not game.is_over:
        game.step(actions[game.move_index - start.move_index])
    own_s = game.total_reward * game.program.all_slow_s
    rows, first_s = _rows(judgements, own_s)
    known_s = [known.total * game.program.all_slow_s for known in games]
    most_s = max([best_s, first_s, *known_s])
    return Sheet(tuple(rows), len(moves), len(decided), most_s - own_s, most_s - first_s)


@dataclass(frozen=True)
class _Judgement:
    """A decision, and by action the seconds that the best game known with it saves in the end.

    `own`: the actions of the game from there to its end, `lines`: of the best game known.
    """

    move: int
    own: tuple[int, ...]
    greedy: int
    saved_s: dict[int, float]
    lines: dict[int, tuple[int, ...]]


def _judgement(game: ReferenceGame, rest: Sequence[int], games: Sequence[Recorded]) -> _Judgement:
    values = judged(game, games, rest)
    saved_s = {action: value.saved_s for action, value in values.items()}
    lines = {action: value.actions for action, value in values.items()}
    return _Judgement(game.move_index, tuple(rest), best_action(game), saved_s, lines)


def _rows(judgements: Sequence[_Judgement], own_s: float) -> tuple[list[Row], float]:
    """The rows in order, and what the best game known from the first decision on saves."""
    rows: list[Row] = []
    later_s, later_line = own_s, tuple[int, ...]()
    for judgement in reversed(judgements):
        played, saved_s, lines = judgement.own[0], dict(judgement.saved_s), dict(judgement.lines)
        if later_s > saved_s[played]:
            # Whoever plays it can go on as was found at a later decision of this game.
            between = judgement.own[: len(judgement.own) - len(later_line)]
            saved_s[played], lines[played] = later_s, (*between, *later_line)
        better = max(saved_s, key=lambda action: (saved_s[action], action == played))
        rows.append(
            Row(
                move=judgement.move,
                action=played,
                better=better,
                lost_s=saved_s[better] - saved_s[played],
                won_s=saved_s[played] - saved_s[judgement.greedy],
                after_s=saved_s[played] - later_s,
                line=lines[better],
            )
        )
        later_s, later_line = saved_s[better], lines[better]
    return rows[::-1], later_s

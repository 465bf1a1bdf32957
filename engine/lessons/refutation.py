"""Why an action is wrong: the line that refutes it beside the line that wins, moment by moment.

Both lines go from one position to the end of the game, over the same moves. What a move earns in
one line and not in the other is what it costs there, and these costs add up to what the wrong
action loses. At the moments that cost most, the rules say why the wrong line could not do better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.game.moves import KINDS
from engine.game.reference.explain import Explanation, explain
from engine.game.reference.game import ReferenceGame
from engine.game.units import NOTHING_S, noise_s
from engine.lessons.judge import Best, best_from

MOST_MOMENTS = 6
_FELT = 0.95
"""Share of the loss after which the lines need not be shown any further."""


@dataclass(frozen=True)
class Moment:
    """A move at which the lines earn otherwise. `lost_s` negative: the wrong line earns more there.

    `wrong`, `right`: what each line plays. `refusal`: why the wrong line could not play `right`;
    None where it could, or plays it too. `does`: what `wrong` does there, in words; `stall_s`: how
    long it waits.
    """

    move: int
    lost_s: float
    wrong: int
    right: int
    refusal: Explanation | None
    does: str
    stall_s: float = 0.0


@dataclass(frozen=True)
class Refutation:
    """Two lines from `move` to the end, as actions, and the moments at which they part.

    `at_once_s`: what the wrong action earns more at `move` itself. `lost_s`: what it loses in the
    end. `moments`: those that count, in order. `last`: the move at which the loss has been felt.
    """

    move: int
    wrong: tuple[int, ...]
    right: tuple[int, ...]
    at_once_s: float
    lost_s: float
    moments: tuple[Moment, ...]
    last: int

    @property
    def costliest(self) -> Moment | None:
        """The moment after `move` at which most is lost; None if none costs anything."""
        later = [m for m in self.moments if m.move > self.move and m.lost_s > 0]
        return max(later, key=lambda m: m.lost_s, default=None)


def refute(game: ReferenceGame, wrong: Sequence[int], right: Sequence[int]) -> Refutation:
    """Hold two lines from a position, which is left as it is, against each other.

    Raises ValueError if one is no game from there to the end.
    """
    lost_s = _lost_s(game, wrong, right)
    total_s = sum(lost_s)
    least_s = noise_s(abs(total_s))
    first = game.move_index
    weighty = sorted(range(1, len(lost_s)), key=lambda n: -abs(lost_s[n]))[: MOST_MOMENTS - 1]
    chosen = [0, *sorted(n for n in weighty if abs(lost_s[n]) >= least_s)]
    felt, last = 0.0, first
    for number, seconds in enumerate(lost_s):
        felt += seconds
        last = first + number
        if number and felt >= _FELT * total_s > 0:
            break
    return Refutation(
        move=first,
        wrong=tuple(wrong),
        right=tuple(right),
        at_once_s=-lost_s[0],
        lost_s=total_s,
        moments=_moments(game, wrong, right, lost_s, chosen),
        last=max(last, first + chosen[-1]),
    )


def _lost_s(game: ReferenceGame, wrong: Sequence[int], right: Sequence[int]) -> list[float]:
    """Seconds that the wrong line earns less, by move."""
    one, other = game.clone(), game.clone()
    scale = game.program.all_slow_s
    lost_s = [
        (other.step(better) - one.step(worse)) * scale
        for worse, better in zip(wrong, right, strict=True)
    ]
    if not (one.is_over and other.is_over):
        raise ValueError(f"{game.program.name}: a line ends before the game does")
    return lost_s


def _moments(
    game: ReferenceGame,
    wrong: Sequence[int],
    right: Sequence[int],
    lost_s: Sequence[float],
    chosen: Sequence[int],
) -> tuple[Moment, ...]:
    position, moments = game.clone(), []
    for number, action in enumerate(wrong[: chosen[-1] + 1]):
        if number in chosen:
            better, refusal = right[number], None
            if KINDS[better] != KINDS[action]:
                why = explain(position, better)
                refusal = None if why.is_legal else why
            does = explain(position, action).reason
            stall_s = position.effect(action).stall_ticks * position.facts.numbers.tick_s
            lost, move = lost_s[number], position.move_index
            moments.append(Moment(move, lost, action, better, refusal, does, stall_s))
        position.step(action)
    return tuple(moments)


@dataclass(frozen=True)
class TurningPoint:
    """The decision of a finished game that lost most. `number`: its place among the positions.

    `lost_s`: what it lost. `refutation`: None where no line from there reaches the end: whatever is
    played after the decision, a dead end comes.
    """

    number: int
    lost_s: float
    refutation: Refutation | None


def turning_point(
    positions: Sequence[ReferenceGame], actions: Sequence[int]
) -> TurningPoint | None:
    """Where a game on a small board lost most against best play; None where it lost nothing.

    `positions`: those in which the player decided, and the end; `actions`: what was decided in
    each, also where a dead end has undone it since. The decision after which only dead ends are
    left loses what is missing in the next position that has a way to the end, and those in between
    lose nothing. Raises LessonError for a large board.
    """
    found: TurningPoint | None = None
    after = positions[-1].total_reward
    for number in range(len(positions) - 2, -1, -1):
        game = positions[number]
        best = best_from(game)
        if best is None:
            continue
        lost_s = (best.total_reward - after) * game.program.all_slow_s
        after = best.total_reward
        if lost_s >= NOTHING_S and (found is None or lost_s > found.lost_s):
            found = TurningPoint(number, lost_s, _refuted(game, actions[number], best))
    return found


def _refuted(game: ReferenceGame, action: int, best: Best) -> Refutation | None:
    """The best line after an action beside the best one of all; None if all are dead ends."""
    played = game.clone()
    played.step(action)
    rest = best_from(played)
    return None if rest is None else refute(game, (action, *rest.actions), best.actions)

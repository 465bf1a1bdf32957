"""Classes of decisions as chess sites have them, from what a move cost; and when none is given.

The size of a mistake is its regret in *points*: 1 point is 1 % of the most that any plan of the
program can save, so the thresholds mean the same on every program.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from engine.agent.trace_io import SearchTrace
from engine.debugging.games import Continuation, finish, likewise
from engine.debugging.trace_units import MICRO
from engine.errors import CheckpointError
from engine.game.moves import ACTION_NAMES, NUM_ACTIONS, Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.program.io import content_hash
from engine.program.model import Program

DUBIOUS, MISTAKE, BLUNDER = "?!", "?", "??"
CLASSES = (BLUNDER, MISTAKE, DUBIOUS)
"""The worst first."""
LEAST_POINTS: Mapping[str, float] = MappingProxyType({BLUNDER: 1.0, MISTAKE: 0.25, DUBIOUS: 0.05})
"""Regret from which a move has a class."""
MIN_VISITS = 4
"""Simulations at the root below which a search has not looked enough to be judged."""
FEW_VISITS = f"fewer than {MIN_VISITS} visits"
TIE = "all continuations tie"
NOT_MEASURED = "regret not measured"
NO_CHOICE = "one legal action"


def verdict(regret_points: float) -> str:
    """The class of a regret in points; empty below all thresholds."""
    return next((name for name in CLASSES if regret_points >= LEAST_POINTS[name]), "")


def unjudged(num_legal: int, visits: int, stakes_us: float | None) -> str:
    """Why a move gets no verdict; empty if it gets one.

    `stakes_us`: how far its best and its worst action lie apart; None while that is not known.
    """
    if num_legal < 2:
        return NO_CHOICE
    if stakes_us is None:
        return NOT_MEASURED
    if stakes_us == 0:
        return TIE
    return FEW_VISITS if visits < MIN_VISITS else ""


AS_PLAYED, GREEDY = "as played", "greedy"
EVERY = 32
"""Positions are kept at every so many moves; those between are played again."""
ROUNDING = 1e-10
"""Totals that differ by a smaller share are equal; a tick of the game is more."""
TOLERANCE_POINTS = 0.02
"""Most that a trace, in single precision, may differ from the plain game's total."""


@dataclass(frozen=True)
class Line:
    """One way to go on from a move: `actions` from it to the end, one byte each.

    `continuation`: the name of how it went on after the first action. `at_once_us`, `total_us`:
    what the first action saves at once, and the whole line, less the stalls.
    """

    actions: bytes
    continuation: str
    at_once_us: float
    total_us: float

    @property
    def action(self) -> int:
        """The first action of the line."""
        return self.actions[0]


@dataclass(frozen=True)
class Regret:
    """What one move cost. `time`, `group`: its slot and its alias group.

    `played`: the best line found that begins with the action played; `other`: the best with another
    one. `missed_us`: the better of the two less the game as it was played, never negative.
    `best_us`: by legal action, what the best line found that begins with it saves.
    """

    move: int
    time: int
    group: int
    played: Line
    other: Line
    missed_us: float
    best_us: Mapping[int, float]

    @property
    def lead_us(self) -> float:
        """`other` less `played`; negative: the action played was the best by so much."""
        return _difference(self.other.total_us, self.played.total_us)

    @property
    def regret_us(self) -> float:
        """What the move cost; 0 if no better action was found."""
        return max(0.0, self.lead_us)

    @property
    def stakes_us(self) -> float:
        """How far the best and the worst action lie apart; 0: all continuations tie."""
        return _difference(max(self.best_us.values()), min(self.best_us.values()))

    @property
    def best_actions(self) -> tuple[int, ...]:
        """The actions whose lines are as good as the best one."""
        most = max(self.best_us.values())
        return tuple(a for a, us in self.best_us.items() if _difference(most, us) == 0)

    @property
    def at_once_us(self) -> float:
        """What the other action saves more than the played one, at this very move."""
        return self.other.at_once_us - self.played.at_once_us

    @property
    def punished(self) -> float:
        """The share of the regret that was felt at once, 0 (all of it came later) to 1."""
        if self.regret_us == 0:
            return 0.0
        return min(1.0, max(0.0, self.at_once_us / self.regret_us))


class RegretStudy:
    """The regrets of one game, computed as they are asked for, each once.

    `known`: the regrets computed so far, by move. `choices`: the moves that left a choice; the
    others have no regret.
    """

    def __init__(
        self,
        program: Program,
        actions: Sequence[int],
        rules: Rules,
        continuations: Mapping[str, Continuation] | None = None,
    ) -> None:
        """`continuations`, by name, are tried besides the usual two.

        Raises CheckpointError unless the actions are a whole game under these rules.
        """
        self.program, self.rules = program, rules
        self.known: dict[int, Regret] = {}
        self.choices: list[int] = []
        self._actions = bytes(int(action) for action in actions)
        self._kept: list[ReferenceGame] = []
        self._rewards = self._along(ReferenceGame(program, rules))
        tail = np.cumsum(np.array([*self._rewards, 0.0])[::-1])[::-1]
        self._to_go = [float(reward) for reward in tail]
        self._continuations: dict[str, Continuation] = {
            AS_PLAYED: likewise(self._actions, self._rewards),
            GREEDY: best_action,
            **(continuations or {}),
        }

    @property
    def actions(self) -> bytes:
        """The game as it was played, one byte per move."""
        return self._actions

    @property
    def completeness(self) -> float:
        """The share of the moves with a choice whose regret is known; 1 if there are none."""
        return len(self.known) / len(self.choices) if self.choices else 1.0

    @property
    def saved_us(self) -> float:
        """What the game as it was played saves against all slow."""
        return self._us(self._to_go[0])

    @property
    def best(self) -> tuple[bytes, float]:
        """The best whole game among all lines found, and what it saves more than the played one."""
        regret = max(self.known.values(), key=lambda r: r.missed_us, default=None)
        if regret is None or regret.missed_us == 0:
            return self._actions, 0.0
        line = max(regret.played, regret.other, key=lambda line: line.total_us)
        return self._actions[: regret.move] + line.actions, regret.missed_us

    def run(
        self, order: Iterable[int] | None = None, seconds: float = math.inf
    ) -> Iterator[Regret]:
        """Yield regrets that are not known yet, in the order wished, until the time is over.

        The move in work is finished. `order`: moves, such as the most surprising first; those
        without a choice are passed over; the order of the game if None.
        """
        deadline = time.perf_counter() + seconds
        open_moves = set(self.choices) - set(self.known)
        for move in self.choices if order is None else order:
            if time.perf_counter() >= deadline:
                return
            if move in open_moves:
                open_moves.remove(move)
                yield self.at(move)

    def at(self, move: int) -> Regret:
        """The regret of one move, computed if it is not known. KeyError if it had no choice."""
        if move not in self.known:
            self.known[move] = self._study(move)
        return self.known[move]

    def _along(self, game: ReferenceGame) -> list[float]:
        """The rewards of the whole game by move; keeps positions and choices on the way."""
        if len(self._actions) != game.num_moves:
            raise CheckpointError(
                f"{self.program.name}: the game has {len(self._actions)} actions, the program"
                f" {game.num_moves} moves; trace it again"
            )
        rewards = []
        for move, action in enumerate(self._actions):
            if move % EVERY == 0:
                self._kept.append(game.clone())
            legal = game.legal()
            if action >= NUM_ACTIONS or not legal[action]:
                name = ACTION_NAMES[action] if action < NUM_ACTIONS else str(action)
                raise CheckpointError(
                    f"{self.program.name}: {name} at move {move + 1} is illegal under place rule"
                    f" {game.rules.place!r}; pass the rules that the game was played by"
                )
            if sum(legal) > 1:
                self.choices.append(move)
            rewards.append(game.step(action))
        return rewards

    def _position(self, move: int) -> ReferenceGame:
        game = self._kept[move // EVERY].clone()
        for action in self._actions[game.move_index : move]:
            game.step(action)
        return game

    def _study(self, move: int) -> Regret:
        before = self._position(move)
        legal = before.legal_actions()
        if len(legal) < 2:
            raise KeyError(f"move {move} left no choice")
        as_played = self._as_played(move)
        own, others = [as_played], list[Line]()
        for action in (a for a in legal if a != as_played.action):
            for name in self._continuations:
                others += self._line(before, action, name)
        # With strict rules all other actions may end in a dead end; then there is no regret.
        other = max(others or own, key=lambda line: line.total_us)
        if other.total_us > as_played.total_us:
            for name in (n for n in self._continuations if n != AS_PLAYED):
                own += self._line(before, as_played.action, name)
        played = max(own, key=lambda line: line.total_us)
        best_us = max(played.total_us, other.total_us)
        return Regret(
            move=move,
            time=before.move.time,
            group=before.move.group,
            played=played,
            other=other,
            missed_us=_difference(best_us, as_played.total_us),
            best_us=_best_by_action([*own, *others]),
        )

    def _as_played(self, move: int) -> Line:
        return Line(
            actions=self._actions[move:],
            continuation=AS_PLAYED,
            at_once_us=self._us(self._rewards[move]),
            total_us=self._us(self._to_go[move]),
        )

    def _line(self, before: ReferenceGame, action: int, name: str) -> list[Line]:
        """A list of the one line, or an empty one if it ends in a dead end."""
        game = before.clone()
        at_once = game.step(action)
        later = finish(game, self._continuations[name])
        if later is None:
            return []
        actions = bytes(game.actions[before.move_index :])
        return [Line(actions, name, self._us(at_once), self._us(at_once + later))]

    def _us(self, share: float) -> float:
        return share * self.program.all_slow_s * MICRO


def _best_by_action(lines: Iterable[Line]) -> dict[int, float]:
    best_us: dict[int, float] = {}
    for line in lines:
        best_us[line.action] = max(line.total_us, best_us.get(line.action, -math.inf))
    return best_us


def _difference(first_us: float, second_us: float) -> float:
    is_equal = math.isclose(first_us, second_us, rel_tol=ROUNDING)
    return 0.0 if is_equal else first_us - second_us


def study_of(
    trace: SearchTrace,
    program: Program,
    rules: Rules,
    continuations: Mapping[str, Continuation] | None = None,
) -> RegretStudy:
    """The study of a traced game.

    Raises CheckpointError if the trace belongs to another program or to other rules.
    """
    if trace.program_hash != content_hash(program):
        raise CheckpointError(
            f"{program.name}: the trace is of {trace.program}, or of another version of it;"
            " trace a game of this program"
        )
    study = RegretStudy(program, [int(a) for a in trace.action], rules, continuations)
    points = float(trace.reward.sum(dtype=np.float64) + trace.par[0] - trace.par[-1])
    if abs(points - study.saved_us / (trace.point_s * MICRO)) > TOLERANCE_POINTS:
        raise CheckpointError(
            f"{program.name}: the traced game earned otherwise under place rule {rules.place!r};"
            " pass the rules that it was played by"
        )
    return study

"""What another action would have led to: the game played on from there, and its exact runtime.

Every answer is a whole plan that the checker passed and the simulator timed; nothing is estimated.
A continuation of the game obeys the forced action. `local` works on the finished plan, outside the
game, and may undo the action; `keeps_action` says whether it did.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.debugging.games import Continuation, finish, likewise
from engine.debugging.trace_units import MICRO
from engine.errors import PlanError, UsageError
from engine.game.moves import ACTION_NAMES, NUM_ACTIONS, Rules
from engine.game.notes import notes_of
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.plan.check import check
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program

AS_PLAYED, GREEDY, POLICY, SEARCH, LOCAL = "as played", "greedy", "policy", "search", "local"
"""How to go on after a forced action. `POLICY`, `SEARCH`: see `engine.debugging.games`."""


@dataclass(frozen=True)
class Counterfactual:
    """One answer. `latency_s`: of `plan`; `original_s`: of the game as it was played.

    `actions`: the whole game, or None where the plan is not one of the game (`LOCAL`).
    `keeps_action`: whether the plan serves the touch of the move as the forced action would.
    """

    move: int
    action: int
    continuation: str
    actions: tuple[int, ...] | None
    plan: Plan
    latency_s: float
    original_s: float
    keeps_action: bool = True

    @property
    def change_us(self) -> float:
        """Microseconds more than the game as it was played; negative: faster."""
        return (self.latency_s - self.original_s) * MICRO


class Forcing:
    """Forces actions in one game of a program and says what comes of it.

    Raises UsageError if the actions are not a whole game under these rules.
    """

    def __init__(self, program: Program, actions: Sequence[int], rules: Rules) -> None:
        self.program, self.rules = program, rules
        self.actions = tuple(int(action) for action in actions)
        game, self._rewards = ReferenceGame(program, rules), list[float]()
        if len(self.actions) != game.num_moves:
            raise UsageError(
                f"{program.name}: the game has {len(self.actions)} actions, the program"
                f" {game.num_moves} moves; trace it again"
            )
        for move, action in enumerate(self.actions):
            _refuse_illegal(game, move, action)
            self._rewards.append(game.step(action))
        self.original_s = _timed(program, game.plan(AS_PLAYED))

    def begun(self, move: int, action: int) -> tuple[int, ...]:
        """The actions up to the forced one. Raises UsageError if it is not legal there."""
        self._forced(move, action)
        return (*self.actions[:move], action)

    def play(self, move: int, action: int, continuation: str) -> Counterfactual:
        """The answer where the forced action is followed `AS_PLAYED` or `GREEDY`.

        Raises UsageError for another continuation, an illegal action, or a dead end.
        """
        known: dict[str, Continuation] = {
            AS_PLAYED: likewise(self.actions, self._rewards),
            GREEDY: best_action,
        }
        if continuation not in known:
            raise UsageError(f"{continuation!r} does not go on by itself; {', '.join(known)} do")
        game = self._forced(move, action)
        if finish(game, known[continuation]) is None:
            raise UsageError(f"{ACTION_NAMES[action]} at move {move + 1} ends in a dead end")
        return self._answer(game, move, action, continuation)

    def played(self, actions: Sequence[int], move: int, name: str) -> Counterfactual:
        """The answer of somebody who played the whole game on from the forced action at `move`.

        Raises UsageError if these actions are not such a game.
        """
        game = self._forced(move, int(actions[move]))
        if tuple(actions[:move]) != self.actions[:move] or len(actions) != len(self.actions):
            raise UsageError(f"{name}: its game leaves the original before move {move + 1}")
        for number in range(move + 1, len(actions)):
            _refuse_illegal(game, number, int(actions[number]))
            game.step(int(actions[number]))
        return self._answer(game, move, int(actions[move]), name)

    def by_local(
        self, move: int, action: int, seconds: float, progress: Callable[[float, str], bool]
    ) -> Counterfactual:
        """The answer whose plan the local search makes of the forced game's in so many seconds."""
        # Imported late: who forces an action and goes on by the rules needs no solver.
        from engine.solvers import Budget
        from engine.solvers.local.solver import search_locally

        start = self.play(move, action, AS_PLAYED)
        options = {"start": start.plan}
        budget = Budget(seconds, 0, progress, options)
        plan = search_locally(self.program, budget, time.perf_counter)
        touch = ReferenceGame(self.program, self.rules).moves[move].touch
        return Counterfactual(
            move=move,
            action=action,
            continuation=LOCAL,
            actions=None,
            plan=plan,
            latency_s=_timed(self.program, plan),
            original_s=self.original_s,
            keeps_action=touch < 0
            or _is_fast(self.program, plan, touch) == _is_fast(self.program, start.plan, touch),
        )

    def _forced(self, move: int, action: int) -> ReferenceGame:
        if not 0 <= move < len(self.actions):
            raise UsageError(f"move {move + 1}: the game has the moves 1 to {len(self.actions)}")
        game = ReferenceGame(self.program, self.rules)
        for earlier in self.actions[:move]:
            game.step(earlier)
        _refuse_illegal(game, move, action)
        game.step(action)
        return game

    def _answer(
        self, game: ReferenceGame, move: int, action: int, continuation: str
    ) -> Counterfactual:
        plan = game.plan("what if", notes_of(game))
        latency_s = _timed(self.program, plan)
        actions = tuple(game.actions)
        return Counterfactual(move, action, continuation, actions, plan, latency_s, self.original_s)


def _refuse_illegal(game: ReferenceGame, move: int, action: int) -> None:
    if not 0 <= action < NUM_ACTIONS or not game.effect(action).is_legal:
        name = ACTION_NAMES[action] if 0 <= action < NUM_ACTIONS else str(action)
        raise UsageError(f"{game.program.name}: {name} is illegal at move {move + 1}")


def _timed(program: Program, plan: Plan) -> float:
    """Runtime of a plan. Raises PlanError if the checker refuses it."""
    violation = check(program, plan)
    if violation is not None:
        raise PlanError(f"{program.name}: breaks {violation.rule}: {violation.message}")
    return simulate(program, plan).latency_s


def _is_fast(program: Program, plan: Plan, touch: int) -> bool:
    return plan.is_fast[program.touches[touch].accesses[0]]

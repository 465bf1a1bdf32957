"""The judge of lessons: verdicts on finished games, and the best continuation of a position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from engine.errors import LessonError
from engine.game.drop_backup import drop_backup
from engine.game.moves import DROP
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action, immediate_reward
from engine.lessons.lesson import Lesson
from engine.plan.check import check
from engine.plan.simulate import Simulation, simulate

MOST_POSITIONS = 60_000
"""More would keep a page waiting: a lesson's board is small."""
MOST_MOVES = 500
"""The search goes one deeper with each, and Python's stack is not endless."""
_HAIR = 1e-12
"""Shares of all slow that are the rounding of a sum."""


@dataclass(frozen=True)
class Best:
    """The actions from a position to the end, and the reward of the whole game."""

    actions: tuple[int, ...]
    total_reward: float


def best_from(
    game: ReferenceGame, counts: Callable[[ReferenceGame], bool] = lambda end: True
) -> Best | None:
    """The best continuation of a game, which is left as it is; None if all are dead ends.

    `counts`: whether a finished game does. Depth first, what earns most at once before the rest; a
    branch ends where even all gains that are left would not be better. Raises LessonError for a
    board that takes too many positions.
    """
    return _Search(game, counts).run()


def look_ahead(game: ReferenceGame, action: int, depth: int) -> float | None:
    """The most that `depth` moves from here on can earn if the first is `action`; None: a dead end.

    What comes after these moves counts for nothing: a search does not see it.
    """
    after = game.clone()
    reward = after.step(action)
    if after.is_over or depth <= 1:
        return reward
    rest = [look_ahead(after, a, depth - 1) for a in after.legal_actions()]
    known = [r for r in rest if r is not None]
    return reward + max(known) if known else None


class _Search:
    def __init__(self, game: ReferenceGame, counts: Callable[[ReferenceGame], bool]) -> None:
        self._root, self._counts = game, counts
        self._num_positions = 0
        self._best: Best | None = None
        self._left = [0.0]
        for move in reversed(game.moves):
            self._left.append(self._left[-1] + max(0.0, move.saving_s) / game.program.all_slow_s)
        self._left.reverse()

    def run(self) -> Best | None:
        if len(self._root.moves) - self._root.move_index > MOST_MOVES:
            raise self._too_large(f"{MOST_MOVES} moves")
        self._visit(self._root)
        return self._best

    def _visit(self, game: ReferenceGame) -> None:
        if self._best is not None:
            most = game.total_reward + self._left[game.move_index]
            if most <= self._best.total_reward + _HAIR:
                return
        if game.is_over:
            if self._counts(game):
                self._best = Best(tuple(game.actions[self._root.move_index :]), game.total_reward)
            return
        self._num_positions += 1
        if self._num_positions > MOST_POSITIONS:
            raise self._too_large(f"{MOST_POSITIONS:,} positions")
        for action in sorted(game.legal_actions(), key=lambda a: -immediate_reward(game, a)):
            following = game.clone()
            following.step(action)
            self._visit(following)

    def _too_large(self, most: str) -> LessonError:
        return LessonError(f"{self._root.program.name}: more than {most}; take fewer steps")


MOST_STARS = 3
_HAIR_S = 1e-10
"""Seconds that are the rounding of the game's ticks: a tenth of a nanosecond."""


@dataclass(frozen=True)
class Condition:
    """One condition of a goal: in words, and whether it holds."""

    text: str
    is_met: bool


@dataclass(frozen=True)
class Verdict:
    """What a finished game is worth. `stars`: 0 … 3, three for the optimum."""

    conditions: tuple[Condition, ...]
    latency_s: float
    stall_s: float
    stars: int

    @property
    def is_reached(self) -> bool:
        """Whether every condition of the goal holds."""
        return all(condition.is_met for condition in self.conditions)


class Judge:
    """Knows what a lesson's board allows; nothing of it is stored in the lesson."""

    def __init__(self, lesson: Lesson) -> None:
        """The optimum is looked for when it is first asked for."""
        self.lesson = lesson

    @cached_property
    def best(self) -> Best:
        """The best game from the start position. Raises LessonError if there is none."""
        best = best_from(self.lesson.begin())
        if best is None:
            raise LessonError(f"{self.lesson.name}: every continuation is a dead end")
        return best

    @cached_property
    def optimum_s(self) -> float:
        """The simulated latency of the best game."""
        return _simulated(self._end_of(self.best)).latency_s

    def _end_of(self, best: Best) -> ReferenceGame:
        game = self.lesson.begin()
        for action in best.actions:
            game.step(action)
        return game

    @cached_property
    def rival_s(self) -> float:
        """Simulated latency of the solver to beat; infinite without one."""
        if not self.lesson.goal.beat:
            return float("inf")
        # Who only reads lessons need not wait for all solvers to be imported.
        from engine.solvers import Budget, solve

        program = self.lesson.program
        return simulate(program, solve(self.lesson.goal.beat, program, Budget(1.0))).latency_s

    @property
    def limit_s(self) -> float:
        """The latency at which the goal's conditions on the latency are just met."""
        goal, limits = self.lesson.goal, [self.lesson.program.all_slow_s]
        if goal.is_optimum:
            limits.append(self.optimum_s)
        if goal.within is not None:
            limits.append(self.optimum_s * (1 + goal.within))
        if goal.save_s is not None:
            limits.append(self.lesson.program.all_slow_s - goal.save_s)
        return min(*limits, self.rival_s)

    def verdict(self, game: ReferenceGame, dead_ends: int = 0) -> Verdict:
        """Judge a finished game in which `dead_ends` were undone.

        Raises ValueError unless it is over, LessonError if the checker rejects its plan.
        """
        result = _simulated(game)
        latency_s, stall_s = result.latency_s, result.stall_s
        conditions = self.conditions(latency_s, stall_s, dead_ends)
        stars = self._stars(latency_s) if all(c.is_met for c in conditions) else 0
        return Verdict(conditions, latency_s, stall_s, stars)

    def conditions(
        self, latency_s: float, stall_s: float, dead_ends: int = 0
    ) -> tuple[Condition, ...]:
        """The goal's conditions, and whether a game with these figures meets them."""
        goal = self.lesson.goal
        conditions = self._on_latency(latency_s)
        if goal.stall_s is not None:
            text = _wait_text(goal.stall_s)
            conditions.append(Condition(text, stall_s <= goal.stall_s + _HAIR_S))
        if goal.dead_ends is not None:
            text = f"At most {goal.dead_ends} dead ends" if goal.dead_ends else "No dead end"
            conditions.append(Condition(text, dead_ends <= goal.dead_ends))
        return tuple(conditions)

    def out_of_reach(self) -> tuple[str, ...]:
        """The conditions that no game meets, or none all together, in words; empty if one does.

        A game without dead ends is among the best ones, so that those on latency and waiting
        decide. Raises LessonError for a large board.
        """
        best_s, most_s = self.optimum_s, self.lesson.goal.stall_s
        missed = tuple(c.text for c in self.conditions(best_s, 0.0) if not c.is_met)
        if missed or most_s is None:
            return missed

        def is_patient(end: ReferenceGame) -> bool:
            return _simulated(end).stall_s <= most_s + _HAIR_S

        best = best_from(self.lesson.begin(), is_patient)
        if best is None:
            return (_wait_text(most_s),)
        latency_s = _simulated(self._end_of(best)).latency_s
        missed = tuple(c.text for c in self.conditions(latency_s, 0.0) if not c.is_met)
        return (*missed, _wait_text(most_s)) if missed else ()

    def _on_latency(self, latency_s: float) -> list[Condition]:
        goal, limits = self.lesson.goal, []
        if goal.is_optimum:
            text = f"Finish in {us_text(self.optimum_s)}: no plan is faster"
            limits.append((text, self.optimum_s))
        if goal.within is not None:
            limit_s = self.optimum_s * (1 + goal.within)
            share = f"{100 * goal.within:.3g} %"
            limits.append((f"Finish in {us_text(limit_s)}: {share} above the best plan", limit_s))
        if goal.save_s is not None:
            limit_s = self.lesson.program.all_slow_s - goal.save_s
            limits.append((f"Save at least {us_text(goal.save_s)}", limit_s))
        if goal.beat:
            text = f"Be faster than {goal.beat}, which takes {us_text(self.rival_s)}"
            limits.append((text, self.rival_s - 2 * _HAIR_S))
        return [Condition(text, latency_s <= limit_s + _HAIR_S) for text, limit_s in limits]

    def _stars(self, latency_s: float) -> int:
        if latency_s <= self.optimum_s + _HAIR_S:
            return MOST_STARS
        middle = (self.limit_s + self.optimum_s) / 2
        return 2 if latency_s <= middle else 1


def _wait_text(most_s: float) -> str:
    return f"Wait at most {us_text(most_s)}" if most_s else "Never wait for a copy"


def us_text(seconds: float) -> str:
    """Seconds as goals and verdicts of lessons have them, in whole microseconds."""
    return f"{seconds * 1e6:,.0f} µs"


def _simulated(game: ReferenceGame) -> Simulation:
    plan = game.plan("lesson")
    violation = check(game.program, plan)
    if violation is not None:
        raise LessonError(f"{game.program.name}: the plan breaks {violation.rule}")
    return simulate(game.program, plan)


Player = Callable[[ReferenceGame], int]


def trivial_wins(lesson: Lesson, judge: Judge) -> list[str]:
    """Which of doing nothing and greed reach the goal; neither should."""
    return [name for name, player in PLAYERS.items() if played(lesson, judge, player).is_reached]


def played(lesson: Lesson, judge: Judge, player: Player) -> Verdict:
    """The verdict on a game from the start position; dead ends are undone by Drop-backup."""
    game, dead_ends = lesson.begin(), 0
    while not game.is_over:
        if game.is_dead_end:
            drop_backup(game)
            dead_ends += 1
        else:
            game.step(player(game))
    return judge.verdict(game, dead_ends)


def always_drop(game: ReferenceGame) -> int:
    """Drop wherever that is allowed."""
    legal = game.legal()
    return DROP if legal[DROP] else legal.index(True)


PLAYERS: dict[str, Player] = {"doing nothing": always_drop, "greedy": best_action}

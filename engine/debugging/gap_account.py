"""What the gap from a game to the bound is made of, without a rest.

A game is corrected, one decision after another: another action at one move, and the rest played as
the game did or greedily, whichever is faster. A correction is taken if the whole plan, checked and
simulated, is faster; the next one starts from there. What corrections gain is *explained* by
decisions. What the best plan known is faster than the corrected game stays *open*: it does
something else at more than one move. It is listed by slot and tensor (`engine.analysis.gap`). The
rest, from the best plan known to the bound, is the *bound's*: no plan known does better.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.analysis.attribution import slow_costs, stall_costs
from engine.analysis.gap import Opening, openings
from engine.debugging.regret import RegretStudy
from engine.debugging.trace_units import MICRO
from engine.errors import PlanError
from engine.game.move_list import moves
from engine.game.moves import Rules
from engine.game.notes import noted_game, noted_rules, plan_from_actions
from engine.game.units import noise_s
from engine.plan.check import check
from engine.plan.model import Plan, Stay
from engine.plan.simulate import Simulation, simulate
from engine.program.model import Program

TRIES = 60
"""Moves at which other actions are played out, at most."""
_MOST_INSTEAD = 4
"""Tensors in the place of one that are looked at."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A decision that explains `gain_s` of the gap, after the corrections before it.

    `time`, `group`: slot and tensor of the `move`; `played`, `better`: the actions. `game`: the
    whole game after it, an action a digit.
    """

    move: int
    time: int
    group: int
    played: int
    better: int
    gain_s: float
    game: str


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections of a game as they were found. `tried`: moves played out, of `num_choices`."""

    found: tuple[Correction, ...] = ()
    tried: int = 0
    num_choices: int = 0


@dataclass(frozen=True)
class Account:
    """The parts of the gap, in seconds. `bound_s` None: no bound is known.

    `plan`, `corrected`: of the game before and after the `corrections`. `best_s`: the latency of
    the best plan known, the corrected one included. `open`: slots and tensors of what no single
    decision explains.
    """

    plan: Plan
    corrected: Plan
    plan_s: float
    corrected_s: float
    best_s: float
    bound_s: float | None
    corrections: tuple[Correction, ...]
    open: tuple[Opening, ...]

    @property
    def gap_s(self) -> float:
        """To the bound, or where none is known to the best plan known."""
        return self.plan_s - (self.best_s if self.bound_s is None else self.bound_s)

    @property
    def explained_s(self) -> float:
        """By the corrections."""
        return sum(c.gain_s for c in self.corrections)

    @property
    def open_s(self) -> float:
        """What the best plan known is faster than the corrected game."""
        return sum(opening.cost_s for opening in self.open)

    @property
    def bounds_s(self) -> float:
        """From the best plan known to the bound; 0 where no bound is known."""
        return 0.0 if self.bound_s is None else self.best_s - self.bound_s


Progress = Callable[[float, str], object]
Timed = tuple[Plan, Simulation]


def correct(
    program: Program,
    plan: Plan,
    best: Plan | None,
    *,
    tries: int = TRIES,
    seconds: float = math.inf,
    progress: Progress = lambda share, message: None,
) -> Corrections:
    """Correct the game that a plan notes; none of a plan that notes no game.

    `best`: the best plan known, which says where to look first. Raises PlanError for a plan that
    breaks a rule.
    """
    game, rules = noted_game(program, plan), noted_rules(plan)
    if game is None or rules is None:
        return Corrections()
    known = None if best is None else _timed(program, best)
    work = _Search(program, rules, game.actions, known)
    work.run(tries, time.perf_counter() + seconds, progress)
    return Corrections(tuple(work.found), work.tried, len(work.study.choices))


def account(
    program: Program,
    plan: Plan,
    best: Plan | None,
    bound_s: float | None,
    corrections: Sequence[Correction] = (),
) -> Account:
    """The account of a plan, given the corrections of its game. `best`: the best plan known.

    Raises PlanError for a plan that breaks a rule.
    """
    known = None if best is None else _timed(program, best)
    first = current = _timed(program, plan)
    rules = noted_rules(plan)
    if corrections and rules is not None:
        actions = tuple(map(int, corrections[-1].game))
        current = _timed(program, plan_from_actions(program, actions, "corrected", rules))
    corrected_s = current[1].latency_s
    is_ahead = known is not None and known[1].latency_s < corrected_s
    return Account(
        plan=first[0],
        corrected=current[0],
        plan_s=first[1].latency_s,
        corrected_s=corrected_s,
        best_s=known[1].latency_s if known is not None and is_ahead else corrected_s,
        bound_s=bound_s,
        corrections=tuple(corrections),
        open=tuple(openings(program, known, current)) if known is not None and is_ahead else (),
    )


def moves_of_the_gap(program: Program, plan: Plan, best: Plan | None) -> tuple[int, ...]:
    """The moves of a noted game, those first of which the gap to the best plan known is made."""
    game, rules = noted_game(program, plan), noted_rules(plan)
    if game is None or rules is None:
        return ()
    known = None if best is None else _timed(program, best)
    return tuple(_Search(program, rules, game.actions, known).order())


class _Search:
    """A game that gets better, one decision at a time."""

    def __init__(
        self, program: Program, rules: Rules, actions: Sequence[int], best: Timed | None
    ) -> None:
        self.program, self.rules, self.best = program, rules, best
        self.tried = 0
        self.found: list[Correction] = []
        self.moves = moves(program)
        self.of_group: dict[int, list[int]] = {}
        for number, move in enumerate(self.moves):
            if not move.is_sink:
                self.of_group.setdefault(move.group, []).append(number)
        self._take(bytes(actions))

    def _take(self, actions: bytes) -> None:
        self.study = RegretStudy(self.program, actions, self.rules)
        plan = plan_from_actions(self.program, actions, "corrected", self.rules)
        self.current = _timed(self.program, plan)

    def run(self, tries: int, deadline: float, progress: Progress) -> None:
        """Correct until nothing is found any more, or the tries or the time are over."""
        done: set[int] = set()
        is_news = True
        while is_news:
            is_news, choices = False, set(self.study.choices)
            for move in self.order():
                if move in done or move not in choices:
                    continue
                if self.tried >= tries or time.perf_counter() >= deadline:
                    return
                self.tried += 1
                done.add(move)
                progress(self.tried / tries, f"{len(self.found)} decisions corrected")
                if self._corrects(move):
                    # What is worth a look, and what it gains, is another game's now.
                    is_news = True
                    break

    def _corrects(self, move: int) -> bool:
        """Take the better action at a move, if there is one; whether that made the plan faster."""
        regret = self.study.at(move)
        missed_s = regret.missed_us / MICRO
        before_s = self.current[1].latency_s
        if regret.lead_us <= 0 or missed_s < noise_s(before_s - self._goal_s(before_s)):
            return False
        study, current = self.study, self.current
        self._take(study.actions[:move] + regret.other.actions)
        gain_s = before_s - self.current[1].latency_s
        if gain_s <= 0:
            self.study, self.current = study, current
            return False
        played, better = study.actions[move], regret.other.action
        game = "".join(map(str, self.study.actions))
        found = Correction(move, regret.time, regret.group, played, better, gain_s, game)
        self.found.append(found)
        return True

    def _goal_s(self, otherwise_s: float) -> float:
        return otherwise_s if self.best is None else self.best[1].latency_s

    def order(self) -> Iterator[int]:
        """The moves that what is left of the gap is made of, the largest part first.

        Of a tensor that costs more in a slot: its own moves since the best plan's stay begins, the
        last first, or without any the last one before; then those of the tensors that stand in that
        stay's place instead.
        """
        offered: set[int] = set()
        for slot, group in self._parts():
            stay = self._best_stay(group, slot)
            begin = slot if stay is None else stay.start
            candidates = self._moves(group, begin, slot) or self._moves(group, -1, slot)[:1]
            for other in self._instead(stay):
                candidates += self._moves(other.group, other.start, min(slot, other.end))[:1]
            for number in candidates:
                if number not in offered:
                    offered.add(number)
                    yield number

    def _moves(self, group: int, begin: int, end: int) -> list[int]:
        """The moves of a tensor in slots `[begin, end]`, the last first."""
        numbers = self.of_group.get(group, ())
        return [n for n in reversed(numbers) if begin <= self.moves[n].time <= end]

    def _instead(self, stay: Stay | None) -> list[Stay]:
        """Stays of the current game in the place of one of the best plan's, the longest first."""
        if stay is None or self.best is None:
            return []
        end = stay.offset + self.program.groups[stay.group].size_bytes
        known = set(self.best[0].stays)
        found = [
            s
            for s in self.current[0].stays
            if s.start < stay.end
            and stay.start < s.end
            and s.offset < end
            and stay.offset < s.offset + self.program.groups[s.group].size_bytes
            and s.group != stay.group
            and s not in known
        ]
        return sorted(found, key=lambda s: s.start - s.end)[:_MOST_INSTEAD]

    def _parts(self) -> list[tuple[int, int]]:
        """Slots and tensors that cost more than under the best plan known, the dearest first.

        Without one: that cost anything at all.
        """
        if self.best is None:
            cost_s = dict(slow_costs(self.program, self.current[0]))
            for place, seconds in stall_costs(self.program, *self.current).items():
                cost_s[place] = cost_s.get(place, 0.0) + seconds
        else:
            cost_s = {
                (opening.time, share.group): share.cost_s
                for opening in openings(self.program, self.best, self.current)
                for share in opening.shares
            }
        dear = [place for place, seconds in cost_s.items() if seconds > 0]
        return sorted(dear, key=lambda place: -cost_s[place])

    def _best_stay(self, group: int, slot: int) -> Stay | None:
        """The best plan's stay of a tensor that holds a slot."""
        stays: Sequence[Stay] = () if self.best is None else self.best[0].stays
        return next((s for s in stays if s.group == group and s.start <= slot < s.end), None)


def _timed(program: Program, plan: Plan) -> Timed:
    """A plan with its run. Raises PlanError if the checker refuses it."""
    violation = check(program, plan)
    if violation is not None:
        raise PlanError(f"{program.name}: breaks {violation.rule}: {violation.message}")
    return plan, simulate(program, plan)

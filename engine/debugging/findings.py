"""The inbox of a debugger: every decision of traced games with all that can be said against it.

A finding is one move. What it cost comes from whole games that were played out
(`engine.debugging.regret`), what the agent thought from its trace, and what its search imagined
from the rules. A class (`?!`, `?`, `??`) stands only where the search has looked and something was
at stake (`engine.debugging.regret`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.agent.trace_io import SearchTrace
from engine.debugging.model_error import drift_by_move_us
from engine.debugging.regret import NO_CHOICE, TIE, Regret, RegretStudy, unjudged, verdict
from engine.debugging.surprise import Surprise, surprises
from engine.debugging.trace_units import MICRO
from engine.debugging.tree_replay import illegal_share, replay_tree
from engine.game.moves import ACTION_NAMES
from engine.game.reference.game import ReferenceGame
from engine.program.model import Group

VERSION = 1
"""Version of a finding's fields: findings kept under another version are measured again."""
CONFIDENT = 0.5
"""A prior with so much more on its first choice than on the best action is confidently wrong."""
LOUD_POINTS = 2.0
"""A value jump, or a drift of the model, of so many points or more is a sign."""
ILLEGAL_SHARE = 0.5
"""Such a share of the simulations, or more, through actions that the rules forbid is a sign."""
AT_ONCE, LATER = "at once", "later"
"""When most of a regret is felt: in this move's own reward, or after it."""
PHASES = ("early", "middle", "late")
"""Thirds of the moves of the game."""
WRONG_PRIOR, VALUE_JUMP, DRIFT, ILLEGAL, PAID_LATER = (
    "confidently wrong prior",
    "value jump",
    "model drift",
    "illegal imagination",
    "punished later",
)
SIGNS = (WRONG_PRIOR, VALUE_JUMP, DRIFT, ILLEGAL, PAID_LATER)


@dataclass(frozen=True)
class Finding:
    """One move of one game; plain values. Times are microseconds, shares 0 to 1.

    `game`: name of the game; `move`: from 0. `kind`: input, temporary or output. `pressure`: share
    of fast memory that is taken in the slot, scratch included. `action`, `better`: what was played,
    and what is better if anything is. `visits`: of the root's actions. `surprise`: index
    (`engine.debugging.surprise`); `value_jump_us`: how much better than expected it turned out;
    `drift_us`: how wrong the model imagined what followed; `illegal`: share of the simulations
    through forbidden actions. `regret_us`, `stakes_us`, `wrong_prior`: what the move cost, how far
    its actions lie apart, and how much more prior stood on the first choice than on the best action
    if these differ; None where nothing was played out. `punished`: `AT_ONCE`, `LATER` or empty.
    `verdict`: one of `engine.debugging.regret.CLASSES`, or empty; `unjudged`: why there can be
    none, or empty.
    """

    game: str
    move: int
    slot: int
    group: int
    tensor: str
    instruction: str
    kind: str
    size_bytes: int
    pressure: float
    phase: str
    action: str
    better: str
    visits: int
    surprise: float
    value_jump_us: float
    drift_us: float
    illegal: float
    regret_us: float | None
    stakes_us: float | None
    wrong_prior: float | None
    punished: str
    verdict: str
    unjudged: str
    signs: tuple[str, ...]

    @property
    def has_stakes(self) -> bool:
        """False where there was no choice, or all continuations are known to tie."""
        return self.unjudged not in _WITHOUT_STAKES


_WITHOUT_STAKES = (NO_CHOICE, TIE)


def findings(game: str, trace: SearchTrace, study: RegretStudy) -> list[Finding]:
    """Every move of a traced game, in its order; regrets as far as `study` knows them."""
    drift_us = drift_by_move_us(trace)
    visits = trace.root_visits().sum(axis=1)
    by_move = {surprise.move: surprise for surprise in surprises(trace).all()}
    rows = []
    for move, position in enumerate(_positions(study)):
        facts = _Facts(
            game=game,
            position=position,
            trace=trace,
            surprise=by_move[move],
            drift_us=float(drift_us[move]),
            visits=int(visits[move]),
            regret=study.known.get(move),
        )
        rows.append(facts.finding())
    return rows


def inbox(rows: Iterable[Finding]) -> list[Finding]:
    """The findings at which something is at stake, the costliest first.

    Among equal regrets the more surprising move comes first, then the order given.
    """
    kept = [finding for finding in rows if finding.has_stakes]
    return sorted(kept, key=lambda f: (-(f.regret_us or 0.0), -f.surprise))


def _positions(study: RegretStudy) -> Iterator[ReferenceGame]:
    """The position before each move of the game; the next one changes it."""
    game = ReferenceGame(study.program, study.rules)
    for action in study.actions:
        yield game
        game.step(action)


@dataclass(frozen=True)
class _Facts:
    """The parts of a finding: the `position` before the move, and what was measured at it."""

    game: str
    position: ReferenceGame
    trace: SearchTrace
    surprise: Surprise
    drift_us: float
    visits: int
    regret: Regret | None

    def finding(self) -> Finding:
        move, trace, program = self.surprise.move, self.trace, self.position.program
        facts, group = self.position.move, program.groups[self.position.move.group]
        stakes_us = None if self.regret is None else self.regret.stakes_us
        reason = unjudged(int(trace.legal[move].sum()), self.visits, stakes_us)
        cost_us = None if self.regret is None else self.regret.regret_us
        points = (cost_us or 0.0) / (trace.point_s * MICRO)
        is_end = facts.time >= program.num_slots
        illegal = _illegal_share(self.position, trace, move)
        punished, wrong = _punished(self.regret), self._wrong_prior()
        return Finding(
            game=self.game,
            move=move,
            slot=facts.time,
            group=facts.group,
            tensor=program.values[group.values[0]].name,
            instruction="end" if is_end else program.instructions[facts.time].name,
            kind=kind_of(group),
            size_bytes=group.size_bytes,
            pressure=pressure(self.position),
            phase=PHASES[len(PHASES) * move // trace.num_moves],
            action=ACTION_NAMES[trace.action[move]],
            better=ACTION_NAMES[self.regret.other.action] if self.regret and cost_us else "",
            visits=self.visits,
            surprise=self.surprise.index,
            value_jump_us=self.surprise.value_jump_us,
            drift_us=self.drift_us,
            illegal=illegal,
            regret_us=cost_us,
            stakes_us=stakes_us,
            wrong_prior=wrong,
            punished=punished,
            verdict="" if reason else verdict(points),
            unjudged=reason,
            signs=self._signs(wrong, illegal, punished),
        )

    def _wrong_prior(self) -> float | None:
        if self.regret is None:
            return None
        prior = self.trace.prior[self.surprise.move]
        first, best = int(prior.argmax()), self.regret.best_actions
        return 0.0 if first in best else float(prior[first] - max(prior[a] for a in best))

    def _signs(self, wrong: float | None, illegal: float, punished: str) -> tuple[str, ...]:
        loud_us = LOUD_POINTS * self.trace.point_s * MICRO
        seen = {
            WRONG_PRIOR: (wrong or 0.0) >= CONFIDENT,
            VALUE_JUMP: abs(self.surprise.value_jump_us) >= loud_us,
            DRIFT: self.drift_us >= loud_us,
            ILLEGAL: illegal >= ILLEGAL_SHARE,
            PAID_LATER: punished == LATER,
        }
        return tuple(sign for sign in SIGNS if seen[sign])


def kind_of(group: Group) -> str:
    """The group's kind: input, temporary or output."""
    return "output" if group.is_live_out else "input" if group.is_input else "temporary"


def pressure(game: ReferenceGame) -> float:
    """The share of fast memory that is taken in the slot of the move, scratch included."""
    numbers, time = game.facts.numbers, min(game.move.time, game.program.num_slots - 1)
    standing = [*game.state.live.values(), *(b for b in game.state.ended if b.stands_at(time))]
    taken = sum(block.size for block in standing if block.start <= time) + numbers.reserved[time]
    return float(taken / max(1, numbers.fast_granules))


def _punished(regret: Regret | None) -> str:
    if regret is None or regret.regret_us == 0:
        return ""
    return AT_ONCE if regret.punished >= 1 - regret.punished else LATER


def _illegal_share(position: ReferenceGame, trace: SearchTrace, move: int) -> float:
    parent, visits = trace.tree_parent[move].tolist(), trace.tree_visits[move].tolist()
    count = sum(v > 0 for v in visits)
    action = [max(0, a) for a in trace.tree_action[move].tolist()]
    replayed = replay_tree(position, parent[:count], action[:count], visits[:count])
    return illegal_share(replayed.state.tolist(), parent[:count], visits[:count])

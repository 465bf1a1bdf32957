"""A challenge on a real program: its opponents, its rules, and who plays what is not yours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.lessons.positions import Mined
from engine.lessons.rungs import Rung, play_on, rungs, weighty_moves
from engine.lessons.strong import Judged, Recorded, judged
from engine.plan.io import plan_from_json
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.program.reading import reading_warning
from ui.model.learn.attempt import Attempt

EVERY = 10**6
"""The number of decisions that stands for all of them."""
CHOICES = (10, 15, 30, 60, EVERY)
_LEAST_COST = 2e-3
"""Share of the all-slow runtime that a move must cost to be taken back."""
CLEAR_LEAD = 0.025
"""Share of greedy's runtime from which on a lead over it counts as clear."""
_GREEDY = "greedy"
"""A best known solver; programs on which it is the best are no challenge."""


@dataclass(frozen=True)
class Match:
    """A challenge on one program: its rules, its opponents, and games to judge moves by.

    `rungs`: the opponents, the weakest first. `games`: strong games, the best first. `decisive`:
    moves at which greed goes wrong, always the visitor's own.
    """

    program: Program
    rules: Rules
    rungs: tuple[Rung, ...]
    games: tuple[Recorded, ...]
    bound_s: float | None
    decisive: tuple[int, ...] = ()

    def attempt(self, decisions: int) -> Attempt:
        """A new game in which the decisive and the weightiest moves are the visitor's, the rest
        greedy's.
        """
        others = max(0, decisions - len(self.decisive))
        own = weighty_moves(self.program, self.rules, others) | frozenset(self.decisive)
        game = ReferenceGame(self.program, self.rules)
        play_on(game, own)
        return Attempt.from_start(game, lambda g: play_on(g, own))

    def judged(self, game: ReferenceGame) -> dict[int, Judged]:
        """What each action of a position is worth."""
        return judged(game, self.games)

    def cost_s(self, values: dict[int, Judged], action: int) -> float:
        """What an action loses against the best one; nothing if it is too little to matter."""
        lost_s = max(j.saved_s for j in values.values()) - values[action].saved_s
        return lost_s if lost_s > _LEAST_COST * self.program.all_slow_s else 0.0

    def won(self, latency_s: float) -> tuple[Rung, ...]:
        """The opponents that a latency beats."""
        return tuple(rung for rung in self.rungs if rung.is_won(latency_s))

    def next_rung(self, latency_s: float) -> Rung | None:
        """The weakest opponent that is not beaten."""
        return next((r for r in self.rungs if not r.is_won(latency_s)), None)


def match_of(program: Program, entry: SampleEntry | None, mined: Mined | None) -> Match:
    """The challenge on a program; judged by the strong game that was mined, where there is one.

    XLA is no opponent where its plan was read in part only.
    """
    is_measure = reading_warning(program) is None
    compiled = program.provenance.get("xla_plan") if is_measure else None
    plan = plan_from_json(compiled, f"{program.name}: xla_plan") if compiled else None
    bound_s, best_s = (entry.bound_s, entry.best_s) if entry else (None, None)
    games = (mined.strong(program),) if mined else ()
    return Match(
        program=program,
        rules=mined.rules if mined else Rules(),
        rungs=rungs(program, plan, bound_s, best_s),
        games=games,
        bound_s=bound_s,
        decisive=mined.decisive if mined else (),
    )


def inviting(
    entries: Sequence[SampleEntry],
    mined: Sequence[Mined],
    most: int,
    played: Collection[str] = (),
) -> list[SampleEntry]:
    """Programs to play on: those on which greedy can be beaten at few moves, and what was `played`.

    At most `most`, those with a clear lead first, then the shortest; after them the played ones.
    """
    leads = leads_of(mined)
    candidates = [e for e in entries if e.name in leads and e.best_solver != _GREEDY]
    ordered = sorted(candidates, key=lambda e: (leads[e.name] < CLEAR_LEAD, e.touches))[:most]
    return [*ordered, *(e for e in entries if e.name in played and e not in ordered)]


def leads_of(mined: Sequence[Mined]) -> dict[str, float]:
    """How far greedy can be beaten on each program, as a share of its runtime."""
    return {game.program: game.lead for game in mined if game.decisive}

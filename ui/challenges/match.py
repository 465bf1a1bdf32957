"""A challenge on a real program: its opponents, its rules, and who plays what is not yours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from engine.game.moves import Rules
from engine.game.reference import ReferenceGame
from engine.lessons.positions import Mined
from engine.lessons.rungs import Rung, play_on, rungs, weighty_moves
from engine.lessons.strong import Judged, Recorded, judged
from engine.plan.io import plan_from_json
from engine.program.library import SampleEntry
from engine.program.model import Program
from ui.learn.attempt import Attempt

EVERY = 10**6
"""Instead of a number of decisions: all."""
CHOICES = (10, 15, 30, 60, EVERY)
_LEAST_COST = 2e-3
"""Of all slow: what a move must cost to be taken back."""
_GREEDY = "greedy"
"""Where it is the best known solver, nobody is to be beaten."""
_CONTESTED = 3
"""Positions that were found on a program which is worth a challenge."""


@dataclass(frozen=True)
class Match:
    """`games`: strong games to judge by, the best first; `rungs`: the weakest first."""

    program: Program
    rules: Rules
    rungs: tuple[Rung, ...]
    games: tuple[Recorded, ...]
    bound_s: float | None

    def attempt(self, decisions: int) -> Attempt:
        """A new game in which the weightiest moves are the visitor's, the rest greedy's."""
        own = weighty_moves(self.program, self.rules, decisions)
        game = ReferenceGame(self.program, self.rules)
        play_on(game, own)
        return Attempt.from_start(game, lambda g: play_on(g, own))

    def judged(self, game: ReferenceGame) -> dict[int, Judged]:
        """What each action of a position is worth."""
        return judged(game, self.games)

    def cost_s(self, found: dict[int, Judged], action: int) -> float:
        """What an action loses against the best one; nothing if it is too little to matter."""
        lost_s = max(j.saved_s for j in found.values()) - found[action].saved_s
        return lost_s if lost_s > _LEAST_COST * self.program.all_slow_s else 0.0

    def won(self, latency_s: float) -> tuple[Rung, ...]:
        """The opponents that a latency beats."""
        return tuple(rung for rung in self.rungs if rung.is_won(latency_s))

    def next_rung(self, latency_s: float) -> Rung | None:
        """The weakest opponent that is not beaten."""
        return next((r for r in self.rungs if not r.is_won(latency_s)), None)


def match_of(program: Program, entry: SampleEntry | None, mined: Mined | None) -> Match:
    """The challenge on a program; judged by the strong game that was mined, where there is one."""
    compiled = program.provenance.get("xla_plan")
    plan = plan_from_json(compiled, f"{program.name}: xla_plan") if compiled else None
    bound_s, best_s = (entry.bound_s, entry.best_s) if entry else (None, None)
    games = (mined.strong(program),) if mined else ()
    return Match(
        program=program,
        rules=mined.rules if mined else Rules(),
        rungs=rungs(program, plan, bound_s, best_s),
        games=games,
        bound_s=bound_s,
    )


def inviting(
    entries: Sequence[SampleEntry],
    mined: Sequence[Mined],
    most: int,
    played: Collection[str] = (),
) -> list[SampleEntry]:
    """Programs to play on, the shortest first.

    Those with positions in which greed goes wrong, at `most`; and whatever was `played` before.
    """
    asked = Counter[str]()
    for game in mined:
        asked[game.program] += len(game.moves)
    found = [e for e in entries if asked[e.name] >= _CONTESTED and e.best_solver != _GREEDY]
    shortest = sorted(found, key=lambda e: e.touches)[:most]
    kept = [e for e in entries if e.name in played and e not in shortest]
    return sorted([*shortest, *kept], key=lambda e: e.touches)

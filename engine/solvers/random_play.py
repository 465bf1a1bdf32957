"""`random`: games of uniformly random legal actions; the best of those that fit in the time."""

from __future__ import annotations

import random
import time

from engine.game.reference.game import ReferenceGame
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.registry import Budget, register

MAX_GAMES = 1000
"""Enough for a baseline; more blind luck teaches nothing."""


@register("random", "the best of many random games", uses_time=True)
def random_play(program: Program, budget: Budget) -> Plan:
    """At least one game, at most `MAX_GAMES`, until the seconds are over."""
    rng = random.Random(budget.seed)
    deadline = time.perf_counter() + budget.seconds
    best: ReferenceGame | None = None
    games = 0
    while games < MAX_GAMES and (best is None or time.perf_counter() < deadline):
        game = play_randomly(program, rng)
        games += 1
        if best is None or game.total_reward > best.total_reward:
            best = game
        if not budget.progress(games / MAX_GAMES, f"{games} games"):
            break
    assert best is not None
    return best.plan("random", {"games": games})


def play_randomly(program: Program, rng: random.Random) -> ReferenceGame:
    """One game of uniformly random legal actions."""
    game = ReferenceGame(program)
    while not game.is_over:
        game.step(rng.choice([a for a, is_legal in enumerate(game.legal()) if is_legal]))
    return game

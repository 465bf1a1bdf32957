"""`evolution`: a seeded evolutionary search over action sequences of the mallocGame."""

from __future__ import annotations

import time

import numpy as np

from engine.evolution.genome import NUM_FIRST, first_genomes, layout, relaxed_shares
from engine.game.notes import notes_of
from engine.game.reference.game import ReferenceGame
from engine.game.scripts import play_script
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.demonstrations import quick_bound, shown
from engine.solvers.registry import Budget

COMPILE_S = 10.0
"""Shorter budgets are over before the batched game is compiled; they play in plain Python."""


def evolution(program: Program, budget: Budget) -> Plan:
    """Evolve until the seconds are over; raises SolverError if JAX cannot play the program."""
    begun = time.perf_counter()
    if budget.seconds < COMPILE_S:
        return _plain(program, budget, begun)
    # JAX takes a second to import.
    from engine.agent.compile_cache import keep_compiled
    from engine.evolution.search import settle

    keep_compiled()
    bound = quick_bound(program, budget.seconds)
    rules = [some.rules for some in shown(program, budget.seconds)]
    islands = settle(program, budget.seed, rules, relaxed_shares(program, bound.served))
    while True:
        spent = time.perf_counter() - begun
        message = f"{islands.games:.0f} games, generation {islands.generations}"
        if not budget.progress(min(1.0, spent / budget.seconds), message):
            break
        if spent >= budget.seconds or not islands.leader.layout.num_moves:
            break
        islands.step()
    notes = {"games": round(islands.games), "generations": islands.generations}
    game = play_script(program, islands.leader.best.genes, islands.leader.rules)
    return game.plan("evolution", notes | notes_of(game))


def _plain(program: Program, budget: Budget, begun: float) -> Plan:
    """As many of the first genomes' games as fit, at least one."""
    genomes = first_genomes(layout(program), NUM_FIRST, np.random.default_rng(budget.seed))
    best: ReferenceGame | None = None
    num = 0
    for genes in genomes:
        game = play_script(program, genes)
        num += 1
        if best is None or game.total_reward > best.total_reward:
            best = game
        is_wanted = budget.progress(num / len(genomes), f"{num} games")
        if not is_wanted or time.perf_counter() - begun >= budget.seconds:
            break
    assert best is not None
    return best.plan("evolution", {"games": num, "generations": 0} | notes_of(best))

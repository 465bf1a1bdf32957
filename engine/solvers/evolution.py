"""`evolution`: a seeded evolutionary search over action sequences of the mallocGame."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from engine.errors import EndedEarlyError
from engine.evolution.genome import NUM_FIRST, Genes, first_genomes, layout, relaxed_shares
from engine.game.move_list import moves
from engine.game.notes import notes_of
from engine.game.reference.game import ReferenceGame
from engine.game.scripts import play_script
from engine.plan.model import Plan
from engine.processes import is_child
from engine.program.model import Program
from engine.solvers.apart import run_apart
from engine.solvers.clock import Clock
from engine.solvers.registry import Budget

COMPILE_S = 8.0
"""Shorter budgets are too short for generations; they play in plain Python."""
ASK_EVERY = 256
"""Moves of a game between two questions whether to go on."""
SHOWN_SHARE = 0.25
"""Of the time that the games of the heuristics may take."""


def evolution(program: Program, budget: Budget) -> Plan:
    """Evolve until the seconds are over, in a process that can be ended while it compiles.

    Raises SolverError if JAX cannot play the program, EndedEarlyError if no game is played in time.
    """
    if budget.seconds < COMPILE_S:
        return _plain(program, budget)
    if not moves(program):
        return ReferenceGame(program).plan("evolution")
    if is_child():
        return evolve(program, budget)
    return run_apart(f"{__name__}:evolve", program, budget)


def evolve(program: Program, budget: Budget) -> Plan:
    """As `evolution`, in this process."""
    # It loads JAX, for which a short budget has no time.
    from engine.solvers.demonstrations import quick_bound, shown

    clock = Clock(budget)
    games = 2

    def shows_on() -> bool:
        nonlocal games
        wanted = clock.goes_on("plays as heuristics do") and clock.share < SHOWN_SHARE
        games += 2 * wanted
        return wanted

    chosen = shown(program, budget.seconds, shows_on)
    # What it takes to play the best game once more, for its plan.
    end_s = clock.spent_s / games
    bound = quick_bound(program, budget.seconds)
    relaxed = relaxed_shares(program, bound.served)
    rules = [some.rules for some in chosen]
    with clock.stopped("compiling the game"):
        # JAX takes a second to import. What is compiled depends on the place rule.
        from engine.agent.compile_cache import keep_compiled
        from engine.evolution.operators import NUM_CHILDREN
        from engine.evolution.search import settle
        from engine.game.jaxgame.batching import BatchGame

        keep_compiled()
        for some in rules:
            BatchGame(program, some).compile(NUM_CHILDREN)

    def goes_on() -> bool:
        return clock.has_time_for(end_s, "the first games")

    islands = settle(program, budget.seed, rules, relaxed, goes_on)
    step_s = 0.0
    while clock.has_time_for(
        step_s + end_s, f"{islands.games:.0f} games, generation {islands.generations}"
    ):
        begun = time.perf_counter()
        islands.step()
        step_s = max(step_s, time.perf_counter() - begun)
    notes = {"games": round(islands.games), "generations": islands.generations}
    game = play_script(program, islands.leader.best.genes, islands.leader.rules)
    return game.plan("evolution", notes | notes_of(game))


def _while(goes_on: Callable[[], bool], genes: Genes) -> Iterator[int]:
    """The words of a genome, as long as it goes on."""
    for number, word in enumerate(genes):
        if number % ASK_EVERY == 0 and not goes_on():
            return
        yield int(word)


def _plain(program: Program, budget: Budget) -> Plan:
    """As many of the first genomes' games as fit. Raises EndedEarlyError if not one does."""
    clock = Clock(budget)
    genomes = first_genomes(layout(program), NUM_FIRST, np.random.default_rng(budget.seed))
    best: ReferenceGame | None = None
    num = 0
    for genes in genomes:
        ask = clock.goes_on if num else clock.is_in_time
        game = play_script(program, _while(partial(ask, f"{num} games"), genes))
        if not game.is_over:
            break
        num += 1
        if best is None or game.total_reward > best.total_reward:
            best = game
    if best is None:
        raise EndedEarlyError("its time was over before its first game was")
    return best.plan("evolution", {"games": num, "generations": 0} | notes_of(best))

"""Opponents on a real program, from weak to strong: latencies that a player may beat."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.strong import Recorded, legal_actions
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program

ABOVE_BOUND = (0.2, 0.1, 0.05, 0.02)
"""Shares above the bound to come within, as far as a plan is known that does."""
NEARLY = 1.005
"""Whoever comes within half a percent of the best latency known has beaten it."""
CHANCE, GREEDY, COMPILER, RECORD = "chance", "greedy", "the compiler", "the best known"


@dataclass(frozen=True)
class Rung:
    """An opponent, or a share above the bound, and the latency that has to be beaten."""

    name: str
    limit_s: float

    def is_won(self, latency_s: float) -> bool:
        """Whether that latency beats it."""
        return latency_s < self.limit_s * (1 - 1e-9)


def rungs(
    program: Program, compiled: Plan | None, bound_s: float | None, best_s: float | None
) -> tuple[Rung, ...]:
    """The opponents that apply, the weakest first. `compiled`: XLA's own plan.

    `best_s`: the best latency known. It is no opponent where one of the others is as near to it as
    whoever beats it.
    """
    ladder = [
        Rung(CHANCE, _latency_s(program, _dice)),
        Rung(GREEDY, _latency_s(program, best_action)),
    ]
    if compiled is not None:
        ladder.append(Rung(COMPILER, simulate(program, compiled).latency_s))
    weakest = min(r.limit_s for r in ladder[1:])
    if bound_s is not None and best_s is not None:
        for share in ABOVE_BOUND:
            limit_s = bound_s * (1 + share)
            if best_s < limit_s < weakest:
                ladder.append(Rung(f"within {100 * share:g} % of the bound", limit_s))
    if best_s is not None and best_s * NEARLY < weakest:
        ladder.append(Rung(RECORD, best_s * NEARLY))
    return tuple(sorted(ladder, key=lambda rung: -rung.limit_s))


def _dice(game: ReferenceGame) -> int:
    """Any legal action, all equally likely; the same ones again in the same position."""
    return random.Random(game.move_index).choice(legal_actions(game))


def _latency_s(program: Program, choose: Callable[[ReferenceGame], int]) -> float:
    game = ReferenceGame(program)
    while not game.is_over:
        game.step(choose(game))
    return simulate(program, game.plan("opponent")).latency_s


def weighty_moves(program: Program, rules: Rules, most: int) -> frozenset[int]:
    """The `most` moves with the most to save."""
    moves = ReferenceGame(program, rules).moves
    order = sorted((m for m in range(len(moves))), key=lambda m: -moves[m].saving_s)
    return frozenset(m for m in order[:most] if moves[m].saving_s > 0)


def play_on(game: ReferenceGame, own: frozenset[int]) -> None:
    """Play greedily until a move of the player's own with a choice, or the end."""
    while not game.is_over:
        if game.move_index in own and sum(game.legal()) > 1:
            return
        game.step(best_action(game))


def greedy_end_s(game: ReferenceGame) -> float:
    """The latency of the whole program if greedy plays the rest."""
    end = game.clone()
    while not end.is_over:
        end.step(best_action(end))
    return end.program.all_slow_s * (1 - end.total_reward)


def saved_before(program: Program, known: Recorded) -> tuple[float, ...]:
    """`[M + 1]` seconds that a game has saved before each move, and at the end."""
    saved = [0.0]
    for reward in known.rewards:
        saved.append(saved[-1] + reward * program.all_slow_s)
    return tuple(saved)


def greedy_game(program: Program, rules: Rules) -> Recorded:
    """Greedy's game under these rules."""
    game = ReferenceGame(program, rules)
    rewards = []
    while not game.is_over:
        rewards.append(game.step(best_action(game)))
    return Recorded(tuple(game.actions), tuple(rewards))

"""`greedy`: at every move of the game the action that earns most at once."""

from __future__ import annotations

from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.registry import Budget, register


@register("greedy", "the mallocGame played for the best immediate reward")
def greedy(program: Program, budget: Budget) -> Plan:
    """One game; ties go to NoCopy, then Copy, then Drop."""
    del budget
    return play_greedily(program, Rules()).plan("greedy")


def play_greedily(program: Program, rules: Rules) -> ReferenceGame:
    """Play every move greedily; returns the finished game."""
    game = ReferenceGame(program, rules)
    while not game.is_over:
        game.step(best_action(game))
    return game

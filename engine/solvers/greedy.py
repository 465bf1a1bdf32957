"""`greedy`: at every move of the game the action that earns most at once."""

from __future__ import annotations

from engine.game.moves import COPY, DROP, NO_COPY, Rules
from engine.game.reference import ReferenceGame
from engine.game.replay import immediate_reward
from engine.plan.model import Plan
from engine.program.model import Program
from engine.solvers.registry import Budget, register


@register("greedy", "the mallocGame played for the best immediate reward")
def greedy(program: Program, budget: Budget) -> Plan:
    """One game; ties go to NoCopy, then Copy, then Drop."""
    del budget
    return play_greedily(program, Rules()).plan("greedy")


def play_greedily(program: Program, rules: Rules) -> ReferenceGame:
    """The finished game."""
    game = ReferenceGame(program, rules)
    while not game.is_over:
        game.step(_best(game))
    return game


def _best(game: ReferenceGame) -> int:
    legal = game.legal()
    actions = [a for a in (NO_COPY, COPY, DROP) if legal[a]]
    return max(actions, key=lambda a: immediate_reward(game, a))

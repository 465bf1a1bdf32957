"""The few moves of a strong game at which greed goes wrong, so that whoever plays them beats it."""

from __future__ import annotations

from collections.abc import Collection

from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.lessons.strong import Recorded
from engine.program.model import Program

_KEPT_SHARE = 0.5
"""Of what the strong game is ahead of greedy: so much must remain."""


def decisive_moves(program: Program, rules: Rules, strong: Recorded) -> tuple[int, ...]:
    """The moves to play as in the strong game, all others greedily, to keep half of its lead.

    Of the moves at which the two differ, those with the least to save are left out first, until
    no further one can be. Empty if there is no lead.
    """
    differing = _differing(program, rules, strong)
    greedy = strong_at(program, rules, strong, ()).total_reward
    wanted = greedy + _KEPT_SHARE * (strong.total - greedy)
    if not differing or wanted <= greedy:
        return ()
    moves = ReferenceGame(program, rules).moves
    kept, is_news = set(differing), True
    while is_news:
        is_news = False
        for move in sorted(kept, key=lambda m: moves[m].saving_s):
            if strong_at(program, rules, strong, kept - {move}).total_reward >= wanted:
                kept.remove(move)
                is_news = True
    return tuple(sorted(kept))


def lead(program: Program, rules: Rules, strong: Recorded) -> float:
    """The share by which the strong game's latency is below that of greedy's game."""
    greedy = strong_at(program, rules, strong, ()).total_reward
    return (strong.total - greedy) / (1 - greedy)


def strong_at(
    program: Program, rules: Rules, strong: Recorded, own: Collection[int]
) -> ReferenceGame:
    """The game that plays as the strong one at these moves, as near as is legal, else greedily."""
    game = ReferenceGame(program, rules)
    while not game.is_over:
        move = game.move_index
        is_own = move in own
        game.step(game.nearest(strong.actions[move]) if is_own else best_action(game))
    return game


def _differing(program: Program, rules: Rules, strong: Recorded) -> list[int]:
    """The moves of the strong game whose actions are not greedy's."""
    game, moves = ReferenceGame(program, rules), []
    for move, action in enumerate(strong.actions):
        if action != best_action(game):
            moves.append(move)
        game.step(action)
    return moves

"""The action that a finished plan amounts to at each move of the game, as the map shows it."""

from __future__ import annotations

from collections.abc import Sequence

from engine.game.moves import COPY, DROP, NO_COPY, NUM_ACTIONS, Move
from engine.game.notes import noted_actions
from engine.plan.model import Plan
from engine.program.model import Program

NO_ACTION = NUM_ACTIONS
"""In place of the action at a sink, where nothing is decided."""


def actions_of(program: Program, plan: Plan, moves: Sequence[Move]) -> list[int]:
    """The action that the plan amounts to at each move.

    A plan may note its own moves (`engine.game.notes`); those that it leaves open have no action.
    A plan of another solver need not follow the game's rules; what it does still has a name: Drop
    where slow memory serves, Copy at the first fast touch after a prefetch, else NoCopy.
    """
    noted = noted_actions(plan, len(moves))
    if noted is not None:
        played = [*noted, *[NO_ACTION] * (len(moves) - len(noted))]
        return [NO_ACTION if m.is_sink else a for m, a in zip(moves, played, strict=True)]
    arrivals: dict[int, list[int]] = {}
    for copy in plan.copies:
        if copy.is_prefetch:
            arrivals.setdefault(copy.group, []).append(copy.deadline)
    waiting = {group: sorted(times, reverse=True) for group, times in arrivals.items()}
    return [_action(program, plan, move, waiting.get(move.group, [])) for move in moves]


def _action(program: Program, plan: Plan, move: Move, waiting: list[int]) -> int:
    if move.is_sink:
        return NO_ACTION
    if not plan.is_fast[program.touches[move.touch].accesses[0]]:
        return DROP
    has_arrived = False
    while waiting and waiting[-1] <= move.time:
        waiting.pop()
        has_arrived = True
    return COPY if has_arrived else NO_COPY


def telling_move(moves: Sequence[Move]) -> int:
    """A move to open with: the largest saving in the middle third, where the board is in use."""
    third = len(moves) // 3
    middle = range(third, max(third + 1, len(moves) - third))
    return max(middle, key=lambda m: moves[m].saving_s) if moves else 0

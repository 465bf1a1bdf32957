"""The game behind a search trace, played again by the plain rules."""

from __future__ import annotations

from engine.agent.trace_io import SearchTrace
from engine.game.moves import SIMPLE_RULES, Rules
from engine.game.reference.game import ReferenceGame
from engine.program.model import Program

_CLOSE_POINTS = 0.01
"""The JAX game counts in 32-bit floats; another place rule makes a larger difference."""


def traced_game(program: Program, trace: SearchTrace) -> ReferenceGame | None:
    """The finished game, under the place rule that gives the trace's rewards; None if none does."""
    for place in SIMPLE_RULES:
        game = ReferenceGame(program, Rules(place=place))
        if game.num_moves != trace.num_moves:
            return None
        if all(_fits(game, trace, int(action)) for action in trace.action):
            return game
    return None


def _fits(game: ReferenceGame, trace: SearchTrace, action: int) -> bool:
    """Play the action, if it is legal; True if it earned the reward that the trace has of it."""
    move = game.move_index
    if not game.legal()[action]:
        return False
    points = game.step(action) * game.program.all_slow_s / trace.point_s
    traced = trace.reward[move] + trace.par[move] - trace.par[move + 1]
    return abs(points - float(traced)) < _CLOSE_POINTS

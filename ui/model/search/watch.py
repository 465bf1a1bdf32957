"""A game of the agent to look at, where there is none yet: its best one that ships, else a new one.

A sample's best plan may be a game of the agent; its moves are then searched again by the shipped
weights. Elsewhere the agent plays a game, without practice.
"""

from __future__ import annotations

import hashlib

from engine.plan.model import Plan
from ui.jobs.protocol import MUZERO, PLAY, RETRACE, Order
from ui.jobs.weights import FRESH, shipped

BEST_GAME, FIRST_GAME = "the agent's best game", "the agent's first game"
_SECONDS = 60.0
"""Expected time, for the job's bar until it follows the moves."""


def best_game(plan: Plan | None) -> Plan | None:
    """The plan, if it is a game of the agent that notes its moves."""
    is_game = (
        plan is not None and plan.solver == MUZERO and isinstance(plan.notes.get("moves"), str)
    )
    return plan if is_game else None


def order_of(game: Plan | None) -> Order:
    """The work that leads to a game with all its searches; `game`: the agent's best, or None."""
    weights = next(iter(shipped()), FRESH)
    if game is not None:
        digest = hashlib.sha256(str(game.notes["moves"]).encode()).hexdigest()[:12]
        details = (("weights", weights), ("game", digest))
        return Order(RETRACE, BEST_GAME, _SECONDS, details=details)
    return Order(PLAY, FIRST_GAME, _SECONDS, details=(("weights", weights), ("begun", "")))

"""The work that Debug asks for by itself for a game of the agent."""

from __future__ import annotations

from engine.debugging.findings import VERSION
from engine.game.moves import RULES_VERSION
from ui.jobs.protocol import FINDINGS, GAP, RETRACE, Order
from ui.model.search.state import Thought

_TRACE_SECONDS = 60.0
"""Nominal seconds of an order without a budget: it ends with the last move."""
_OTHER_MODEL = {"learned": "simulator", "simulator": "learned"}


def findings_order(thought: Thought, seconds: float) -> Order:
    """What the moves of the game cost."""
    return Order(
        FINDINGS, "Findings", seconds, basis=thought.identity, details=(("version", VERSION),)
    )


def gap_order(thought: Thought, best: str, seconds: float) -> Order:
    """What the gap of the game is made of, measured by the plan of that identity."""
    details = (("best", best), ("rules", RULES_VERSION))
    return Order(GAP, "The gap", seconds, basis=thought.identity, details=details)


def other_search(thought: Thought, weights: str) -> Order:
    """All positions of the game searched with the other model, with as many simulations."""
    model = _OTHER_MODEL.get(thought.trace.model, "simulator")
    simulations = int(thought.trace.tree_parent.shape[1]) - 1
    details = (("weights", weights), ("model", model), ("simulations", simulations))
    name = "The same game searched otherwise"
    return Order(RETRACE, name, _TRACE_SECONDS, basis=thought.identity, details=details)

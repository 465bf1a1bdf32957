"""What a visitor does on Debug with one program."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.debugging.counterfactual import Counterfactual
from engine.debugging.move_notes import MoveNotes
from ui.model.debug.filter import Filter

PANELS = {"force": "Force an action", "notes": "Notes", "ab": "A/B", "about": "What is counted"}


@dataclass
class Debugging:
    """The inbox's filter, notes, forced actions, and what was begun without being asked for.

    `forced`: answers that were given at once, by game, move and action.
    """

    filter: Filter = field(default_factory=Filter)
    is_of_all: bool = False
    """Whether the inbox lists all games of the program."""
    notes: MoveNotes = field(default_factory=MoveNotes)
    forced: dict[tuple[str, int, int], list[Counterfactual]] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    panel: str = "force"
    picked: int | None = None
    """The row of the table that was clicked last."""
    edition: int = 0
    """A part of the table's widget key; a new one forgets what was clicked."""
    is_linked: bool = False
    """Whether the link's notes have been taken in."""
    weights: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Checkpoints that the visitor brought, by name."""

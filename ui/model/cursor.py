"""Where a visitor is on a map."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Cursor:
    """The move shown, the group selected (-1: none), and what became of the last command.

    A new `nonce` makes the browser take move and group over. `question`: the refused action whose
    blockers are shown. `refusal`: why the last action that the visitor tried is not allowed; empty
    if it was. `note`: why the last command did nothing although it is allowed. `is_missed`: the
    last command came too late, for another board or move.
    """

    move: int = 0
    selected: int = -1
    nonce: int = 0
    question: int | None = None
    refusal: str = ""
    note: str = ""
    is_missed: bool = False

    def jump(self, move: int, selected: int = -1) -> None:
        """Send the browser to a move."""
        self.move, self.selected, self.nonce = move, selected, self.nonce + 1

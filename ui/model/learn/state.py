"""What one visitor does on the pages Learn and Challenges."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

from engine.errors import LessonError
from engine.game.reference.game import ReferenceGame
from engine.lessons.refutation import TurningPoint
from ui.model.cursor import Cursor
from ui.model.learn.attempt import Attempt
from ui.model.learn.explanation import ShownLine
from ui.model.learn.progress import Progress, progress_of


@dataclass
class Seat:
    """A board in use: the game on it and the cursor.

    `board`: its name, which no other board has. `stored`: identity of what the browser was sent
    last.
    """

    attempt: Attempt
    board: str
    cursor: Cursor
    stored: str = ""
    num_hints: int = 0
    explained: tuple[ReferenceGame, TurningPoint | None] | None = None
    """A finished game, and the decision in it that lost most; None until it was looked for."""
    line: ShownLine | None = None
    """A line that is shown in place of the visitor's own game."""

    @property
    def on_board(self) -> Attempt:
        """What stands on the board: a line that is shown, else the visitor's own game."""
        return self.attempt if self.line is None else self.line.attempt

    def show_line(self, line: ShownLine) -> None:
        """Put a line on the board, at its first move."""
        self.line, self.cursor.refusal = line, ""
        self.jump(line.refutation.move)

    def close_line(self) -> None:
        """Put the visitor's own game back on the board."""
        if self.line is not None:
            begin = self.line.refutation.move
            self.line, self.cursor.refusal = None, ""
            self.jump(begin)

    def jump(self, move: int) -> None:
        """Send the browser to a move."""
        self.cursor.jump(move, self.cursor.selected)
        self.cursor.question = None


@dataclass
class Learning:
    """The visitor's progress, and the boards that are open, by lesson or challenge."""

    progress: Progress = field(default_factory=Progress)
    seats: dict[str, Seat] = field(default_factory=dict)
    token: str = ""
    """A random mark that changes when the browser has to keep new progress."""
    taken: str | None = None
    """The text that the browser had; None until it has sent one."""
    is_kept: bool = True
    """Whether the browser keeps anything."""
    nonce: int = 0
    wanted: str = ""
    """Where a command on a board leads to: `next`, `map`, `score`; empty: nowhere."""

    def keep(self, progress: Progress) -> None:
        """Take over new progress, to be kept by the browser."""
        if progress != self.progress:
            self.progress, self.token = progress, uuid4().hex

    def take(self, text: str) -> bool:
        """Merge the browser's text in; returns whether that is news. Unreadable text is ignored."""
        if text == self.taken:
            return False
        self.taken = text
        if not text:
            return False
        try:
            stored = progress_of(text, "browser")
        except LessonError:
            return False
        before = self.progress
        merged = before.merged(stored)
        self.progress = merged
        if merged != stored:
            self.token = uuid4().hex
        return merged != before

    def forget(self) -> None:
        """Forget the progress, in the browser too."""
        self.progress, self.token = Progress(), uuid4().hex
        self.seats.clear()

    def seat(self, name: str, attempt: Attempt) -> Seat:
        """The board of that name; `attempt` is laid on it if there is none."""
        if name not in self.seats:
            self.nonce += 1000
            begin, board = attempt.tip.game.move_index, f"{name} {self.nonce}"
            self.seats[name] = Seat(attempt, board, Cursor(begin, nonce=self.nonce))
        return self.seats[name]


def with_merged(learning: Learning, text: str, where: str) -> Progress:
    """The progress together with that of an imported file. Raises LessonError."""
    return learning.progress.merged(progress_of(text, where))

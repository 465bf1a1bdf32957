"""What one visitor does on the pages Learn and Challenges."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from uuid import uuid4

from engine.errors import LessonError
from engine.game.reference.game import ReferenceGame
from engine.lessons.refutation import TurningPoint
from ui.model.cursor import Cursor
from ui.model.learn.attempt import Attempt
from ui.model.learn.classroom import ClassSet
from ui.model.learn.explanation import ShownLine
from ui.model.learn.kept_game import restore, text_of
from ui.model.learn.progress import Progress, progress_of

_LONGEST_PAUSE_S = 120.0
"""Who does nothing for longer is not at it."""


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
    taken_with: str = ""
    """The token when that text was taken; another one since then stands for news of one's own."""
    is_kept: bool = True
    """Whether the browser keeps what it has to."""
    is_warned: bool = False
    """Whether it has been said that it does not."""
    nonce: int = 0
    class_set: ClassSet | None = None
    """What the class that the visitor is in asks for; None also until it has been looked up."""
    followed: ClassSet | None = None
    """The class of the teacher's link that was followed last; it may have been left since."""
    forgotten: Progress | None = None
    """What was forgotten last, until it is taken back."""
    clock: Callable[[], float] = time.monotonic
    last_deed: tuple[str, float] = ("", 0.0)
    """The lesson or position of the last deed, and when it was, by the clock."""
    wanted: str = ""
    """Where a command on a board leads to: `next`, `map`, `score`; empty: nowhere."""

    def keep(self, progress: Progress) -> None:
        """Take over new progress, to be kept by the browser."""
        if progress != self.progress:
            self.progress, self.token = progress, _new_token()

    @property
    def text(self) -> str:
        """What the browser has to keep; empty where nothing was ever done."""
        return "" if self.progress == Progress() else self.progress.text()

    def file_text(self) -> str:
        """The progress for a file, as it is when that is asked for."""
        return self.progress.text()

    def take(self, text: str) -> bool:
        """Merge the browser's text in; returns whether that is news. Unreadable text is ignored.

        Where another tab has forgotten everything since, all is forgotten here, too; what is from
        before it was forgotten here is not taken. The browser has to keep what was merged only if
        something was done here meanwhile, else two tabs could answer each other without end.
        """
        if text == self.taken:
            return False
        is_first, self.taken = self.taken is None, text
        if not text:
            return False
        try:
            stored = progress_of(text, "browser")
        except LessonError:
            return False
        before = self.progress
        if is_first and not before.forgotten:
            before = replace(before, forgotten=stored.forgotten)
        is_forgotten = before.forgotten < stored.forgotten
        is_old = before.forgotten > stored.forgotten
        merged = stored if is_forgotten else before if is_old else before.merged(stored)
        if is_forgotten:
            self.seats.clear()
        self._make_way(merged, stored)
        self.progress = merged
        if merged != stored and (is_old or self.token != self.taken_with):
            self.token = _new_token()
        self.taken_with = self.token
        return merged != before

    def _make_way(self, merged: Progress, other: Progress) -> None:
        """Let go of what another progress takes the place of, where `merged` comes of both."""
        if merged.class_query != self.progress.class_query:
            self.class_set = None
        for name in other.games:
            # A board that was laid out before its game was known, and not used since.
            if name in self.seats and not self.seats[name].attempt.is_begun:
                del self.seats[name]

    def add(self, text: str, where: str) -> None:
        """Add the progress of a file, which comes from anywhere: one's own name and class stay.

        Raises LessonError.
        """
        self._add(replace(progress_of(text, where), name_at=0, class_at=0))

    def _add(self, other: Progress) -> None:
        merged = self.progress.merged(other)
        self._make_way(merged, other)
        self.keep(merged)

    def forget(self) -> None:
        """Forget the progress, in the browser too; `remember` takes it back."""
        self.forgotten = self.progress
        now = _now_after(self.progress.forgotten)
        self.progress, self.token = Progress(forgotten=now), _new_token()
        self.class_set = None
        self.seats.clear()

    def remember(self) -> None:
        """Take back that the progress was forgotten; what was done since is kept too."""
        if self.forgotten is not None:
            self._add(self.forgotten)
            self.forgotten = None

    def seat(self, name: str, attempt: Attempt) -> Seat:
        """The board of that name; `attempt` is laid on it if there is none.

        What was played on it before the page was loaded anew is played again.
        """
        if name not in self.seats:
            num_hints = restore(attempt, self.progress.games.get(name, ""))
            self.nonce += 1000
            begin, board = attempt.tip.game.move_index, f"{name} {self.nonce}"
            cursor = Cursor(begin, nonce=self.nonce)
            self.seats[name] = Seat(attempt, board, cursor, num_hints=num_hints)
            self.last_deed = (name, self.clock())
        return self.seats[name]

    def save_game(self, name: str) -> None:
        """Keep what stands on a board."""
        seat = self.seats.get(name)
        if seat is not None:
            text = text_of(seat.attempt, seat.num_hints)
            if text != self.progress.games.get(name, ""):
                self.keep(self.progress.with_game(name, text))

    def name(self, name: str) -> None:
        """Call the visitor so from now on."""
        if name != self.progress.name:
            now = _now_after(self.progress.name_at)
            self.keep(replace(self.progress, name=name, name_at=now))

    def join(self, class_query: str) -> None:
        """Be in the class of that link from now on; in none where it is empty."""
        if class_query != self.progress.class_query:
            now = _now_after(self.progress.class_at)
            self.keep(replace(self.progress, class_query=class_query, class_at=now))
        self.class_set = None

    def spend(self, name: str, is_try: bool = False) -> None:
        """Count the time since the last deed on the same lesson or position, and a finished try."""
        now, last = self.clock(), self.last_deed
        passed = now - last[1] if last[0] == name else 0.0
        seconds = int(min(_LONGEST_PAUSE_S, passed))
        # What is less than a second counts with the next deed.
        rest = passed - seconds if passed < _LONGEST_PAUSE_S else 0.0
        self.last_deed = (name, now - rest)
        if seconds or is_try:
            self.keep(self.progress.with_time(name, seconds, is_try))


def _new_token() -> str:
    """A token that is later in the alphabet than all before it."""
    return f"{time.time_ns():020d}-{uuid4().hex[:8]}"


def _now_after(moment: int) -> int:
    """The time in nanoseconds since 1970, later than another one whatever the clock says."""
    return max(time.time_ns(), moment + 1)

"""A visitor's game on a small board: decisions that can be undone, done again and begun anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine.game.drop_backup import drop_backup
from engine.game.reference.game import ReferenceGame
from ui.components.memory_map.draft import Draft, Picture, drawn, picture


@dataclass(frozen=True)
class Point:
    """A position in which the visitor decides, or the end.

    `dead_ends`: undone on the way. `by`: the decision before it, which Drop-backup may have changed
    since; None at the start.
    """

    game: ReferenceGame
    dead_ends: int = 0
    by: int | None = None


@dataclass
class Attempt:
    """A game with undo and redo.

    `points`: of the game so far, the first one first; never empty. `undone`: points for redo.
    `onward`: plays, after a decision, what is not the visitor's to decide.
    """

    points: list[Point]
    onward: Callable[[ReferenceGame], object] = ReferenceGame.play_forced
    undone: list[Point] = field(default_factory=list)
    draft: Draft | None = None
    """What the browser holds of the game; None until it is first shown."""
    _drawn: tuple[ReferenceGame, Picture] | None = field(default=None, repr=False)

    @classmethod
    def from_start(
        cls,
        game: ReferenceGame,
        onward: Callable[[ReferenceGame], object] = ReferenceGame.play_forced,
    ) -> Attempt:
        """A new attempt from a position, which is left as it is."""
        return cls([Point(game)], onward)

    @property
    def tip(self) -> Point:
        """The position that the game has come to."""
        return self.points[-1]

    @property
    def is_over(self) -> bool:
        """Whether every move is decided."""
        return self.tip.game.is_over

    @property
    def is_begun(self) -> bool:
        """Whether the visitor has decided anything."""
        return len(self.points) > 1

    def at(self, move: int) -> int:
        """The number of the last decision at or before a move."""
        numbers = [
            n for n, p in enumerate(self.points) if p.game.move_index <= move and not p.game.is_over
        ]
        return max(numbers, default=0)

    def chosen(self, number: int) -> int | None:
        """What was decided at a point; None at the tip."""
        if number + 1 >= len(self.points):
            return None
        return self.points[number + 1].game.actions[self.points[number].game.move_index]

    def play(self, move: int, action: int) -> int:
        """Decide at a move; what was decided after it is gone. Returns the next move to decide.

        Then `onward` plays; dead ends are undone by Drop-backup. Raises ValueError if the
        action is illegal.
        """
        number = self.at(move)
        if self.chosen(number) != action:
            point = self.points[number]
            game, dead_ends = point.game.clone(), point.dead_ends
            game.step(action)
            self.onward(game)
            while game.is_dead_end:
                drop_backup(game)
                self.onward(game)
                dead_ends += 1
            self.points = [*self.points[: number + 1], Point(game, dead_ends, action)]
            self.undone = []
        return self.points[number + 1].game.move_index

    @property
    def decided(self) -> tuple[int, ...]:
        """The moves that the visitor has decided."""
        return tuple(point.game.move_index for point in self.points[:-1])

    def undo(self) -> int:
        """Take back the last decision; returns the move to decide."""
        if self.is_begun:
            self.undone.append(self.points.pop())
        return self.tip.game.move_index

    def redo(self) -> int:
        """Decide again what was taken back; returns the move to decide."""
        if self.undone:
            self.points.append(self.undone.pop())
        return self.tip.game.move_index

    def back_to(self, move: int) -> int:
        """Take back the decision at a move and all after it; returns the move to decide."""
        while self.is_begun and self.tip.game.move_index > move:
            self.undo()
        return self.tip.game.move_index

    def retry(self) -> int:
        """Begin anew; returns the first move to decide."""
        self.points, self.undone = self.points[:1], []
        return self.tip.game.move_index

    @property
    def picture(self) -> Picture:
        """The game so far, to be drawn."""
        game = self.tip.game
        if self._drawn is None or self._drawn[0] is not game:
            self._drawn = (game, picture(game))
        return self._drawn[1]

    def draw(self, held: int) -> tuple[Draft, dict[str, Any]]:
        """How the browser, which holds version `held`, comes to show the game so far."""
        self.draft, message = drawn(self.draft, self.picture, held)
        return self.draft, message

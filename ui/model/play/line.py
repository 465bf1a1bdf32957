"""A visitor's play on one plan: its variations, the positions on the current path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.game.notes import notes_of
from engine.game.reference.game import ReferenceGame
from engine.plan.model import Plan
from ui.components.memory_map.draft import Draft, Picture, picture
from ui.model.play.film import Film, saved_s
from ui.model.play.players import Player
from ui.model.play.positions import Positions
from ui.model.play.variations import PLAN, Path, Rating, Variations, line_from_text, line_text


@dataclass
class Line:
    """Play that leaves `film`: the tree of variations, of which one is current.

    The position is given by a move (0 … `tip`), so that looking back is stepping back and playing
    another action there leaves the path.
    """

    film: Film
    tree: Variations = field(default_factory=Variations)
    draft: Draft | None = None
    """The current path as the browser holds it; None until it is first shown."""
    _positions: Positions = field(init=False, repr=False)
    _drawn: tuple[Path | None, Picture] | None = field(default=None, repr=False)
    _whole: tuple[Path | None, Plan] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Positions of the current path are kept beside the film's."""
        self._positions = Positions(self.film.num_moves)

    @property
    def is_on_plan(self) -> bool:
        """Whether the plan itself is shown, not a variation."""
        return self.tree.current == PLAN

    @property
    def path(self) -> Path | None:
        """The current variation's path, None on the plan."""
        return self.tree.path()

    @property
    def tip(self) -> int:
        """The first move that the current path does not decide."""
        path = self.path
        return path.tip if path else self.film.num_moves

    @property
    def is_complete(self) -> bool:
        """Whether the current path decides every move."""
        return self.tip == self.film.num_moves

    def action_at(self, move: int) -> int | None:
        """The action of the current path at a move; None at the path's end."""
        path = self.path
        if path is not None and move >= path.fork:
            return path.actions[move - path.fork] if move < path.tip else None
        return self.film.actions[move] if move < self.film.num_moves else None

    def actions_before(self, move: int) -> tuple[int, ...]:
        """The actions of the current path before `move`."""
        path = self.path
        if path is None or move <= path.fork:
            return self.film.actions[:move]
        return (*self.film.actions[: path.fork], *path.actions[: move - path.fork])

    def game_at(self, move: int) -> ReferenceGame:
        """A copy of the position in which `move` (at most the tip) is to be decided."""
        path = self.path
        if path is None or move <= path.fork:
            return self.film.game_at(move)
        return self._positions.reach(
            min(move, path.tip),
            lambda: self.film.game_at(path.fork),
            lambda game: game.step(path.actions[game.move_index - path.fork]),
        )

    @property
    def picture(self) -> Picture:
        """The current path up to its tip, as the map draws it."""
        path = self.path
        if self._drawn is None or self._drawn[0] != path:
            self._drawn = (path, picture(self.game_at(self.tip)))
        return self._drawn[1]

    @property
    def whole(self) -> Plan:
        """The current path, and after its end what the plan does: a plan that can be simulated."""
        path = self.path
        if self._whole is None or self._whole[0] != path:
            game = self.game_at(self.tip)
            self.film.play_to(game, self.film.num_moves)
            self._whole = (path, game.plan("variation", notes_of(game)))
        return self._whole[1]

    def draw(self, held: int) -> tuple[Draft, dict[str, Any]]:
        """The draft, and the message that turns its version `held` into the current path.

        `held` is the version that the browser has. Where the changes are too many for a message,
        the draft is a new one, to be sent whole first.
        """
        message = self.draft.message(self.picture, held) if self.draft else None
        if self.draft is None or message is None:
            self.draft = Draft(self.picture)
            message = self.draft.message(self.picture, 0)
        assert message is not None, "a draft has no changes against itself"
        return self.draft, message

    def play(self, move: int, action: int) -> int:
        """Decide `move`, and the moves after it that leave no choice; returns the next move.

        Raises ValueError if the action is illegal there.
        """
        game = self.game_at(move)
        game.step(action)
        game.play_forced()
        return self._take(move, game, "you")

    def let(self, move: int, player: Player, num_moves: int) -> int:
        """Let somebody decide `num_moves` moves from `move` on; returns the next move."""
        game = self.game_at(move)
        player.play(game, num_moves)
        return self._take(move, game, player.name)

    def continued(self, begun: Sequence[int], player: Player, num_moves: int) -> tuple[int, ...]:
        """The game with these actions from move 0 on and `num_moves` of the player's after them."""
        game = self._played(begun)
        player.play(game, num_moves)
        return tuple(game.actions)

    def go(self, number: int) -> int:
        """Switch to a variation, or `PLAN`; returns the move at which it leaves its parent."""
        self.tree = self.tree.go(number)
        self._positions.clear()
        return 0 if number == PLAN else self.tree.lines[number].fork

    def follow(self, text: str) -> int | None:
        """Play the line of a link; returns its first move, or None if it does not fit the game."""
        parsed = line_from_text(text, self.film.num_moves)
        if parsed is None or not parsed[1]:
            return None
        fork, actions = parsed
        self.branch((*self.film.actions[:fork], *actions), "link")
        return fork

    def branch(self, actions: Sequence[int], by: str) -> None:
        """Show the game with these actions from move 0 on, as a variation where it leaves the plan.

        An action that is illegal there is replaced by the nearest legal one.
        """
        self.go(PLAN)
        self._take(0, self._played(actions), by)

    def text(self) -> str:
        """The current path for a link; empty on the plan."""
        path = self.path
        return line_text(path.fork, path.actions) if path else ""

    def plan(self, name: str) -> Plan:
        """The current path as a plan. Raises ValueError unless it is complete."""
        game = self.game_at(self.tip)
        return game.plan(name, notes_of(game))

    def _played(self, actions: Sequence[int]) -> ReferenceGame:
        game = self.film.game_at(0)
        for action in actions:
            game.step(game.nearest(action))
        return game

    def _take(self, move: int, game: ReferenceGame, by: str) -> int:
        """Take over what was played from `move` on."""
        before = self.tree
        step = game.actions[move:]
        self.tree = before.play(move, step, self.film.actions, by)
        if self.tree.current != before.current:
            self._positions.clear()
        if self.tree != before and self.tree.current != PLAN and self.tip == game.move_index:
            self.tree = self.tree.rated(_rating(self.film, game))
        return game.move_index


def _rating(film: Film, tip: ReferenceGame) -> Rating:
    so_far = saved_s(tip) - film.saved_s[tip.move_index]
    game = tip.clone()
    film.play_to(game, film.num_moves)
    return Rating(so_far, saved_s(game) - film.saved_s[-1])

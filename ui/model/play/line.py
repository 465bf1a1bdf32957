"""Play that leaves a plan: the tree of variations, who goes on, and their texts for links.

A variation begins where it leaves its parent: the plan itself (`PLAN`) or another variation. Its
moves come in *steps*: what one decision played, the moves without a choice behind it included. The
*path* of a variation is the plan up to the first fork, then one variation's moves after another's.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from engine.game.notes import notes_of
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.plan.model import Plan
from ui.components.memory_map.draft import Draft, Picture, drawn, picture
from ui.model.play.film import Film, Positions, saved_s

PLAN = -1
"""The number of the plan itself, which all variations leave."""

Steps = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Rating:
    """The worth of a variation against the plan, in seconds saved more (negative: less).

    `so_far`: at its last move. `final`: with the rest played as the plan does.
    """

    so_far: float = 0.0
    final: float = 0.0


@dataclass(frozen=True)
class Variation:
    """Moves from `fork` on that differ from the parent's; `steps` is never empty."""

    parent: int
    fork: int
    steps: Steps
    by: str = "you"
    rating: Rating = Rating()

    @property
    def actions(self) -> tuple[int, ...]:
        """Actions from move `fork` on."""
        return tuple(action for step in self.steps for action in step)

    @property
    def tip(self) -> int:
        """The first move that it has not decided."""
        return self.fork + sum(map(len, self.steps))


@dataclass(frozen=True)
class Path:
    """A way through the game: the plan's moves before `fork`, then `actions`.

    `starts`: the moves at which a step begins, in order.
    """

    fork: int
    actions: tuple[int, ...]
    starts: tuple[int, ...]

    @property
    def tip(self) -> int:
        """The first move that is not decided."""
        return self.fork + len(self.actions)


@dataclass(frozen=True)
class Variations:
    """All variations of one plan by number, and the current one (`PLAN`: the plan itself)."""

    lines: tuple[Variation, ...] = field(default=())
    current: int = PLAN

    def path(self) -> Path | None:
        """The path of the current variation; None for the plan itself."""
        chain: list[Variation] = []
        number = self.current
        while number != PLAN:
            chain.append(self.lines[number])
            number = chain[-1].parent
        if not chain:
            return None
        fork = chain[-1].fork
        actions: list[int] = []
        starts: list[int] = []
        for line in reversed(chain):
            del actions[line.fork - fork :]
            starts = [s for s in starts if s < line.fork]
            starts += _starts(line)
            actions += line.actions
        return Path(fork, tuple(actions), tuple(starts))

    def go(self, number: int) -> Variations:
        """Make another variation, or `PLAN`, the current one. Raises IndexError if unknown."""
        if not PLAN <= number < len(self.lines):
            raise IndexError(f"variation {number}: the tree has {len(self.lines)}")
        return replace(self, current=number)

    def play(
        self, move: int, step: Sequence[int], plan_actions: Sequence[int], by: str = "you"
    ) -> Variations:
        """Decide `step` at `move` and on; `plan_actions` are the plan's own, from move 0.

        Moves that the current path makes anyway change nothing. What goes on from its end is added
        to it. Else the step leaves the path: a variation that already does so is taken up again, or
        a new one begins. `move` lies on the current path (at its end at most).
        """
        path = self.path()
        known = (*plan_actions[: path.fork], *path.actions) if path else tuple(plan_actions)
        shared = _shared(known[move:], step)
        rest = tuple(step[shared:])
        at = move + shared
        if not rest:
            return self
        if at == len(known) and self.current != PLAN:
            return self._extended(rest)
        parent = self._owner(at)
        for number, line in enumerate(self.lines):
            if (line.parent, line.fork) == (parent, at) and line.actions[0] == rest[0]:
                return self.go(number).play(at, rest, plan_actions, by)
        new = Variation(parent, at, (rest,), by)
        return Variations((*self.lines, new), len(self.lines))

    def rated(self, rating: Rating) -> Variations:
        """This tree with the current variation's worth."""
        lines = list(self.lines)
        lines[self.current] = replace(lines[self.current], rating=rating)
        return replace(self, lines=tuple(lines))

    def before(self, move: int) -> int:
        """The move that undo leads to: the start of the last step before `move`, else `move`."""
        path = self.path()
        return max((s for s in path.starts if s < move), default=move) if path else move

    def after(self, move: int) -> int:
        """The move that redo leads to from `move`: the end of the step there or of the next one.

        Before the fork it is the fork, and at the end `move` itself.
        """
        path = self.path()
        if path is None:
            return move
        return min((s for s in (*path.starts, path.tip) if s > move), default=move)

    def _extended(self, rest: tuple[int, ...]) -> Variations:
        lines = list(self.lines)
        line = lines[self.current]
        lines[self.current] = replace(line, steps=(*line.steps, rest))
        return replace(self, lines=tuple(lines))

    def _owner(self, move: int) -> int:
        """The variation on the current path whose own moves come before `move`."""
        number = self.current
        while number != PLAN and self.lines[number].fork >= move:
            number = self.lines[number].parent
        return number


def _starts(line: Variation) -> list[int]:
    starts = [line.fork]
    for step in line.steps[:-1]:
        starts.append(starts[-1] + len(step))
    return starts


def _shared(known: Sequence[int], step: Sequence[int]) -> int:
    """The number of actions with which `known` and `step` both begin."""
    for count, (mine, theirs) in enumerate(zip(step, known, strict=False)):
        if mine != theirs:
            return count
    return min(len(known), len(step))


_LETTERS = "pndPN"
"""Letters of the actions in links: Copy (a *p*refetch), NoCopy, Drop; capitals: other end."""
_RUN = re.compile(rf"([{_LETTERS}])(\d{{0,9}})", re.ASCII)
_NUMBER = re.compile(r"v(\d{1,9})", re.ASCII)
_LINE = re.compile(rf"(\d{{1,9}})-((?:[{_LETTERS}]\d{{0,9}})*)", re.ASCII)


def line_text(fork: int, actions: Sequence[int]) -> str:
    """A path in a few characters: its fork, `-`, then letters, each with how often it repeats."""
    runs: list[list[int]] = []
    for action in actions:
        if runs and runs[-1][0] == action:
            runs[-1][1] += 1
        else:
            runs.append([action, 1])
    return f"{fork}-" + "".join(_LETTERS[a] + (str(n) if n > 1 else "") for a, n in runs)


def line_from_text(text: str, num_moves: int) -> tuple[int, tuple[int, ...]] | None:
    """The inverse of `line_text`: fork and actions; None if no game this long has such a line."""
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    fork = int(match[1])
    actions: list[int] = []
    for letter, count in _RUN.findall(match[2]):
        repeats = int(count or 1)
        if fork + len(actions) + repeats > num_moves:
            return None
        actions += [_LETTERS.index(letter)] * repeats
    return fork, tuple(actions)


GREEDY, OWN_PLAN, RANDOM = "greedy", "the plan", "random"


class Player(Protocol):
    """Somebody who decides moves of the game."""

    @property
    def name(self) -> str:
        """The name in the list of players."""

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """Decide the next `num_moves` moves of `game`, or all that are left."""


class PlanPlayer:
    """Goes on as a plan does; where that is illegal, as near to it as the rules allow."""

    def __init__(self, film: Film, name: str = OWN_PLAN) -> None:
        """Follow the plan of `film`."""
        self._film, self.name = film, name

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """See `Player.play`."""
        self._film.play_to(game, _end(game, num_moves))


class GreedyPlayer:
    """At every move the action that earns most at once; ties go to NoCopy, Copy, Drop."""

    name = GREEDY

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """See `Player.play`."""
        end = _end(game, num_moves)
        while game.move_index < end:
            game.step(best_action(game))


class RandomPlayer:
    """Any legal action, all equally likely; the same ones again from the same position."""

    name = RANDOM

    def play(self, game: ReferenceGame, num_moves: int) -> None:
        """See `Player.play`; the number of the move seeds the dice."""
        dice = random.Random(game.move_index)
        end = _end(game, num_moves)
        while game.move_index < end:
            game.step(dice.choice(game.legal_actions()))


def players(film: Film) -> dict[str, Player]:
    """The players who answer at once, from any position of a line that leaves `film`, by name.

    The agent and the solvers take longer: `ui.play.playing_on`.
    """
    all_players: list[Player] = [GreedyPlayer(), PlanPlayer(film), RandomPlayer()]
    return {player.name: player for player in all_players}


def _end(game: ReferenceGame, num_moves: int) -> int:
    return min(game.move_index + num_moves, game.num_moves)


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
        """How the browser, which holds version `held`, comes to show the current path."""
        self.draft, message = drawn(self.draft, self.picture, held)
        return self.draft, message

    def play(self, move: int, action: int) -> int:
        """Decide `move`, and the moves after it that leave no choice; returns the next move.

        Raises ValueError if the action is illegal there.
        """
        game = self.game_at(move)
        game.step(action)
        game.play_forced()
        return self._take(move, game, "you")

    def worth(self, move: int, action: int) -> Rating:
        """What another action than the plan's is worth at a move of the plan.

        Raises ValueError if the action is illegal there.
        """
        game = self.film.game_at(move)
        game.step(action)
        game.play_forced()
        return _rating(self.film, game)

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
        """Play the line of a link; returns its first move, or None if it does not fit the game.

        It fits only if each of its actions is legal; at a sink there is nothing to decide. It may
        also be the number of a variation.
        """
        if match := _NUMBER.fullmatch(text):
            number = int(match[1]) - 1
            return self.go(number) if PLAN < number < len(self.tree.lines) else None
        parsed = line_from_text(text, self.film.num_moves)
        if parsed is None or not parsed[1]:
            return None
        fork, actions = parsed
        game = self.film.game_at(fork)
        for action in actions:
            if not game.move.is_sink and game.nearest(action) != action:
                return None
            game.step(game.nearest(action))
        self.go(PLAN)
        self._take(0, game, "link")
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

    def number(self) -> str:
        """The current variation as one of this tree alone, for a link of who has the tree."""
        return f"v{self.tree.current + 1}"

    def take_in(self, lines: Sequence[Variation]) -> None:
        """Add the variations of another tree of this game; the one that is shown stays."""
        current, other = self.tree.current, Variations(tuple(lines))
        for number, line in enumerate(lines):
            path = other.go(number).path()
            assert path is not None, "it is a variation"
            actions = (*self.film.actions[: path.fork], *path.actions)
            before = self.tree.go(PLAN)
            self.tree = before.play(0, actions, self.film.actions, line.by)
            if self.tree.lines != before.lines:
                self.tree = self.tree.rated(line.rating)
        self.tree = self.tree.go(current)

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

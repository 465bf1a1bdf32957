"""The tree of variations that leave a plan, as chess programs keep it; immutable.

A variation begins where it leaves its parent: the plan itself (`PLAN`) or another variation. Its
moves come in *steps*: what one decision played, the moves without a choice behind it included. The
*path* of a variation is the plan up to the first fork, then one variation's moves after another's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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

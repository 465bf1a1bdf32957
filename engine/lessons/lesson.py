"""What a lesson is: a board, a goal on it, and what is said about both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from engine.game.moves import Rules
from engine.game.reference.game import ReferenceGame
from engine.program.model import Program

SEARCH, MODEL = "search", "model"
AGENT_VIEWS = (SEARCH, MODEL)


@dataclass(frozen=True)
class Goal:
    """What must hold at the end of the game; every condition that is given.

    `is_optimum`: no continuation from the start position is faster. `within`: at most that share
    slower than the optimum. `save_s`: at least so much saved against all slow, `stall_s`: at most
    so much waited, `dead_ends`: at most so many undone by Drop-backup. `beat`: faster than the plan
    of that solver.
    """

    is_optimum: bool = False
    within: float | None = None
    save_s: float | None = None
    stall_s: float | None = None
    dead_ends: int | None = None
    beat: str = ""


@dataclass(frozen=True)
class AgentView:
    """Help on the cards of the board. `search`: the best of the next `depth` moves, by the rules.

    `model`: what a model imagines that takes the fast memory to be `fast_bytes` large.
    """

    kind: str
    depth: int = 0
    fast_bytes: int = 0


@dataclass(frozen=True)
class Reading:
    """Where more is said: a title, the source in words, and an address."""

    title: str
    source: str
    url: str


@dataclass(frozen=True)
class Lesson:
    """A lesson; `name` is that of its file.

    `order`: its place in the list. `needs`: lessons that come before. `text`: Markdown. `start`:
    actions that are played before the learner takes over. `docs`: pages and headings of ours.
    """

    name: str
    title: str
    order: int
    minutes: int
    concepts: tuple[str, ...]
    needs: tuple[str, ...]
    text: str
    after: str
    hints: tuple[str, ...]
    goal: Goal
    program: Program
    rules: Rules
    start: tuple[int, ...] = ()
    docs: tuple[str, ...] = ()
    reading: tuple[Reading, ...] = ()
    agent_view: AgentView | None = None

    @cached_property
    def _first(self) -> ReferenceGame:
        game = ReferenceGame(self.program, self.rules)
        for action in self.start:
            game.step(action)
        pass_sinks(game)
        return game

    def begin(self) -> ReferenceGame:
        """A copy of the start position. Raises ValueError if an action of `start` is illegal."""
        return self._first.clone()

    @property
    def words(self) -> str:
        """All that a search looks through, in small letters; of pages of ours, their headings."""
        headings = (page.partition("#")[2].replace("-", " ") for page in self.docs)
        parts = [self.title, self.name, *self.concepts, self.text, self.after, *headings]
        parts += [f"{r.title} {r.source}" for r in self.reading]
        return " ".join(parts).lower()


def pass_sinks(game: ReferenceGame) -> None:
    """Play the sinks that come next, which leave no choice; uses are the learner's, all of them."""
    while not game.is_over and game.move.is_sink and sum(game.legal()) == 1:
        game.step(game.legal().index(True))

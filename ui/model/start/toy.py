"""The start page: the three most telling samples, and a toy game of eight moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.game.move_list import moves
from engine.game.moves import COPY, DROP, NO_COPY
from engine.game.notes import notes_of
from engine.game.reference.game import ReferenceGame
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.library import SampleEntry
from engine.program.model import Program
from engine.program.proof import gap
from engine.program.teaching import Draft
from ui.components.memory_map.board import board
from ui.components.units import times_text
from ui.model.programs.catalogue import TEACHING, family

_MOST_TOUCHES = 2000
_HOW_MANY = 3


def telling(entries: Sequence[SampleEntry]) -> list[SampleEntry]:
    """The three programs, each of another family, whose plan by XLA is farthest from the best.

    Samples that are too large for a first look are left out.
    """
    by_family: dict[str, SampleEntry] = {}
    for entry in sorted(entries, key=_stake, reverse=True):
        if family(entry) != TEACHING and _stake(entry) > 0 and entry.touches <= _MOST_TOUCHES:
            by_family.setdefault(family(entry), entry)
    return list(by_family.values())[:_HOW_MANY]


def _stake(entry: SampleEntry) -> float:
    """How much of the bound lies between XLA's plan and the best known."""
    xla = gap(entry.xla_latency_s, entry.bound_s)
    best = gap(entry.best_s, entry.bound_s)
    return 0.0 if xla is None or best is None or not entry.best_solver else xla - best


NAME = "toy"
SECONDS = 30.0
"""How long the whole game takes to play itself."""
_SCRIPT = (
    (DROP, "“embed” reads x. Nothing ran before it, so nothing could fetch x ahead of time."),
    (NO_COPY, "It makes a. Fast memory has room, so a is made right there, at no cost."),
    (NO_COPY, "“attend” reads a from fast memory: no waiting for slow memory."),
    (NO_COPY, "It makes b beside a. An address matters: what is left must stay in one piece."),
    (COPY, "“mix” reads the weights w. They were copied in while “attend” was computing."),
    (NO_COPY, "It reads b, which is still where it was made."),
    (NO_COPY, "“project” reads w again. It stayed, so it is not copied twice."),
    (COPY, "It reads x once more: copied in just in time, into the place that a has left."),
)


@dataclass(frozen=True)
class Toy:
    """The toy's program, its plan, and what is said at each move."""

    program: Program
    plan: Plan
    captions: tuple[str, ...]

    def packed(self, identity: str) -> bytes:
        """The message that draws the toy on the memory map."""
        simulation = simulate(self.program, self.plan)
        return board(self.program, self.plan, moves(self.program), simulation, identity)


def toy() -> Toy:
    """The toy; its game is played anew, so that captions and plan cannot part."""
    program = _program()
    game = ReferenceGame(program)
    for action, _ in _SCRIPT:
        game.step(action)
    plan = game.plan(NAME, notes_of(game))
    fast, slow = times_text(simulate(program, plan).latency_s, program.all_slow_s)
    end = f" The program takes {fast} instead of {slow}."
    captions = [text for _, text in _SCRIPT]
    captions[-1] += end
    return Toy(program, plan, tuple(captions))


def _program() -> Program:
    draft = Draft()
    x, w = draft.input("x", 192), draft.input("w", 512)
    draft.step("embed", 900, [x])
    a = draft.write("a", 256)
    draft.step("attend", 700, [a])
    b = draft.write("b", 256)
    draft.step("mix", 600, [w, b])
    draft.step("project", 300, [w, x])
    return draft.program(NAME, "A toy of eight moves", "")

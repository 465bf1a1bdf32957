"""What a visitor has seen the agent think: whole games, and positions searched again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.agent.trace_io import SearchTrace, trace_from_bytes
from engine.analysis.traced_game import traced_game
from engine.errors import CheckpointError
from engine.game.notes import notes_of
from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program
from ui.jobs.protocol import PLAY, REGRET, TRACE, WEIGHTS
from ui.jobs.run import Job


@dataclass(frozen=True)
class Thought:
    """One game of the agent with all its searches.

    `plan`: the game, with notes from which it is replayed. `facts`: how it was made, as far as that
    is known (see `ui.jobs.agent`). `weights`: the checkpoint's files, or none. `data`: the file.
    """

    name: str
    trace: SearchTrace
    plan: Plan
    facts: Mapping[str, Any]
    weights: Mapping[str, bytes]
    data: bytes
    identity: str

    @classmethod
    def of_game(
        cls, name: str, plan: Plan, files: Mapping[str, bytes], facts: Mapping[str, Any]
    ) -> Thought:
        """The thought that a run of the agent left. Raises CheckpointError."""
        data = files[TRACE]
        weights = {file: files[file] for file in WEIGHTS if file in files}
        return cls(name, trace_from_bytes(data, name), plan, facts, weights, data, _identity(data))


@dataclass(frozen=True)
class Again:
    """Another search of the position before `move` of a thought's game; `trace` has one row."""

    thought: str
    move: int
    trace: SearchTrace
    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the list of searches shows."""
        return search_name(self.facts, self.trace)


@dataclass
class Searches:
    """All of them for one program, and what is being looked at."""

    thoughts: dict[str, Thought] = field(default_factory=dict)
    current: str = ""
    again: list[Again] = field(default_factory=list)
    regrets: dict[str, Mapping[int, Mapping[str, Any]]] = field(default_factory=dict)
    """What moves cost, by the identity of the thought (`ui.jobs.regret`)."""
    jobs: list[Job] = field(default_factory=list)
    """Searches and regrets under way; practice is a solver's run like others."""
    move: int = -1
    """-1: none was chosen yet."""
    nonce: int = 0
    handled: int = 0
    panel: str = "inbox"
    inbox_row: int | None = None

    @property
    def thought(self) -> Thought | None:
        """The game that is looked at; None while there is none."""
        return self.thoughts.get(self.current)

    def add(self, thought: Thought, is_shown: bool = True) -> None:
        """List a game and look at it, if that is wished; the same one is listed once."""
        name, number = thought.name, 1
        while name in self.thoughts and self.thoughts[name].identity != thought.identity:
            number += 1
            name = f"{thought.name} ({number})"
        self.thoughts[name] = thought
        if is_shown:
            self.show(name)

    def show(self, name: str) -> None:
        """Look at another game."""
        if name != self.current:
            self.current, self.inbox_row = name, None
            self.jump(min(self.move, self.thoughts[name].trace.num_moves - 1))

    def jump(self, move: int) -> None:
        """Send the browser to a move."""
        self.move, self.nonce = move, self.nonce + 1

    def collect(self) -> bool:
        """Take in what finished jobs found; whether there was any. Raises CheckpointError."""
        finished = [job for job in self.jobs if job.take()]
        for job in finished:
            if job.order.kind == PLAY:
                self.add(played_on(job), is_shown=not self.thoughts)
            elif job.order.kind == REGRET:
                moves = {int(move): row for move, row in job.result["moves"].items()}
                self.regrets[job.order.basis] = moves
            else:
                move = dict(job.order.details)["move"]
                trace = trace_from_bytes(job.files[TRACE], job.solver)
                self.again.append(Again(job.order.basis, int(move), trace, job.result))
        return bool(finished)

    @property
    def is_busy(self) -> bool:
        """Whether a job is waiting or under way."""
        return any(not job.is_over for job in self.jobs)

    def of_move(self) -> list[Again]:
        """The other searches of the position that is looked at."""
        thought = self.thought
        if thought is None:
            return []
        return [a for a in self.again if (a.thought, a.move) == (thought.identity, self.move)]


def practised(plan: Plan, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> Thought:
    """The thought that a practice of the agent left. Raises CheckpointError."""
    seed = f", seed {facts['seed']}" if facts["seed"] else ""
    return Thought.of_game(f"practised {facts['seconds']:g} s{seed}", plan, files, facts)


def played_on(job: Job) -> Thought:
    """The thought of an agent that was asked to play on from a position. Raises CheckpointError."""
    begun = str(dict(job.order.details)["begun"])
    assert job.plan is not None, "a finished game of the agent has a plan"
    name = f"{job.order.name} from move {len(begun) + 1:,}"
    return Thought.of_game(name, job.plan, job.files, job.result)


def brought(program: Program, data: bytes, name: str) -> Thought:
    """The thought in a file that the visitor brought. Raises CheckpointError."""
    trace = trace_from_bytes(data, name)
    if trace.program_hash != content_hash(program):
        raise CheckpointError(f"{name}: is of the program {trace.program}; open that one first")
    plan = game_of(program, trace)
    if plan is None:
        raise CheckpointError(f"{name}: its moves are not a game of this program; make it again")
    return Thought(name, trace, plan, {}, {}, data, _identity(data))


def game_of(program: Program, trace: SearchTrace) -> Plan | None:
    """The game of a trace as a plan, or None."""
    game = traced_game(program, trace)
    return None if game is None else game.plan("muzero", notes_of(game))


def search_name(facts: Mapping[str, Any], trace: SearchTrace) -> str:
    """`1,000 simulations · learned model · fresh weights`."""
    count = trace.tree_parent.shape[1] - 1
    parts = [f"{count:,} simulation" + ("" if count == 1 else "s"), f"{trace.model} model"]
    if trace.settings.get("algorithm", "gumbel") != "gumbel":
        parts.append("classic MuZero")
    if "weights" in facts:
        parts.append(f"{facts['weights']} weights")
    return " · ".join(parts)


def _identity(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]

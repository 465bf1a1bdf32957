"""The agent's searches that a visitor has: of whole games, and of single positions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from engine.agent.trace_io import SearchTrace, trace_from_bytes
from engine.debugging.findings import VERSION, Finding
from engine.debugging.games import traced_game
from engine.debugging.gap_account import Correction
from engine.errors import CheckpointError
from engine.game.notes import notes_of
from engine.plan.model import Plan
from engine.program.io import content_hash
from engine.program.model import Program
from ui.jobs.protocol import DUEL, FINDINGS, FORCE, GAP, PLAY, RESEARCH, RETRACE, TRACE, WEIGHTS
from ui.jobs.run import Job


@dataclass(frozen=True)
class Thought:
    """One game of the agent with all its searches.

    `plan`: the game, with notes from which it is replayed. `facts`: how it was made, as far as that
    is known (see `ui.jobs.agent`). `weights`: the checkpoint's files, or none. `data`: the trace's
    file.
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


@dataclass(frozen=True)
class Second:
    """Other searches of all positions of a thought's game, to stand beside its own."""

    thought: str
    trace: SearchTrace
    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the list of searches shows."""
        return search_name(self.facts, self.trace)


@dataclass(frozen=True)
class Study:
    """The findings on the moves of a game; `completeness`: share of the regrets that are known."""

    findings: tuple[Finding, ...]
    completeness: float

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Study:
        """The study that a job found (`ui.jobs.what_if.find`)."""
        rows = [Finding(**{**row, "signs": tuple(row["signs"])}) for row in result["findings"]]
        return cls(tuple(rows), float(result["completeness"]))

    @property
    def regrets(self) -> dict[int, Finding]:
        """The regrets that are known, by move."""
        return {f.move: f for f in self.findings if f.regret_us is not None}


@dataclass(frozen=True)
class GapStudy:
    """What a game's gap is made of: its corrections, and the bound's seconds by slot.

    `best`: identity of the plan by which it was measured, empty without one.
    """

    best: str
    corrections: tuple[Correction, ...]
    tried: int
    num_choices: int
    bound_by_slot: tuple[float, ...]

    @classmethod
    def of(cls, result: Mapping[str, Any], best: str) -> GapStudy:
        """What a job found (`ui.jobs.what_if.explain_gap`)."""
        return cls(
            best=best,
            corrections=tuple(Correction(**row) for row in result["corrections"]),
            tried=int(result["tried"]),
            num_choices=int(result["num_choices"]),
            bound_by_slot=tuple(result["bound_by_slot"]),
        )


@dataclass
class Searches:
    """All searches of one program, and the game and move that are looked at."""

    thoughts: dict[str, Thought] = field(default_factory=dict)
    current: str = ""
    again: list[Again] = field(default_factory=list)
    seconds: list[Second] = field(default_factory=list)
    studies: dict[str, Study] = field(default_factory=dict)
    """Studies by the identity of the thought."""
    gaps: dict[tuple[str, str], GapStudy] = field(default_factory=dict)
    """What the gaps of games are made of, by the identities of the thought and of the best plan."""
    forced: list[Job] = field(default_factory=list)
    """Finished jobs that forced an action; `order.basis` is the identity of the thought."""
    duels: list[Job] = field(default_factory=list)
    """Finished A/B comparisons of agents."""
    jobs: list[Job] = field(default_factory=list)
    """All work of this kind under way; practice is a solver's run like others."""
    is_watched: bool = False
    """Whether a first game was ordered because there was none to look at."""
    has_new: bool = False
    """Whether a game is listed that no earlier visit left."""
    rows: tuple[int, ...] | None = None
    """The moves of the inbox as it stands on Debug; None: its usual order."""
    beside: int = -1
    """The search that is to stand on the right, -1: as the visitor left it."""
    move: int = -1
    """The move that is looked at; -1: none was chosen yet."""
    nonce: int = 0
    panel: str = "inbox"
    inbox_row: int | None = None

    @property
    def thought(self) -> Thought | None:
        """The game that is looked at; None while there is none."""
        return self.thoughts.get(self.current)

    def add(self, thought: Thought, is_shown: bool = True, is_kept: bool = False) -> None:
        """List a game and look at it, if that is wished; the same one is listed once.

        `is_kept`: an earlier visit left it, so that it is looked at only where there is no other.
        """
        is_shown = is_shown and not (is_kept and self.thoughts)
        self.has_new = self.has_new or not is_kept
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

    def jump(self, move: int, beside: int = -1) -> None:
        """Send the browser to a move; `beside`: the search to stand on the right, if one is to."""
        self.move, self.nonce, self.beside = move, self.nonce + 1, beside

    def collect(self) -> bool:
        """Take in the results of finished jobs; returns whether there were any.

        Raises CheckpointError.
        """
        finished = [job for job in self.jobs if job.take()]
        for job in finished:
            self._take[job.order.kind](self, job)
        return bool(finished)

    def _take_game(self, job: Job) -> None:
        self.add(played_on(job), is_shown=not self.thoughts, is_kept=job.is_kept)

    def _take_search(self, job: Job) -> None:
        """Another search of one position: shown at once, beside that of the game, if it is new."""
        move = int(dict(job.order.details)["move"])
        trace = trace_from_bytes(job.files[TRACE], job.solver)
        found = Again(job.order.basis, move, trace, job.result)
        names = [a.name for a in self.again if (a.thought, a.move) == (found.thought, move)]
        if found.name not in names:
            self.again.append(found)
            names.append(found.name)
        shown = next((n for n, t in self.thoughts.items() if t.identity == job.order.basis), None)
        if shown is not None and not job.is_kept:
            self.show(shown)
            self.move = move
            self.jump(move, len(self.of_game()) + names.index(found.name) + 1)

    def _take_trace(self, job: Job) -> None:
        """Searches of a whole game: the game itself if it was not looked at before."""
        if not job.order.basis:
            game = Thought.of_game(job.order.name, plan_of(job), job.files, job.result)
            self.add(game, is_kept=job.is_kept)
            return
        trace = trace_from_bytes(job.files[TRACE], job.solver)
        found = Second(job.order.basis, trace, job.result)
        names = [s.name for s in self.seconds if s.thought == found.thought]
        if found.name not in names:
            self.seconds.append(found)
            names.append(found.name)
        shown = self.thought
        if shown is not None and shown.identity == found.thought and self.move >= 0:
            self.jump(self.move, names.index(found.name) + 1)

    def _take_study(self, job: Job) -> None:
        if dict(job.order.details).get("version") != VERSION:
            return
        known = self.studies.get(job.order.basis)
        study = Study.of(job.result)
        if known is None or known.completeness <= study.completeness:
            self.studies[job.order.basis] = study

    def _take_gap(self, job: Job) -> None:
        best = str(dict(job.order.details)["best"])
        self.gaps[job.order.basis, best] = GapStudy.of(job.result, best)

    def _take_forced(self, job: Job) -> None:
        self.forced.append(job)

    def _take_duel(self, job: Job) -> None:
        """The last one is shown first; one that was ordered before is the same."""
        self.duels = [*(duel for duel in self.duels if duel.order != job.order), job]

    _take: ClassVar[dict[str, Callable[[Searches, Job], None]]] = {
        PLAY: _take_game,
        RESEARCH: _take_search,
        RETRACE: _take_trace,
        FINDINGS: _take_study,
        FORCE: _take_forced,
        DUEL: _take_duel,
        GAP: _take_gap,
    }

    @property
    def is_busy(self) -> bool:
        """Whether a job is waiting or under way."""
        return any(not job.is_over for job in self.jobs)

    @property
    def study(self) -> Study | None:
        """The study of the game that is looked at, once it is there."""
        thought = self.thought
        return None if thought is None else self.studies.get(thought.identity)

    def of_game(self) -> list[Second]:
        """The other searches of the game that is looked at."""
        thought = self.thought
        return [s for s in self.seconds if thought and s.thought == thought.identity]

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
    name = f"{job.order.name} from move {len(begun) + 1:,}" if begun else job.order.name
    return Thought.of_game(name, plan_of(job), job.files, job.result)


def plan_of(job: Job) -> Plan:
    """The plan of a finished game of the agent."""
    assert job.plan is not None, "a finished game of the agent has a plan"
    return job.plan


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

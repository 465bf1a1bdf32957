"""A recorded game of the shipped weights, with all that Search and Debug show of it, as one file.

It holds the game with its searches, the same positions searched with the other model, what the
moves cost, and what the gap is made of. It counts only for the very program, weights and rules with
which it was recorded (`python -m ui.session.record_games`).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from engine.agent.arrays import pack, unpack
from engine.agent.trace_io import trace_from_bytes
from engine.debugging.findings import VERSION as FINDINGS_VERSION
from engine.debugging.gap_account import account
from engine.debugging.regret import CLASSES
from engine.errors import CheckpointError, EngineError
from engine.files import json_of, typed
from engine.game.move_list import moves
from engine.game.moves import NUM_ACTIONS, RULES_VERSION
from engine.game.notes import noted_actions, noted_game
from engine.plan.io import plan_from_json, plan_to_json
from engine.plan.model import Plan
from engine.program.model import Program
from ui.jobs.protocol import TRACE
from ui.model.search.state import GapStudy, Searches, Second, Study, Thought

KIND, VERSION = "mallocmuzero-game", 1
NAME = "the agent's game, recorded"
_MOST_BYTES = 2**28


@dataclass(frozen=True)
class Recording:
    """What was recorded. `weights`, `digest`: name of the checkpoint, and hash of its arrays.

    `game`, `second`: the files of the two traces. `study`: what its moves cost; `gap`: what its gap
    is made of.
    """

    program: str
    weights: str
    digest: str
    plan: Plan
    game: bytes
    second: bytes
    study: Study
    gap: GapStudy
    rules: int = RULES_VERSION
    findings_version: int = FINDINGS_VERSION

    def refusal(self, program: str, digest: str) -> str:
        """Why it does not count for a program (its content hash) and weights; empty if it does."""
        wanted = {
            "another program": (self.program, program),
            "other weights": (self.digest, digest),
            "other rules": (self.rules, RULES_VERSION),
            "other findings": (self.findings_version, FINDINGS_VERSION),
        }
        return next((f"of {what}" for what, (own, now) in wanted.items() if own != now), "")

    def to_bytes(self) -> bytes:
        """The file."""
        names = ("program", "weights", "digest", "rules", "findings_version")
        head = {name: getattr(self, name) for name in names}
        head |= {"kind": KIND, "version": VERSION, "plan": plan_to_json(self.plan)}
        head |= {"findings": asdict(self.study), "gap": asdict(self.gap)}
        head["best"] = head["gap"].pop("best")
        parts = {"head": json.dumps(head).encode(), "game": self.game, "second": self.second}
        return pack({name: np.frombuffer(part, np.uint8) for name, part in parts.items()})

    @cached_property
    def listed(self) -> tuple[Thought, Second]:
        """The game and its other search, read. Raises CheckpointError where they are not of one
        game of this program.
        """
        facts = {"weights": self.weights, "recorded": self.digest, "games": 1}
        thought = Thought.of_game(NAME, self.plan, {TRACE: self.game}, facts)
        second = Second(thought.identity, trace_from_bytes(self.second, NAME), facts)
        traces = (thought.trace, second.trace)
        programs = {self.plan.program_hash, *(trace.program_hash for trace in traces)}
        games = {tuple(trace.action.tolist()) for trace in traces}
        games.add(noted_actions(self.plan, thought.trace.num_moves) or ())
        if programs != {self.program} or len(games) > 1:
            raise CheckpointError(
                f"{NAME}: plan and searches are of several games; record it again"
            )
        return thought, second

    def require_game_of(self, program: Program) -> None:
        """Replay the game and look at all figures. Raises CheckpointError where they do not fit."""
        every, game = moves(program), noted_game(program, self.plan)
        trace, rows, found = self.listed[0].trace, self.study.findings, self.gap.corrections
        is_fitting = (
            game is not None
            and game.actions == trace.action.tolist()
            and len(self.gap.bound_by_slot) == program.num_slots + 1
            and [f.move for f in rows] == list(range(len(every)))
            and all(
                (f.slot, f.group) == (m.time, m.group) for f, m in zip(rows, every, strict=True)
            )
            and all(f.verdict in ("", *CLASSES) for f in rows)
            and all(0 <= c.move < len(every) for c in found)
            and all((c.time, c.group) == (every[c.move].time, every[c.move].group) for c in found)
            and all(0 <= a < NUM_ACTIONS for c in found for a in (c.played, c.better))
        )
        try:
            if not is_fitting:
                raise ValueError("other moves, slots or tensors")
            account(program, self.plan, None, None, found)
        except (ValueError, IndexError, EngineError) as error:
            raise CheckpointError(
                f"{NAME}: is of another game ({error}); record it again"
            ) from error

    def add_to(self, searches: Searches) -> None:
        """List the game, its searches and studies; all or, with a CheckpointError, nothing."""
        thought, second = self.listed
        searches.seconds.append(second)
        searches.studies[thought.identity] = self.study
        searches.gaps[thought.identity, self.gap.best] = self.gap
        searches.add(thought)


def recording_of(data: bytes, name: str) -> Recording:
    """The recording in a file. Raises CheckpointError if it is none, or damaged."""
    try:
        parts = {key: array.tobytes() for key, array in unpack(data, _MOST_BYTES).items()}
        head = json_of(parts["head"])
        if (head.pop("kind"), head.pop("version")) != (KIND, VERSION):
            raise CheckpointError(f"{name}: is a recorded game of another version; record it again")
        plan = plan_from_json(head.pop("plan"), name)
        study = typed(head.pop("findings"), Study)
        gap = typed({**head.pop("gap"), "best": head.pop("best")}, GapStudy)
        game, second = parts["game"], parts["second"]
        recording = Recording(plan=plan, game=game, second=second, study=study, gap=gap, **head)
        # Read now, so that a bad file counts as none before anything of it is shown.
        _ = recording.listed
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, EngineError) as error:
        raise CheckpointError(f"{name}: is no readable recorded game; record it again") from error
    return recording

"""A recorded game of the shipped weights, with all that Search and Debug show of it, as one file.

It holds the game with its searches, the same positions searched with the other model, what the
moves cost, and what the gap is made of. It counts only for the very program, weights and rules with
which it was recorded (`python -m ui.session.record_games`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.agent.arrays import pack, unpack
from engine.agent.trace_io import trace_from_bytes
from engine.debugging.findings import VERSION as FINDINGS_VERSION
from engine.errors import CheckpointError, EngineError
from engine.files import json_of
from engine.game.moves import RULES_VERSION
from engine.plan.io import plan_from_json, plan_to_json
from engine.plan.model import Plan
from ui.jobs.protocol import TRACE
from ui.model.search.state import GapStudy, Searches, Second, Study, Thought

KIND, VERSION = "mallocmuzero-game", 1
NAME = "the agent's game, recorded"
_MOST_BYTES = 2**28


@dataclass(frozen=True)
class Recording:
    """What was recorded. `weights`, `digest`: name of the checkpoint, and hash of its arrays.

    `game`, `second`: the files of the two traces. `findings`, `gap`: as the jobs give them
    (`ui.jobs.what_if`); `best`: identity of the plan by which the gap was measured.
    """

    program: str
    weights: str
    digest: str
    plan: Plan
    game: bytes
    second: bytes
    findings: Mapping[str, Any]
    gap: Mapping[str, Any]
    best: str
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
        names = ("program", "weights", "digest", "findings", "gap", "best", "rules")
        head = {name: getattr(self, name) for name in (*names, "findings_version")}
        head |= {"kind": KIND, "version": VERSION, "plan": plan_to_json(self.plan)}
        parts = {"head": json.dumps(head).encode(), "game": self.game, "second": self.second}
        return pack({name: np.frombuffer(part, np.uint8) for name, part in parts.items()})

    def add_to(self, searches: Searches) -> None:
        """List the game, its searches and studies. Raises CheckpointError for damaged traces."""
        facts = {"weights": self.weights, "recorded": self.digest}
        thought = Thought.of_game(NAME, self.plan, {TRACE: self.game}, facts)
        second = trace_from_bytes(self.second, NAME)
        searches.seconds.append(Second(thought.identity, second, facts))
        searches.studies[thought.identity] = Study.of(self.findings)
        searches.gaps[thought.identity] = GapStudy.of(self.gap, self.best)
        searches.add(thought)


def recording_of(data: bytes, name: str) -> Recording:
    """The recording in a file. Raises CheckpointError if it is none, or damaged."""
    try:
        parts = {key: array.tobytes() for key, array in unpack(data, _MOST_BYTES).items()}
        head = json_of(parts["head"])
        if (head.pop("kind"), head.pop("version")) != (KIND, VERSION):
            raise CheckpointError(f"{name}: is a recorded game of another version; record it again")
        plan = plan_from_json(head.pop("plan"), name)
        return Recording(plan=plan, game=parts["game"], second=parts["second"], **head)
    except (ValueError, KeyError, TypeError, AttributeError, EngineError) as error:
        raise CheckpointError(f"{name}: is no readable recorded game; record it again") from error

"""Which weights the agent can begin with: shipped checkpoints, fresh ones, those of a practice."""

from __future__ import annotations

import json
from pathlib import Path

from engine.game.moves import RULES_VERSION

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
GENERALIST, FRESH, PRACTISED = "generalist", "fresh", "practised"
_MANIFEST = "manifest.json"


def shipped() -> list[str]:
    """Names of the checkpoints that came with the project, the generalist first."""
    names = sorted(p.parent.name for p in CHECKPOINTS.glob(f"*/{_MANIFEST}"))
    return sorted(names, key=lambda name: name != GENERALIST)


def digest(name: str) -> str:
    """The hash of the arrays of a checkpoint that came with the project; empty if unreadable."""
    try:
        return str(json.loads((CHECKPOINTS / name / _MANIFEST).read_text())["arrays_sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def stamp() -> str:
    """What results of the agent hang on besides their order: rules and shipped weights."""
    return f"{RULES_VERSION} {' '.join(digest(name) for name in shipped())}"


def words(name: str) -> str:
    """The words on the page for weights of that name."""
    known = {
        GENERALIST: "the trained generalist",
        FRESH: "fresh weights, untrained",
        PRACTISED: "the agent after its practice",
    }
    return known.get(name, f"checkpoint {name}")

"""Which weights the agent can begin with: shipped checkpoints, fresh ones, those of a practice."""

from __future__ import annotations

from pathlib import Path

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
GENERALIST, FRESH, PRACTISED = "generalist", "fresh", "practised"
_MANIFEST = "manifest.json"


def shipped() -> list[str]:
    """Names of the checkpoints that came with the project, the generalist first."""
    names = sorted(p.parent.name for p in CHECKPOINTS.glob(f"*/{_MANIFEST}"))
    return sorted(names, key=lambda name: name != GENERALIST)


def words(name: str) -> str:
    """The words on the page for weights of that name."""
    known = {
        GENERALIST: "the trained generalist",
        FRESH: "fresh weights, untrained",
        PRACTISED: "the agent after its practice",
    }
    return known.get(name, f"checkpoint {name}")

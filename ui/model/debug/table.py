"""The inbox as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from engine.debugging.findings import Finding
from engine.debugging.move_notes import Note

COLUMNS = (
    "here", "class", "move", "played", "better", "regret", "surprise", "wrong prior", "value jump",
    "punished", "model drift", "illegal", "tensor", "kind", "size", "pressure", "phase", "visits",
    "note", "game",
)  # fmt: skip


def table(
    rows: Sequence[Finding],
    notes: Mapping[str, Mapping[int, Note]],
    here: tuple[str, int],
) -> pd.DataFrame:
    """One line per finding; `notes` by game and move, `here`: the game and the move that is shown.

    Without a class, `class` says why there can be none.
    """
    return pd.DataFrame([_line(finding, notes, here) for finding in rows], columns=list(COLUMNS))


def _line(
    finding: Finding, notes: Mapping[str, Mapping[int, Note]], here: tuple[str, int]
) -> tuple[object, ...]:
    note = notes.get(finding.game, {}).get(finding.move)
    text = "" if note is None else f"{'★ ' if note.is_marked else ''}{note.text}"
    return (
        "▶" if (finding.game, finding.move) == here else "",
        finding.verdict or finding.unjudged,
        finding.move + 1,
        finding.action,
        finding.better,
        finding.regret_us,
        finding.surprise,
        finding.wrong_prior,
        finding.value_jump_us,
        finding.punished,
        finding.drift_us,
        finding.illegal,
        finding.tensor,
        finding.kind,
        finding.size_bytes / 2**20,
        finding.pressure,
        finding.phase,
        finding.visits,
        text,
        finding.game,
    )

"""The inbox of the debugger: its filter, its rows, and what a visitor has open."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import pandas as pd

from engine.debugging.counterfactual import Counterfactual
from engine.debugging.findings import Finding, inbox
from engine.debugging.move_notes import MoveNotes, Note
from engine.debugging.regret import CLASSES

REGRET = "regret"
MOST_BROUGHT = 4
"""Checkpoints that are kept of a visitor: each may have tens of megabytes."""
_BY_REGRET: Callable[[Finding], float] = lambda f: f.regret_us or 0.0  # noqa: E731
SORTS: Mapping[str, Callable[[Finding], float]] = MappingProxyType(
    {
        REGRET: _BY_REGRET,
        "surprise": lambda f: f.surprise,
        "wrong prior": lambda f: f.wrong_prior or 0.0,
        "value jump": lambda f: abs(f.value_jump_us),
        "model drift": lambda f: f.drift_us,
        "illegal imagination": lambda f: f.illegal,
        "size": lambda f: float(f.size_bytes),
        "memory pressure": lambda f: f.pressure,
        "move": lambda f: -float(f.move),
    }
)
"""What the inbox can be sorted by, the largest first; moves in their order."""
UNCLASSED = "no class"


@dataclass(frozen=True)
class Filter:
    """What the inbox lists; an empty choice lets all through.

    `least_bytes`, `least_pressure`: lower limits.
    """

    sort: str = REGRET
    classes: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    punished: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    least_bytes: int = 0
    least_pressure: float = 0.0

    def rows(self, findings: Iterable[Finding]) -> list[Finding]:
        """The rows of the inbox that pass, sorted; equals keep the order of the inbox."""
        return sorted(filter(self._passes, inbox(findings)), key=lambda f: -SORTS[self.sort](f))

    @property
    def is_narrow(self) -> bool:
        """Whether it may hold anything back."""
        return self != Filter(sort=self.sort)

    def _passes(self, finding: Finding) -> bool:
        choices = (
            (self.classes, finding.verdict or UNCLASSED),
            (self.actions, finding.action),
            (self.kinds, finding.kind),
            (self.phases, finding.phase),
            (self.punished, finding.punished),
        )
        return (
            all(not wanted or value in wanted for wanted, value in choices)
            and (not self.signs or not set(self.signs).isdisjoint(finding.signs))
            and finding.size_bytes >= self.least_bytes
            and finding.pressure >= self.least_pressure
        )


def counts_text(findings: Iterable[Finding]) -> str:
    """How many findings each class has, as `2 ?? · 9 ?!`, of those with any; else `none`."""
    counts = Counter(finding.verdict for finding in findings)
    return " · ".join(f"{counts[name]} {name}" for name in CLASSES if counts[name]) or "none"


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


PANELS = {"force": "Force an action", "notes": "Notes", "ab": "A/B", "about": "What is counted"}


@dataclass
class Debugging:
    """The inbox's filter, notes, forced actions, and what was begun without being asked for.

    `forced`: answers that were given at once, by game, move and action.
    """

    filter: Filter = field(default_factory=Filter)
    is_of_all: bool = False
    """Whether the inbox lists all games of the program."""
    notes: MoveNotes = field(default_factory=MoveNotes)
    kept: MoveNotes | None = None
    """The notes as they were kept last; None before those of earlier visits were taken up."""
    forced: dict[tuple[str, int, int], list[Counterfactual]] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    gaps: set[tuple[str, str]] = field(default_factory=set)
    """Games and best plans, by identity, for which it was ordered what the gap is made of."""
    panel: str = "force"
    followed: tuple[str, object] = ("", None)
    """The table and the part of the gap whose position was shown last."""
    picked: int | None = None
    """The row of the table that was clicked last."""
    edition: int = 0
    """A part of the table's widget key; a new one forgets what was clicked."""
    is_linked: bool = False
    """Whether the link's notes have been taken in."""
    weights: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """The files of the checkpoints that the visitor brought last, by name (`bring`)."""

    def bring(self, name: str, checkpoint: Mapping[str, bytes]) -> str:
        """Keep a checkpoint, in place of the oldest where there are too many; returns its name.

        The name tells its content: a result is found by what was asked for, whoever asked.
        """
        content = b"".join(data for _, data in sorted(checkpoint.items()))
        known = f"brought-{name}-{hashlib.sha256(content).hexdigest()[:8]}"
        self.weights.pop(known, None)
        self.weights[known] = dict(checkpoint)
        while len(self.weights) > MOST_BROUGHT:
            del self.weights[next(iter(self.weights))]
        return known

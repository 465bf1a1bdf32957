"""What the explorer and a worker process agree on: kinds of work, an order, files, states.

A worker gets a folder with `ORDER` (the fields of `Order` as JSON), `PROGRAM` and, where the order
starts from a plan, `BASIS`. It writes one JSON object per line to standard output: `share` and
`message` while it works, then `error`, or `done` once its results are in the folder: `PLAN` (a plan
file), `RESULT` (JSON), `FILES`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

WAITING, RUNNING, DONE, FAILED, STOPPED = "waiting", "running", "done", "failed", "stopped"
SOLVE, BOUND, RELIEF = "solve", "lower_bound", "relief"
PLAY, RESEARCH, RETRACE = "play", "research", "retrace"
"""The agent plays on, searches one position again, or all positions of a game."""
FOLLOW = "follow"
"""How the game follows a plan is found; the result is a record for `ui.model.play.film.Film`."""
FINDINGS, FORCE, DUEL, GAP = "findings", "force", "duel", "gap"
"""What a game's moves cost, what comes of a forced action, two agents on several programs, and what
the gap from a game to the bound is made of."""
VERIFY, TUNE = "verify", "tune"
"""The real compiler realises a plan, or its options are searched for (`ui.jobs.compiling`)."""
OF_COMPILER = (VERIFY, TUNE)
OF_SEARCHES = (PLAY, RESEARCH, RETRACE, FINDINGS, FORCE, DUEL, GAP)
"""Work of which `ui.model.search.state.Searches` takes in the results."""
MUZERO = "muzero"
"""The solver whose run also gives its searches and its weights (`ui.jobs.agent`)."""
ORDER, PROGRAM, BASIS = "order.json", "program.json", "basis.json"
BEST = "best.json"
"""The best plan known, where the work is to be measured by it."""
PLAN, RESULT = "plan.json", "result.json"
TRACE = "trace.npz"
WEIGHTS = ("manifest.json", "arrays.npz")
FILES = (TRACE, *WEIGHTS)
"""Files that are kept byte for byte: the trace of a search, and a checkpoint."""
Progress = Callable[[float | None, str], bool]
"""A function of the share done (0 to 1; None: not known) and a message; False asks to stop."""


@dataclass(frozen=True)
class Order:
    """What is to be done; equal orders for one program have one result.

    `kind`: `SOLVE`, `BOUND`, `PLAY` … `name`: the solver, or what the list shows. `basis`: identity
    of the plan to start from. `details`: further settings of the kind.
    """

    kind: str
    name: str
    seconds: float
    seed: int = 0
    basis: str = ""
    details: tuple[tuple[str, int | str], ...] = ()

    @property
    def has_budget(self) -> bool:
        """Whether the work is to end after `seconds`; other work takes as long as it takes."""
        return self.kind in (SOLVE, BOUND, FINDINGS, GAP, TUNE) and self.seconds > 0


def line_of(text: str) -> dict[str, Any]:
    """The JSON object in a line of the worker; empty for a line that a library printed."""
    try:
        line = json.loads(text)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


class MoveCounter:
    """Counts moves of a game of `num_moves` moves and reports them to `progress`."""

    def __init__(
        self, num_moves: int, progress: Progress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """The clock starts once moves have been played: what comes before is set-up."""
        self._num_moves, self._progress, self._clock = num_moves, progress, clock
        self._first, self._began = 0, 0.0

    def reached(self, move: int) -> bool:
        """Report that so many moves have been played; returns what `progress` answers."""
        now, played = self._clock(), min(move, self._num_moves)
        if played and not self._first:
            self._first, self._began = played, now
        text = f"move {played:,} of {self._num_moves:,}"
        if played > self._first and now > self._began:
            rate = (played - self._first) / (now - self._began)
            text += f", {rate:,.0f} per second" if rate >= 100 else f", {rate:.3g} per second"
        return self._progress(played / max(1, self._num_moves), text)

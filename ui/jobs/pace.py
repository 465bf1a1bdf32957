"""How fast a game is played: the move, of how many, and the moves per second."""

from __future__ import annotations

import time
from collections.abc import Callable

from ui.jobs.protocol import Progress


class Pace:
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

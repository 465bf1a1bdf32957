"""How a solver keeps to its budget: the clock runs from the start of its work.

What only gets ready (importing, compiling) is announced and not counted, however often it comes.
A solver in a process of its own is killed if it overruns by more (`engine.solvers.apart.run`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from engine.solvers.registry import NOT_COUNTED, Budget

SLACK, SLACK_S = 0.05, 0.5
"""A budget may be overrun by that share of it and so many seconds, so that steps come to an end."""


class Clock:
    """The time that a solver has worked, and whether it is to go on."""

    def __init__(self, budget: Budget) -> None:
        """Begin to count now."""
        self._budget = budget
        self._begun = time.perf_counter()
        self._is_wanted = True

    @property
    def spent_s(self) -> float:
        """Seconds of work so far."""
        return time.perf_counter() - self._begun

    @property
    def share(self) -> float:
        """The share of the time that is over, at most 1."""
        return min(1.0, self.spent_s / self._budget.seconds) if self._budget.seconds > 0 else 1.0

    @property
    def is_wanted(self) -> bool:
        """Whether `progress` has not asked for an end so far."""
        return self._is_wanted

    def tells(self, message: str) -> bool:
        """Report the share that is over, and a word; whether the work is still wanted."""
        self._is_wanted = self._is_wanted and self._budget.progress(self.share, message)
        return self._is_wanted

    def goes_on(self, message: str) -> bool:
        """As `tells`, and whether there is time left."""
        return self.tells(message) and self.share < 1.0

    def is_in_time(self, message: str, seconds: float = 0.0) -> bool:
        """As `tells`, and whether so many seconds more overrun the budget no more than may be."""
        most = (1 + SLACK) * self._budget.seconds + SLACK_S
        return self.tells(message) and self.spent_s + seconds <= most

    def has_time_for(self, seconds: float, message: str) -> bool:
        """As `goes_on`, and whether so many seconds more overrun the budget no more than may be."""
        return self.is_in_time(message, seconds) and self.share < 1.0

    @contextmanager
    def stopped(self, what: str) -> Iterator[None]:
        """Announce what is not counted, and do not count it."""
        self.tells(f"{what} … {NOT_COUNTED}")
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._begun += time.perf_counter() - begun

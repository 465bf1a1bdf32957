"""Waiting for what another thread does."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 120
"""A busy machine may be slow."""


def eventually(holds: Callable[[], object], seconds: float = SECONDS) -> bool:
    """Whether it holds at some time within so many seconds."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True

"""What the first visitor would wait for, loaded while the server starts."""

from __future__ import annotations

import time
from importlib import import_module

from ui.session import caching

_PAGES = ("start", "learn", "challenges", "programs", "play", "compare", "search", "debug")
_BREATH_S = 0.05


def warm_up() -> None:
    """Load the pages' modules and the small memory maps; for a thread of the server."""
    for page in _PAGES:
        import_module(f"ui.{page}.page")
    for entry in caching.sample_index():
        caching.thumbnail_for(entry)
        # Pages that visitors ask for meanwhile come first.
        time.sleep(_BREATH_S)

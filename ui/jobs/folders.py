"""Folders of kept files: how old they are, and which are removed when there are too many."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path


def age(place: Path) -> float:
    """When a folder was last changed, in seconds since 1970; 0 for one that is gone."""
    try:
        return place.stat().st_mtime
    except OSError:
        return 0.0


def forget_oldest(places: Iterable[Path], most_kept: int, most_bytes: int) -> None:
    """Remove the oldest folders until the rest is within both limits."""
    total = 0
    for count, place in enumerate(sorted(places, key=age, reverse=True), start=1):
        total += _size(place)
        if count > most_kept or total > most_bytes:
            shutil.rmtree(place, ignore_errors=True)


def _size(place: Path) -> int:
    """Bytes of the files in a folder."""
    try:
        return sum(path.stat().st_size for path in place.iterdir())
    except OSError:
        return 0

"""The last view of each visitor: the start page leads back there, also after a reload."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

_MOST_VISITORS = 1000


@dataclass(frozen=True)
class View:
    """A page and the link parameters that restore what it showed."""

    page: str
    query: Mapping[str, str]

    @property
    def words(self) -> str:
        """Program or lesson, plan and move, as far as the link has them."""
        parts = [self.query.get("program", ""), self.query.get("lesson", "").replace("-", " ")]
        if self.page == "play" and "plan" in self.query:
            parts.append(f"plan {self.query['plan']}")
        if "move" in self.query:
            parts.append(f"move {self.query['move']}")
        return ", ".join(part for part in parts if part)


class LastViews:
    """The last view of each visitor, for as long as the server runs; the oldest are forgotten."""

    def __init__(self, most: int = _MOST_VISITORS) -> None:
        """No views yet; `most`: visitors whose view is kept."""
        self._views: OrderedDict[str, View] = OrderedDict()
        self._most, self._lock = most, Lock()

    def put(self, visitor: str, view: View) -> None:
        """Keep the view that a visitor has now."""
        with self._lock:
            self._views[visitor] = view
            self._views.move_to_end(visitor)
            while len(self._views) > self._most:
                self._views.popitem(last=False)

    def of(self, visitor: str) -> View | None:
        """The last view of a visitor; None if there is none."""
        return self._views.get(visitor)

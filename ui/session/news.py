"""News for the visitor, shown for some seconds: a job has ended, or a request has failed.

Streamlit's own toasts have no name that a screen reader could say, and vanish within four seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

SECONDS = {False: 8.0, True: 20.0}
"""How long a message stays, by `is_error`. `ui/style.css` lets it fade in the same time."""


@dataclass(frozen=True)
class Item:
    """One message: its subject, its text, and the time `at` which it was sent, by the clock."""

    subject: str
    text: str
    is_error: bool
    at: float


@dataclass
class News:
    """The messages sent lately."""

    clock: Callable[[], float] = time.monotonic
    _items: list[Item] = field(default_factory=list)

    def tell(self, subject: str, text: str, *, is_error: bool = False) -> None:
        """Send a message."""
        self._items.append(Item(subject, text, is_error, self.clock()))

    def items(self) -> Sequence[Item]:
        """The messages that are still shown, the oldest first."""
        now = self.clock()
        self._items = [i for i in self._items if now - i.at < SECONDS[i.is_error]]
        return self._items


def news_html(items: Sequence[Item]) -> str:
    """The news, as a region that screen readers read out when it changes."""
    return f'<div role="status">{"".join(_item_html(item) for item in items)}</div>'


def _item_html(item: Item) -> str:
    kind, sign = ("notice error", "⚠") if item.is_error else ("notice", "✓")
    return f'<p class="{kind}">{sign} <b>{escape(item.subject)}</b> {escape(item.text)}</p>'

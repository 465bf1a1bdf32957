"""What a visitor is told in passing: that a job has ended, or why nothing came of a wish.

Streamlit's own toasts have no name that a screen reader could say, and vanish within four seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

SECONDS = {False: 8.0, True: 20.0}
"""How long news stand there; errors longer. `ui/style.css` lets them fade in the same time."""


@dataclass(frozen=True)
class Item:
    """Who or what it is about, what is told, and when."""

    subject: str
    text: str
    is_error: bool
    at: float


@dataclass
class News:
    """What was told lately."""

    clock: Callable[[], float] = time.monotonic
    _items: list[Item] = field(default_factory=list)

    def tell(self, subject: str, text: str, *, is_error: bool = False) -> None:
        """Note that there is something new."""
        self._items.append(Item(subject, text, is_error, self.clock()))

    def items(self) -> Sequence[Item]:
        """What is still to be seen, the oldest first."""
        now = self.clock()
        self._items = [i for i in self._items if now - i.at < SECONDS[i.is_error]]
        return self._items


def news_html(items: Sequence[Item]) -> str:
    """The news, as a region that screen readers read out when it changes."""
    return f'<div role="status">{"".join(_item_html(item) for item in items)}</div>'


def _item_html(item: Item) -> str:
    kind, sign = ("told error", "⚠") if item.is_error else ("told", "✓")
    return f'<p class="{kind}">{sign} <b>{escape(item.subject)}</b> {escape(item.text)}</p>'

"""Pieces of HTML that several pages show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ui.components.glossary import term_html


def command_html(do: str, label: str, **arguments: object) -> str:
    """A button that sends a command (`ui.play.commands`) through the map."""
    data = "".join(f' data-{name.replace("_", "-")}="{value}"' for name, value in arguments.items())
    return f'<button class="ask" data-do="{do}"{data}>{escape(label)}</button>'


def facts_html(facts: Sequence[tuple[str, str]], *, has_text: bool = True) -> str:
    """Names and texts in two columns; `has_text`: as in `term_html`."""
    rows = "".join(
        f"<i>{term_html(name, has_text=has_text)}</i><span>{escape(text)}</span>"
        for name, text in facts
    )
    return f'<div class="facts">{rows}</div>'


def names_html(names: Sequence[str]) -> str:
    """The names of figures, to stand above those of `values_html`."""
    return f'<div class="figures">{"".join(term_html(name) for name in names)}</div>'


def values_html(values: Sequence[str]) -> str:
    """Figures in large letters, side by side; apart from their names, which stay when these go."""
    return f'<div class="figures">{"".join(f"<b>{escape(value)}</b>" for value in values)}</div>'

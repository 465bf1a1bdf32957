"""Pieces of HTML that several pages show; htpy escapes all text that is put in."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from htpy import Node, Renderable, b, button, div, fragment, i, img, span

from ui.components.glossary import term_html


def command_html(do: str, label: str, **arguments: str | int) -> Renderable:
    """A button that sends a command (`ui.play.commands`) through the map."""
    data = {f"data_{name}": value for name, value in arguments.items()}
    return button(".ask", data_do=do, **data)[label]


def again_html() -> Renderable:
    """Buttons that undo the last decision, and all of them."""
    return fragment[command_html("undo", "Undo"), " ", command_html("retry", "Start again")]


def facts_html(facts: Sequence[tuple[str, str]], *, has_text: bool = True) -> Renderable:
    """Names and texts in two columns; `has_text`: as in `term_html`."""
    rows = ((i[term_html(name, has_text=has_text)], span[text]) for name, text in facts)
    return div(".facts")[rows]


def names_html(names: Sequence[str]) -> Renderable:
    """The names of figures, to stand above those of `values_html`."""
    return div(".figures")[map(term_html, names)]


def values_html(values: Sequence[str]) -> Renderable:
    """Figures in large letters, side by side; apart from their names, which stay when these go."""
    return div(".figures")[(b[value] for value in values)]


def image_html(svg: str) -> Node:
    """A memory map as an image element, since pages keep no SVG elements in their HTML.

    Nothing for no picture.
    """
    if not svg:
        return None
    return img(alt="memory map", src=svg_source(svg))


def svg_source(svg: str) -> str:
    """A picture as the address of an image."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"

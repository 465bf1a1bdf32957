"""The terms of the explorer, from one file, and the marks that explain them on hover and focus."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from htpy import Node, dfn

FILE = Path(__file__).with_name("glossary.toml")


@dataclass(frozen=True)
class Term:
    """A term, what else it is called on the pages, what it means, and where more is said."""

    name: str
    text: str
    see: str
    also: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def terms() -> tuple[Term, ...]:
    """All terms in the order of the file. Raises ValueError for a file that names one twice."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["term"]
    listed = tuple(Term(**{**row, "also": tuple(row.get("also", ()))}) for row in rows)
    labels = [label.lower() for term in listed for label in (term.name, *term.also)]
    twice = {label for label in labels if labels.count(label) > 1}
    if twice:
        raise ValueError(f"{FILE.name}: {', '.join(sorted(twice))}: explained twice")
    return listed


@lru_cache(maxsize=1)
def _by_label() -> dict[str, Term]:
    return {label.lower(): term for term in terms() for label in (term.name, *term.also)}


def find(label: str) -> Term | None:
    """The term that a label stands for, in any spelling that the glossary knows."""
    return _by_label().get(label.lower())


def about(label: str) -> str:
    """The text on a label; raises KeyError if the glossary has none."""
    return _by_label()[label.lower()].text


def term_html(label: str, *, is_focusable: bool = True, has_text: bool = True) -> Node:
    """The label, explained on hover and focus if it is a term.

    `is_focusable`: not inside of what can be focused itself, such as a button. `has_text`: False
    where messages must stay small and the map is on the page, whose script adds the rest.
    """
    term = find(label)
    if term is None:
        return label
    tabindex = "0" if is_focusable and has_text else None
    return dfn(tabindex=tabindex, aria_description=term.text if has_text else None)[label]


def javascript() -> str:
    """JavaScript that declares `GLOSSARY` for the canvases: texts by label in small letters."""
    return f"const GLOSSARY = {json.dumps({k: t.text for k, t in _by_label().items()})};\n"

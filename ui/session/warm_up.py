"""What the first visitor would wait for, loaded before the server answers."""

from __future__ import annotations

from importlib import import_module

from ui.session import caching, pictures
from ui.session.pages import PAGES

_LATE = (
    "engine.solvers",
    "engine.workflows.compare",
    "plotly.graph_objects",
    "plotly.tools",
    "pandas.io.formats.style",
    "PIL.Image",
)
"""Modules that the pages load when they are first needed, and then for long."""


def warm_up() -> None:
    """Load the pages' modules, the list of samples and their pictures: a second or two."""
    for name in (*(f"ui.{page}.page" for page in PAGES), *_LATE):
        import_module(name)
    caching.sample_index()
    pictures.shipped()

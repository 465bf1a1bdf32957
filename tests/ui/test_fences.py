"""Only what is drawn by Streamlit knows Streamlit; workers start without it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from docs.structure import graph_of, module_name, modules, parsed

UI = Path(__file__).resolve().parents[2] / "ui"
ENTRIES = {"ui.app", "ui.server"}
SESSION = {"ui.session.state", "ui.session.opening", "ui.session.caching"}
"""The session lives in Streamlit's state, and what all visitors share in its caches."""
MODULES = modules("ui")


def may_draw(name: str) -> bool:
    """Pages, views and components; the entry points and the session."""
    last = name.rsplit(".", 1)[-1]
    is_page = last in ("page", "stored_view") or last.endswith("_view")
    return is_page or name in ENTRIES or name in SESSION


def imports_streamlit(path: Path) -> bool:
    """Whether a file imports it, wherever in the file."""
    for node in ast.walk(parsed(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        if any(name.split(".")[0] == "streamlit" for name in names):
            return True
    return False


DRAWING = {name for name, path in MODULES.items() if imports_streamlit(path)}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_only_pages_and_views_import_streamlit(name: str) -> None:
    assert may_draw(name) or name not in DRAWING


def test_the_fence_has_something_to_hold_back() -> None:
    assert {"ui.play.page", "ui.components.stored_view"} <= DRAWING
    assert module_name(UI / "play" / "__init__.py") == "ui.play"


def test_workers_reach_no_streamlit() -> None:
    graph, reached, waiting = graph_of("ui"), set(), ["ui.jobs.worker"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    assert "ui.jobs.agent" in reached
    assert not reached & DRAWING


def test_the_pages_start_without_what_only_work_needs() -> None:
    code = "import sys, ui.session.caching; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=UI.parent, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "engine.lessons.shelf" in loaded
    assert not loaded & {"jax", "mctx", "numba", "highspy", "engine.solvers"}

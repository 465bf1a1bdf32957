"""No module imports another that imports it in turn, wherever in the file the imports stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def module_name(path: Path) -> str:
    """`ui/play/__init__.py` is `ui.play`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(folder: str) -> dict[str, Path]:
    """The modules of a top-level folder by name."""
    return {module_name(path): path for path in (ROOT / folder).rglob("*.py")}


def imported(source: str, known: Mapping[str, object]) -> Iterator[str]:
    """The modules among `known` that a source text imports; `from a import b` may be of `a.b`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known:
                    yield inner
                elif node.module in known:
                    yield node.module


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The modules of one circle in order, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def graph_of(folder: str) -> dict[str, set[str]]:
    """What each module of a top-level folder imports of that folder."""
    known = modules(folder)
    return {name: set(imported(path.read_text(), known)) for name, path in known.items()}


@pytest.mark.parametrize("folder", ["engine", "ui"])
def test_no_circle(folder: str) -> None:
    graph = graph_of(folder)
    assert len(graph) > 20 and any(graph.values()), "the imports were read"
    assert circle(graph) == [], "these import each other"


def test_a_circle_is_found() -> None:
    known = {"a.b": None, "a.c": None}
    inner = "def late():\n    from a import c\n"
    graph = {"a.b": set(imported(inner, known)), "a.c": set(imported("import a.b", known))}
    assert set(circle(graph)) == {"a.b", "a.c"}

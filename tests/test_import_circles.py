"""No module imports another that imports it in turn, and no room: the structure is drawn so."""

from __future__ import annotations

import pytest

from docs.structure import PICTURE, arrows, circle, graph_of, heights, imported, rooms, svg


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


def test_the_rooms_are_drawn_as_they_import_without_an_upward_arrow() -> None:
    graph = rooms()
    assert circle(graph) == []
    row_of = heights(graph)
    assert all(row_of[other] < row_of[name] for name, other in arrows(graph))
    assert {"ui/app", "ui/play views", "ui/play", "engine/game", "engine/errors"} <= set(graph)
    assert PICTURE.read_text() == svg(graph), "run python docs/structure.py"


def test_arrows_that_a_longer_way_tells_are_left_out() -> None:
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert arrows(graph) == [("a", "b"), ("b", "c")]
    assert heights(graph) == {"a": 2, "b": 1, "c": 0}
    assert circle({**graph, "c": {"a"}})

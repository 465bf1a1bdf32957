"""The structure, drawn from the imports; `python docs/structure.py` writes the picture.

A box is a room, that is a folder of `engine/`, of `engine/compiler/`, or of `ui/`. An arrow says
that one room imports another, wherever in its files; it is left out where a longer way says so,
too. Each box stands one row above the highest that it imports, so that all arrows point down.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from html import escape
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "structure.svg"
FOLDERS = ("engine", "ui", "benchmarks")
FACADE = "mallocmuzero"
MODELS = ("ui/model", "ui/jobs")
"""Rooms of the explorer that do not know Streamlit."""

Graph = Mapping[str, set[str]]
"""What each name imports."""

WIDTH, ROW, BOX, HEAD = 1240, 60, (176, 30), 46
COLOURS = {"engine": "#2a9d80", "views": "#3f7fd9", "models": "#8b5cc7", "other": "#6b7787"}
STYLE = """
svg { background: #fbfcfd; font: 13px system-ui, sans-serif; }
text { fill: #1b2430; text-anchor: middle; }
path { fill: none; stroke: #6b7787; stroke-opacity: .55; }
rect { fill: #fbfcfd; stroke-width: 1.6; }
@media (prefers-color-scheme: dark) {
  svg { background: #11161d; }
  text { fill: #e4e9f0; }
  rect { fill: #1b232d; }
}
"""


def module_name(path: Path) -> str:
    """`ui/play/__init__.py` is `ui.play`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(folder: str) -> dict[str, Path]:
    """The modules of a top-level folder by name."""
    return {module_name(path): path for path in (ROOT / folder).rglob("*.py")}


@cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of a source text; not to be changed."""
    return ast.parse(source)


def imported(source: str, known: Mapping[str, object]) -> Iterator[str]:
    """The modules among `known` that a source text imports; `from a import b` may be of `a.b`."""
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known:
                    yield inner
                elif node.module in known:
                    yield node.module


def circle(graph: Graph) -> list[str]:
    """The names of one circle in order, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def graph_of(folder: str) -> dict[str, set[str]]:
    """What each module of a top-level folder imports of that folder."""
    known = modules(folder)
    return {name: set(imported(path.read_text(), known)) for name, path in known.items()}


def rooms() -> dict[str, set[str]]:
    """What each room imports of the other rooms."""
    known = dict(chain.from_iterable(modules(folder).items() for folder in FOLDERS))
    known[FACADE] = ROOT / f"{FACADE}.py"
    texts = {name: path.read_text() for name, path in known.items()}
    graph = {name: set(imported(text, known)) for name, text in texts.items()}
    # A folder's own file says what the folder is, and mostly no more.
    bare = {name for name, path in known.items() if path.stem == "__init__" and not graph[name]}
    found: dict[str, set[str]] = {room_of(name): set() for name in known if name not in bare}
    for name, others in graph.items():
        if name not in bare:
            reached = {room_of(other) for other in others - bare}
            found[room_of(name)] |= reached - {room_of(name)}
    return found


def room_of(name: str) -> str:
    """The box of a module: `ui.play.page` stands in `ui/play`."""
    top, *rest = name.split(".")
    if top not in ("engine", "ui") or not rest:
        return top
    if name == "engine.__main__":
        return "engine/cli"
    if rest[0] == "compiler" and top == "engine" and len(rest) > 1:
        return f"engine/compiler/{rest[1]}"
    return f"{top}/{rest[0]}"


def heights(graph: Graph) -> dict[str, int]:
    """The row of each name from below: one above the highest that it imports."""
    found: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        found[name] = 1 + max((found[other] for other in graph[name]), default=-1)
    return found


def arrows(graph: Graph) -> list[tuple[str, str]]:
    """The imports, without those that a longer way tells."""

    @cache
    def below(name: str) -> frozenset[str]:
        return frozenset(graph[name]).union(*map(below, graph[name]))

    return [
        (name, other)
        for name in sorted(graph)
        for other in sorted(graph[name])
        if not any(other in below(between) for between in graph[name])
    ]


def places(graph: Graph) -> dict[str, tuple[float, float]]:
    """The middle of each box: rows from above, in a row near what the box is tied to."""
    row_of, ties = heights(graph), arrows(graph)
    rows = [sorted(n for n in graph if row_of[n] == row) for row in range(max(row_of.values()) + 1)]
    across = {name: (at + 0.5) / len(row) for row in rows for at, name in enumerate(row)}
    near: dict[str, list[str]] = {name: [] for name in graph}
    for name, other in ties:
        near[name].append(other)
        near[other].append(name)
    for _ in range(20):
        for row in rows:
            row.sort(key=lambda n: sum(across[o] for o in near[n]) / max(1, len(near[n])))
            across |= {name: (at + 0.5) / len(row) for at, name in enumerate(row)}
    return {
        name: (WIDTH * across[name], HEAD + ROW * (len(rows) - 1 - row_of[name] + 0.5))
        for name in graph
    }


def svg(graph: Graph) -> str:
    """The picture."""
    place = places(graph)
    wide, high = BOX
    lines = []
    for name, other in arrows(graph):
        (x, y), (to_x, to_y) = place[name], place[other]
        y, to_y = y + high / 2, to_y - high / 2
        bend = (to_y - y) / 2
        lines.append(
            f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f}'
            f' {to_x:.0f} {to_y:.0f}" marker-end="url(#tip)"/>'
        )
    boxes = []
    for name, (x, y) in place.items():
        boxes.append(
            f'<rect x="{x - wide / 2:.0f}" y="{y - high / 2:.0f}" width="{wide}" height="{high}"'
            f' rx="5" stroke="{COLOURS[_kind(name)]}"/>'
            f'<text x="{x:.0f}" y="{y + 4.5:.0f}">{escape(name)}</text>'
        )
    bottom = HEAD + ROW * (1 + max(heights(graph).values()))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom}" role="img">',
            "<title>Which room imports which; all arrows point down</title>",
            f"<style>{STYLE}</style>",
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            ' orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#6b7787"/></marker>',
            *_legend(),
            *lines,
            *boxes,
            "</svg>\n",
        ]
    )


def _kind(name: str) -> str:
    if name.startswith("engine"):
        return "engine"
    if name.startswith("ui"):
        return "models" if name in MODELS else "views"
    return "other"


def _legend() -> list[str]:
    words = {
        "views": "drawn by Streamlit",
        "models": "models and jobs, without it",
        "engine": "the engine",
        "other": "from outside",
    }
    return [
        f'<rect x="{20 + 230 * at}" y="14" width="16" height="16" rx="3" stroke="{COLOURS[kind]}"/>'
        f'<text x="{44 + 230 * at}" y="27" style="text-anchor:start">{text}</text>'
        for at, (kind, text) in enumerate(words.items())
    ]


if __name__ == "__main__":
    PICTURE.write_text(svg(rooms()))

"""The import order of the rooms and the fences around heavy packages, read off the syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("errors", "program", "hardware", "plan", "game", "agent", "solvers", "analysis", "cli")
RANK = {room: rank for rank, room in enumerate(ROOMS)} | {"compiler": ROOMS.index("solvers")}
COMPILER_MAY = {"errors", "program", "hardware", "plan", "compiler"}
FENCES = {
    "jax": ("engine/game/", "engine/agent/", "engine/compiler/", "engine/program/hlo", "tests/"),
    "jaxlib": ("engine/game/", "engine/compiler/", "engine/program/hlo", "tests/"),
    "mctx": ("engine/agent/search.py", "tests/"),
    "highspy": ("engine/plan/", "engine/solvers/", "tests/"),
    "scipy": ("engine/compiler/", "tests/"),
    "numba": ("engine/solvers/local/", "tests/"),
    "streamlit": ("ui/", "tests/"),
    "plotly": ("ui/", "tests/"),
    "keras": ("engine/compiler/models/", "tests/"),
    "libtpu": ("engine/compiler/toolchain.py", "tests/"),
    "pickle": (),
}
HIGHSPY_FILES = {"engine/plan/linear.py", "engine/solvers/milp.py"}
SOURCES = sorted(p for folder in ("engine", "ui") for p in (ROOT / folder).rglob("*.py"))
IDS = [p.relative_to(ROOT).as_posix() for p in SOURCES]


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def room_of(module: str) -> str:
    """`engine.plan.check` -> `plan`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_rooms_import_only_leftwards(path: Path) -> None:
    relative = path.relative_to(ROOT).as_posix()
    own = path.stem if path.parent.name == "engine" else path.relative_to(ROOT).parts[1]
    for module in imports(path):
        if module == "ui" or module.startswith("ui."):
            assert relative.startswith("ui/"), f"{relative} imports {module}"
        if not module.startswith("engine.") or relative.startswith("ui/"):
            continue
        room = room_of(module)
        if own == "compiler":
            assert room in COMPILER_MAY, f"{relative} imports {module}"
        elif own not in ("__init__", "__main__"):
            assert RANK[room] <= RANK[own], f"{relative} imports {module}"


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_heavy_packages_stay_behind_their_fences(path: Path) -> None:
    relative = path.relative_to(ROOT).as_posix()
    for module in imports(path):
        allowed = FENCES.get(module.split(".")[0])
        if allowed is not None:
            assert relative.startswith(allowed), f"{relative} imports {module}"
        if module.split(".")[0] == "highspy":
            assert relative in HIGHSPY_FILES, f"{relative} imports {module}"


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_print_only_on_the_command_line(path: Path) -> None:
    if path.name == "cli.py" or path == ROOT / "ui" / "screenshots.py":
        return
    calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    names = [c.func.id for c in calls if isinstance(c.func, ast.Name)]
    assert "print" not in names


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 60, f"{path.name}:{node.name} has {length} lines"


def test_every_room_was_looked_at() -> None:
    rooms = {p.relative_to(ROOT).parts[1] for p in SOURCES if p.parts[-2] != "engine"}
    assert {"program", "plan", "game", "solvers", "compiler"} <= rooms

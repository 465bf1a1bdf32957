"""The import order of the rooms and the fences around heavy packages, read off the syntax trees."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.structure import parsed

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "errors",
    "cores",
    "program",
    "hardware",
    "plan",
    "game",
    "evolution",
    "agent",
    "solvers",
    "analysis",
    "lessons",
    "cli",
)
RANK = {room: rank for rank, room in enumerate(ROOMS)} | {"compiler": ROOMS.index("solvers")}
COMPILER_MAY = {"errors", "program", "hardware", "plan", "compiler"}
APART = ({"agent", "evolution"},)
"""Rooms of which neither may import the other: mallocMuZero and its rival share the game alone."""
FENCES = {
    "jax": ("engine/game/", "engine/agent/", "engine/compiler/", "engine/program/hlo/"),
    "jaxlib": ("engine/game/", "engine/compiler/", "engine/program/hlo/"),
    "mctx": ("engine/agent/search.py", "engine/agent/model.py"),
    "highspy": ("engine/plan/bounds/branching.py", "engine/plan/bounds/linear.py"),
    "scipy": ("engine/compiler/",),
    "numba": ("engine/solvers/local/",),
    "ray": ("engine/analysis/cluster.py",),
    "streamlit": ("ui/",),
    "plotly": ("ui/",),
    "keras": ("engine/compiler/models/",),
    "libtpu": ("engine/compiler/toolchain.py",),
    "pickle": (),
}
"""Who may import a heavy or dangerous package: files, and folders with all in them."""

FOLDERS = ("engine", "ui", "benchmarks")
SOURCES = sorted(p for folder in FOLDERS[:2] for p in (ROOT / folder).rglob("*.py"))


def imports(text: str) -> Iterator[str]:
    """Everything that a source imports, wherever in it: modules, and names with their modules."""
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_leftward(relative: str, module: str) -> bool:
    """Whether the file of that path may import the module, by the order of the rooms."""
    top, room, *_ = [*module.split("."), ""]
    if relative.startswith("ui/") or top not in ("ui", "engine"):
        return True
    own = relative.removesuffix(".py").split("/")[1]
    if top == "ui" or own == "compiler":
        return top == "engine" and room in COMPILER_MAY
    if {own, room} in APART:
        return False
    return own in ("__init__", "__main__", room) or not room or RANK[room] < RANK[own]


def test_the_two_games_do_not_know_each_other() -> None:
    rules = ROOT / "engine" / "game"
    for own, other in (("reference", "jaxgame"), ("jaxgame", "reference")):
        paths = sorted((rules / own).glob("*.py"))
        assert len(paths) > 5
        for path in paths:
            found = [m for m in imports(path.read_text()) if m.startswith(f"engine.game.{other}")]
            assert not found, path


def is_inside_its_fence(relative: str, module: str) -> bool:
    """Whether the file of that path may import the module, if it is of a fenced package."""
    allowed = FENCES.get(module.split(".", maxsplit=1)[0])
    return allowed is None or relative.startswith(allowed)


def test_rooms_import_only_leftwards_and_packages_behind_their_fences() -> None:
    seen = 0
    for path in SOURCES:
        relative = path.relative_to(ROOT).as_posix()
        for module in imports(path.read_text()):
            seen += 1
            assert is_leftward(relative, module), f"{relative} imports {module}"
            assert is_inside_its_fence(relative, module), f"{relative} imports {module}"
    assert seen > 1000


@pytest.mark.parametrize(
    ("relative", "text"),
    [
        ("engine/plan/check.py", "from engine import agent"),
        ("engine/plan/check.py", "import engine.game.jaxgame.step as r"),
        ("engine/game/jaxgame/step.py", "def f():\n    from engine.agent.search import plan"),
        ("engine/compiler/capture.py", "from engine import game"),
        ("engine/compiler/capture.py", "from engine.solvers import solve"),
        ("engine/solvers/greedy.py", "from engine.compiler import capture"),
        ("engine/cli/plans.py", "from ui import jobs"),
        ("engine/plan/check.py", "import ui"),
        ("engine/plan/check.py", "from jax import numpy"),
        ("engine/agent/network.py", "import mctx"),
        ("engine/agent/trainer.py", "from engine.evolution.population import fittest"),
        ("engine/agent/trainer.py", "from engine import evolution"),
        ("engine/evolution/islands.py", "from engine.agent.compile_cache import keep_compiled"),
        ("ui/app.py", "import pickle"),
        ("engine/plan/bounds/lp.py", "def f():\n    import highspy._core"),
    ],
)
def test_what_would_break_the_order_is_seen(relative: str, text: str) -> None:
    seen = [is_leftward(relative, m) and is_inside_its_fence(relative, m) for m in imports(text)]
    assert seen == [False]


def test_fences_stand_around_what_exists() -> None:
    missing = [p for places in FENCES.values() for p in places if not (ROOT / p).exists()]
    assert not missing


def prints(source: str) -> bool:
    """Whether a source calls `print`."""
    calls = (node.func for node in ast.walk(parsed(source)) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id == "print" for called in calls)


def test_print_only_on_the_command_line() -> None:
    found = {p.relative_to(ROOT).as_posix() for p in SOURCES if prints(p.read_text())}
    assert found == {"engine/cli/output.py", "ui/screenshots.py"}


def function_lengths(source: str) -> dict[str, int]:
    """The lines of each function, by its name and first line."""
    return {
        f"{node.name}, line {node.lineno}": (node.end_lineno or 0) - node.lineno + 1
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize("folder", FOLDERS)
def test_modules_and_functions_stay_small(folder: str) -> None:
    paths = [*ROOT.glob("*.py"), *(ROOT / folder).rglob("*.py")]
    texts = {path: path.read_text() for path in paths}
    assert not [path for path, text in texts.items() if len(text.splitlines()) > 300]
    lengths = {
        f"{path}, {name}": length
        for path, text in texts.items()
        for name, length in function_lengths(text).items()
    }
    assert len(lengths) > 50
    assert not [name for name, length in lengths.items() if length > 60]
    assert statistics.median(lengths.values()) <= 12


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_room_says_in_a_line_what_it_holds(folder: str) -> None:
    rooms = {path.parent for path in (ROOT / folder).rglob("*.py")}
    assert rooms
    for room in rooms:
        comment = ast.get_docstring(parsed((room / "__init__.py").read_text())) or ""
        assert comment.split("\n")[0].endswith((".", ":")), room


GENETIC = ("genome", "genes", "mutat", "population", "scout", "breed", "crossover", "offspring")
"""Words of evolution, which have no place in mallocMuZero."""
EVOLVING = ("engine.evolution",)


def test_the_agent_is_a_muzero_and_nothing_else() -> None:
    paths = sorted((ROOT / "engine" / "agent").glob("*.py"))
    assert paths
    for path in paths:
        text = path.read_text().lower()
        assert not [word for word in GENETIC if word in text], path
        assert not [m for m in imports(text) if m.startswith(EVOLVING)], path


def test_every_room_was_looked_at() -> None:
    rooms = {p.relative_to(ROOT).parts[1] for p in SOURCES if p.parts[-2] != "engine"}
    assert {"program", "plan", "game", "agent", "evolution", "solvers", "compiler"} <= rooms

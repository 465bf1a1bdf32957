"""Which room may import which, and the fences around heavy packages, read off the syntax trees."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.structure import (
    PICTURE,
    arrows,
    circle,
    graph_of,
    heights,
    imported,
    modules,
    parsed,
    room_of,
    rooms,
    svg,
)

ROOT = Path(__file__).resolve().parents[1]

ENGINE = (
    "errors",
    "processes",
    "folders",
    "files",
    "program",
    "hardware",
    "plan",
    "game",
    "evolution",
    "agent",
    "solvers",
    "analysis",
    "debugging",
    "lessons",
    "workflows",
    "cli",
)
"""The rooms of the engine; none imports one that stands after it."""
COMPILER = ("toolchain", "reading", "costs", "steering", "models", "capture")
"""The rooms of `engine/compiler/`, in order. Beside each other they import `COMPILER_MAY` alone."""
COMPILER_MAY = ("errors", "processes", "folders", "files", "program", "hardware", "plan")
MAY_USE_THE_COMPILER = ("workflows", "cli")
APART = ({"agent", "evolution"},)
"""Rooms of which neither may import the other: mallocMuZero and its rival share the game alone."""
UI = (
    "components",
    "jobs",
    "model",
    "session",
    "start",
    "words",
    "programs",
    "compare",
    "play",
    "learn",
    "challenges",
    "search",
    "debug",
    "compiler",
    "app",
    "server",
)
"""The rooms of the explorer, in order."""
FENCES = {
    "jax": ("engine/game/", "engine/agent/", "engine/compiler/", "engine/program/hlo/"),
    "jaxlib": ("engine/game/", "engine/compiler/", "engine/program/hlo/"),
    "mctx": ("engine/agent/search.py", "engine/agent/model.py"),
    "highspy": ("engine/plan/bounds/branching.py", "engine/plan/bounds/linear.py"),
    "scipy": ("engine/compiler/",),
    "numba": ("engine/solvers/local/",),
    "ray": ("engine/workflows/cluster.py",),
    "streamlit": ("ui/",),
    "plotly": ("ui/",),
    "htpy": ("ui/",),
    "markupsafe": ("ui/",),
    "pandas": ("ui/",),
    "keras": ("engine/compiler/models/",),
    "libtpu": ("engine/compiler/toolchain/libtpu.py",),
    "pickle": (),
}
"""Who may import a heavy or dangerous package: files, and folders with all in them."""
WITHOUT_STREAMLIT = ("ui.model.", "ui.jobs.")

SOURCES = sorted(p for folder in ("engine", "ui") for p in (ROOT / folder).rglob("*.py"))


def imports(text: str) -> Iterator[str]:
    """Everything that a source imports, wherever in it: modules, and names with their modules."""
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_allowed(relative: str, module: str) -> bool:
    """Whether the file of that path may import the module, by the order of the rooms."""
    own = room_of(relative.removesuffix(".py").replace("/", "."))
    other = room_of(module)
    top, _, room = other.partition("/")
    if top not in ("engine", "ui") or own in (other, "engine") or not room:
        return True
    if own.startswith("ui/"):
        return top == "engine" or UI.index(room) < UI.index(own.removeprefix("ui/"))
    if top == "ui":
        return False
    return _is_allowed_in_the_engine(own.removeprefix("engine/"), room)


def _is_allowed_in_the_engine(own: str, room: str) -> bool:
    own_inner, room_inner = own.partition("compiler/")[2], room.partition("compiler/")[2]
    if own_inner and room_inner:
        return COMPILER.index(room_inner) < COMPILER.index(own_inner)
    if own_inner:
        return room in COMPILER_MAY
    if room_inner or room == "compiler":
        return own in MAY_USE_THE_COMPILER
    return {own, room} not in APART and ENGINE.index(room) < ENGINE.index(own)


def is_inside_its_fence(relative: str, module: str) -> bool:
    """Whether the file of that path may import the module, if it is of a fenced package."""
    allowed = FENCES.get(module.split(".", maxsplit=1)[0])
    return allowed is None or relative.startswith(allowed)


def test_rooms_keep_their_order_and_packages_their_fences() -> None:
    seen = 0
    for path in SOURCES:
        relative = path.relative_to(ROOT).as_posix()
        for module in imports(path.read_text()):
            seen += 1
            assert is_allowed(relative, module), f"{relative} imports {module}"
            assert is_inside_its_fence(relative, module), f"{relative} imports {module}"
    assert seen > 1000


@pytest.mark.parametrize(
    ("relative", "text"),
    [
        ("engine/plan/check.py", "from engine import agent"),
        ("engine/plan/check.py", "import engine.game.jaxgame.step as r"),
        ("engine/game/jaxgame/step.py", "def f():\n    from engine.agent.search import plan"),
        ("engine/compiler/capture/capture.py", "from engine import game"),
        ("engine/compiler/capture/capture.py", "from engine.solvers import solve"),
        ("engine/compiler/costs/refit.py", "from engine.compiler.steering.tune import Tuning"),
        ("engine/compiler/toolchain/compile.py", "import engine.compiler.models.image"),
        ("engine/solvers/baselines.py", "from engine.compiler.capture import study"),
        ("engine/analysis/peak.py", "from engine.debugging.ab import duel"),
        ("engine/lessons/mining.py", "from engine.compiler.steering.flags_file import Flags"),
        ("engine/cli/plans.py", "from ui import jobs"),
        ("engine/plan/check.py", "import ui.app"),
        ("engine/plan/check.py", "from jax import numpy"),
        ("engine/agent/network.py", "import mctx"),
        ("engine/agent/trainer.py", "from engine.evolution.genome import fittest"),
        ("engine/agent/trainer.py", "from engine import evolution"),
        ("engine/evolution/search.py", "from engine.agent.compile_cache import keep_compiled"),
        ("ui/model/play/line.py", "from ui.session.state import session"),
        ("ui/play/page.py", "from ui.debug.studies import open_study"),
        ("ui/app.py", "import pickle"),
        ("engine/plan/bounds/lp.py", "def f():\n    import highspy._core"),
    ],
)
def test_what_would_break_the_order_is_noticed(relative: str, text: str) -> None:
    seen = [is_allowed(relative, m) and is_inside_its_fence(relative, m) for m in imports(text)]
    assert seen == [False]


def test_packages_describe_modules_that_exist() -> None:
    told = 0
    for path in (p for p in SOURCES if p.name == "__init__.py"):
        folder = path.parent
        files = {p.stem for p in folder.iterdir() if p.is_dir() or p.suffix in (".py", ".js")}
        defined = {
            node.name
            for module in folder.glob("*.py")
            for node in ast.walk(parsed(module.read_text()))
            if isinstance(node, ast.ClassDef | ast.FunctionDef)
        }
        words = re.findall(r"`([a-z_]+)`", ast.get_docstring(parsed(path.read_text())) or "")
        missing = set(words) - files - defined - {folder.name}
        assert not missing, f"{path} speaks of {missing}"
        told += len(words)
    assert told > 50


def test_fences_stand_around_what_exists() -> None:
    missing = [p for places in FENCES.values() for p in places if not (ROOT / p).exists()]
    assert not missing


def test_every_room_has_its_place_in_the_order() -> None:
    known = {room for room in rooms() if "/" in room}
    named = [*(f"engine/{r}" for r in ENGINE), *(f"engine/compiler/{r}" for r in COMPILER)]
    assert known == {*named, *(f"ui/{r}" for r in UI), "ui/server", "ui/screenshots"}


@pytest.mark.parametrize("folder", ["engine", "ui"])
def test_no_two_modules_import_each_other(folder: str) -> None:
    graph = graph_of(folder)
    assert len(graph) > 20 and any(graph.values()), "the imports were read"
    assert circle(graph) == []


def test_a_circle_is_found() -> None:
    known = {"a.b": None, "a.c": None}
    inner = "def late():\n    from a import c\n"
    graph = {"a.b": set(imported(inner, known)), "a.c": set(imported("import a.b", known))}
    assert set(circle(graph)) == {"a.b", "a.c"}


def test_the_picture_is_drawn_from_the_imports_and_no_arrow_points_up() -> None:
    graph = rooms()
    assert circle(graph) == []
    row_of = heights(graph)
    assert all(row_of[other] < row_of[name] for name, other in arrows(graph))
    assert PICTURE.read_text() == svg(graph), "run python docs/structure.py"


def test_arrows_that_a_longer_way_implies_are_left_out() -> None:
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert arrows(graph) == [("a", "b"), ("b", "c")]
    assert heights(graph) == {"a": 2, "b": 1, "c": 0}
    assert circle({**graph, "c": {"a"}})


def test_the_two_games_do_not_know_each_other() -> None:
    rules = ROOT / "engine" / "game"
    for own, other in (("reference", "jaxgame"), ("jaxgame", "reference")):
        paths = sorted((rules / own).glob("*.py"))
        assert paths
        for path in paths:
            found = [m for m in imports(path.read_text()) if m.startswith(f"engine.game.{other}")]
            assert not found, path


def test_models_and_jobs_of_the_explorer_reach_no_streamlit() -> None:
    graph, known = graph_of("ui"), modules("ui")
    drawing = {
        name
        for name, path in known.items()
        if any(m.split(".")[0] == "streamlit" for m in imports(path.read_text()))
    }
    assert {"ui.play.page", "ui.components.stored_view"} <= drawing
    reached, waiting = set(), [name for name in graph if name.startswith(WITHOUT_STREAMLIT)]
    assert len(waiting) > 30
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    assert not reached & drawing


def test_pages_start_without_what_only_work_needs() -> None:
    """Who brings an HLO dump waits for JAX, and who solves for the solvers."""
    code = (
        "import sys, ui.session.caching; print(*sys.modules)\n"
        "import ui.compare.page, ui.play.page, ui.programs.page, ui.search.page, ui.debug.page\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    shared, pages = (set(line.split()) for line in done.stdout.splitlines())
    assert "engine.lessons.catalogue" in shared
    assert not shared & {"jax", "mctx", "numba", "highspy", "engine.solvers"}
    assert not pages & {"jax", "numba"}

"""The wheel: built, installed into an environment of its own, used outside the repository."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import tomllib
import urllib.request
import venv
from collections.abc import Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from engine.cli.app import NEEDED
from tests.test_structure import SOURCES, imports

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def run(command: Sequence[str | Path], folder: Path) -> str:
    """What a command prints; it sees neither the repository nor its checkout's folder."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment's programs, which holds the wheel and nothing else of ours.

    Its dependencies are those of the environment that runs the tests, so that nothing large is
    downloaded: a path file names the folder where they lie.
    """
    folder = tmp_path_factory.mktemp("package")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    flags = ["--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    run([*pip, "wheel", *flags, ROOT], folder)
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    run([*pip, "--python", python, "install", "--no-deps", "--no-index", wheel], folder)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment / "bin"


def test_an_installed_engine_solves_a_sample(installed: Path, tmp_path: Path) -> None:
    command = [installed / "mallocmuzero", "solve", "resnet50-v5e-b64", "--seconds", "1"]
    body = json.loads(run([*command, "--json"], tmp_path))
    assert body["all_fast_s"] < body["latency_s"] < body["all_slow_s"]


def test_an_installed_command_calls_itself_by_its_name(installed: Path, tmp_path: Path) -> None:
    usage = run([installed / "mallocmuzero", "solve", "--help"], tmp_path)
    assert usage.startswith("usage: mallocmuzero solve ")
    assert "python -m engine" not in usage


@pytest.mark.nightly
def test_a_solver_of_another_package_is_taken_by_name(installed: Path, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    flags = ["--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path]
    # Built from a copy: the build leaves files where it works.
    package = shutil.copytree(ROOT / "examples" / "solver_package", tmp_path / "solver_package")
    run([*pip, "wheel", *flags, package], tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    python = installed / "python"
    run([*pip, "--python", python, "install", "--no-deps", "--no-index", wheel], tmp_path)
    engine = installed / "mallocmuzero"
    solvers = ["--solvers", "whole_life,all_slow", "--json"]
    body = json.loads(run([engine, "compare", "teach-fragmentation", *solvers], tmp_path))
    assert [row["solver"] for row in body["results"]] == ["whole_life", "all_slow"]
    tried = json.loads(
        run([engine, "check-solver", "whole_life", "--seconds", "1", "--json"], tmp_path)
    )
    assert tried["keeps"], tried


def test_an_installed_engine_has_the_shipped_weights(installed: Path, tmp_path: Path) -> None:
    code = """
from engine.agent.checkpoint import load_checkpoint
from engine.solvers.practice import GENERALIST
print(len(load_checkpoint(GENERALIST).params))
"""
    assert int(run([installed / "python", "-c", code], tmp_path)) > 0


def test_an_installed_explorer_shows_its_first_page(installed: Path, tmp_path: Path) -> None:
    code = """
from pathlib import Path
from streamlit.testing.v1 import AppTest
import ui
script = Path(ui.__file__).with_name("app.py")
page = AppTest.from_file(script, default_timeout=300).run()
print(script.is_relative_to(PREFIX), len(page.exception), script.with_name(".streamlit").is_dir())
"""
    code = code.replace("PREFIX", repr(str(installed.parent)))
    assert run([installed / "python", "-c", code], tmp_path).split() == ["True", "0", "True"]


def test_an_installed_app_serves_the_explorer(installed: Path, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [installed / "mallocmuzero", "app", "--no-browser", "--port", str(port)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        while not answers(f"http://127.0.0.1:{port}/_stcore/health"):
            assert process.poll() is None
            time.sleep(0.2)
    finally:
        process.terminate()
        process.wait()


def answers(address: str) -> bool:
    """Whether there is a page."""
    try:
        with urllib.request.urlopen(address, timeout=10) as page:
            return bool(page.status == 200)
    except OSError:
        return False


def pins(name: str) -> dict[str, str]:
    """The versions that a requirements file pins, without those of the files that it includes."""
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return dict(line.split("==") for line in lines if line and not line.startswith("-r"))


def ranges(*lists: Sequence[str]) -> dict[str, Requirement]:
    """What `pyproject.toml` asks for, by name."""
    return {r.name: r for requirements in lists for r in map(Requirement, requirements)}


def test_the_pinned_versions_lie_in_the_ranges() -> None:
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    pairs = {
        "requirements.txt": ranges(project["dependencies"], extras["app"]),
        "requirements-compiler.txt": ranges(extras["compiler"]),
        "requirements-ray.txt": ranges(extras["ray"]),
    }
    for file, asked in pairs.items():
        pinned = pins(file)
        assert set(pinned) == set(asked)
        assert all(asked[name].specifier.contains(pinned[name]) for name in pinned), file
    (build,) = map(Requirement, PYPROJECT["build-system"]["requires"])
    assert build.specifier.contains(pins("requirements-dev.txt")[build.name])


def test_a_wheel_asks_for_the_explorers_packages_only_where_they_are_wanted(
    installed: Path, tmp_path: Path
) -> None:
    code = """
from importlib.metadata import requires
print(*requires("mallocmuzero-explorer"), sep="\\n")
"""
    asked = [*map(Requirement, run([installed / "python", "-c", code], tmp_path).splitlines())]
    always = {r.name for r in asked if r.marker is None}
    with_app = {r.name for r in asked if r.marker and r.marker.evaluate({"extra": "app"})}
    assert "jax" in always
    assert with_app == set(NEEDED)
    assert not with_app & always


def test_every_package_that_is_imported_is_asked_for() -> None:
    """Also those that come with another one: it may drop them."""
    project = PYPROJECT["project"]
    asked = ranges(project["dependencies"], *project["optional-dependencies"].values())
    known = {*asked, *pins("requirements-dev.txt")}
    packages = packages_distributions()
    for path in SOURCES:
        roots = {module.split(".")[0] for module in imports(path.read_text())}
        for root in roots - sys.stdlib_module_names - {"engine", "ui"}:
            names = {canonicalize_name(name) for name in packages[root]}
            assert known & names, f"{path} imports {root}"

"""The examples in docstrings run, and the facade offers what it defines."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import mallocmuzero

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [
    ROOT / "mallocmuzero.py",
    *sorted((ROOT / "engine").rglob("*.py")),
    *sorted((ROOT / "ui").rglob("*.py")),
]
WITH_EXAMPLES = [
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for path in SOURCES
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_give_what_they_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_facade_offers_all_that_it_defines() -> None:
    own = {
        n for n, v in vars(mallocmuzero).items() if getattr(v, "__module__", "") == "mallocmuzero"
    }
    assert {name for name in own if not name.startswith("_")} <= set(mallocmuzero.__all__)
    assert mallocmuzero.__all__ == sorted(mallocmuzero.__all__)
    assert all(getattr(mallocmuzero, name) is not None for name in mallocmuzero.__all__)
    assert not hasattr(mallocmuzero, "gredy")


def test_importing_the_facade_loads_nothing_heavy() -> None:
    code = "import sys, mallocmuzero; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not {"jax", "scipy", "streamlit", "mctx", "keras"} & set(done.stdout.split())

"""The examples run as they stand, up to the search, which takes minutes to an hour."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.compiler.steering.flags import Flags, save_flags

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"

WITH_A_SEARCH_THAT_KNOWS = """
import runpy, sys
from types import SimpleNamespace

import mallocmuzero

def tune(jitted, *args, hardware, compiles, note):
    text = jitted.lower(*args).as_text()
    note(f"{hardware}, {compiles} compiles, a main function: {'@main' in text}")
    flags = SimpleNamespace(compiler_options={"xla_some_knob": "7"})
    return SimpleNamespace(flags=flags, verdict=SimpleNamespace(improvement=0.125))

mallocmuzero.tune = tune
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a script whose `tune` only lowers what it is given."""


def said(*command: str) -> str:
    bin_folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "PYTHONPATH": "."}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_a_script_hands_its_function_over_and_shows_the_options(path: Path) -> None:
    lines = said(sys.executable, "-c", WITH_A_SEARCH_THAT_KNOWS, str(path), "3").splitlines()
    assert lines[0].startswith("tpu-v")
    assert lines[0].endswith(", 3 compiles, a main function: True")
    assert lines[1] == "compiled improvement 12.50% with"
    assert '"xla_some_knob": "7"' in "\n".join(lines[2:])


def test_a_program_is_started_with_the_options_in_its_environment(tmp_path: Path) -> None:
    options = {"xla_some_knob": "7", "xla_rules": "overrides { first: true }"}
    save_flags(Flags("net", "0123", "tpu-v5e", options), tmp_path / "flags.json")
    tell = "import os; print(os.environ['LIBTPU_INIT_ARGS'])"
    found = said(
        "sh", "examples/environment.sh", str(tmp_path / "flags.json"), sys.executable, "-c", tell
    )
    assert found == "--xla_some_knob=7 --xla_rules=overrides{first:true}\n"

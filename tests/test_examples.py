"""The examples run as they stand, up to the search of `tune`, which takes minutes to an hour."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import mallocmuzero
from engine.compiler.steering.flags_file import INIT_ARGS_NOTE, Flags, save_flags
from tests.game.tiny_programs import Buffer, program_of

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
TUNED = (
    "fsdp_step.py",
    "keras_model.py",
    "optax_step.py",
    "plain_jax.py",
    "tensor_parallel_decode.py",
)
PUSHED = ("optax_step.py", "plain_jax.py")
TRAINED = "train_policy.py"

WITH_A_SEARCH_THAT_KNOWS = """
import runpy, sys
from types import SimpleNamespace

import mallocmuzero

def tune(jitted, *args, hardware, compiles, note):
    text = jitted.trace(*args).lower(lowering_platforms=("tpu",)).as_text()
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


def test_every_script_is_tried() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*TUNED, TRAINED}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in PUSHED else pytest.mark.nightly) for n in TUNED],
)
def test_a_script_hands_its_function_over_and_shows_the_options(name: str) -> None:
    path = str(EXAMPLES / name)
    lines = said(sys.executable, "-c", WITH_A_SEARCH_THAT_KNOWS, path, "3").splitlines()
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


@pytest.mark.parametrize(
    ("own", "told"), [("", ""), ("--xla_own=1", ""), ("--xla_else=2", "--xla_else=2")]
)
def test_what_was_in_the_environment_is_kept_or_said_to_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, told: str
) -> None:
    """Kept is what was there when the options were made."""
    notes = {INIT_ARGS_NOTE: "--xla_own=1"}
    path = tmp_path / "flags.json"
    save_flags(Flags("net", "0123", "tpu-v5e", {"xla_some_knob": "7"}, notes=notes), path)
    monkeypatch.setenv("LIBTPU_INIT_ARGS", own)
    lines = said("sh", "-c", f"sh examples/environment.sh {path} env 2>&1").splitlines()
    assert "LIBTPU_INIT_ARGS=--xla_own=1 --xla_some_knob=7" in lines
    warned = f"note: {path} takes the place of LIBTPU_INIT_ARGS={told}"
    assert [line for line in lines if line.startswith("note")] == ([warned] if told else [])


@pytest.mark.nightly
def test_the_policy_learns_what_greedy_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    script = runpy.run_path(str(EXAMPLES / TRAINED))
    program = mallocmuzero.load("teach-keep-or-drop")
    curve, plan = script["train"](program, updates=40)
    greedy_s = mallocmuzero.simulate(program, mallocmuzero.solve(program, "greedy")).latency_s
    assert curve[0] < 0.15
    assert curve[-1] > 0.5 > 1 - greedy_s / program.all_slow_s
    assert mallocmuzero.simulate(program, plan).latency_s == pytest.approx(1400e-6)


def test_a_training_without_updates_is_refused() -> None:
    script = runpy.run_path(str(EXAMPLES / TRAINED))
    with pytest.raises(SystemExit, match="0 updates"):
        script["train"](mallocmuzero.load("teach-keep-or-drop"), updates=0)


def test_the_solver_of_a_package_places_what_takes_no_room() -> None:
    solver = runpy.run_path(str(EXAMPLES / "solver_package" / "whole_life.py"))
    program = program_of([5, 5], [Buffer(0, writes={0: 3}, reads={1: 3})])
    plan = solver["solve"](program, mallocmuzero.Budget(10.0))
    assert mallocmuzero.check(program, plan)
    assert mallocmuzero.simulate(program, plan).latency_s == program.all_slow_s - 6


def test_the_page_on_environments_runs_as_it_stands() -> None:
    page = (ROOT / "docs" / "environments.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        ran: dict[str, object] = {}
        exec(block, ran)
        program = mallocmuzero.load("teach-keep-or-drop")
        assert mallocmuzero.check(program, ran["plan"])

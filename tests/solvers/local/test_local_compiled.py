"""The compiled search is held to the interpreted one, and where compiled code is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.folders import VARIABLE
from engine.solvers.local.compiled import IS_INTERPRETED
from tests.solvers.local.recorded_runs import PROGRAMS, record

COMPILE_TIMEOUT_S = 1800
"""Compiling takes a minute of processor time, on a busy machine many minutes."""


def run_child(*words: str, **variables: str) -> str:
    """What a Python process of its own prints, with these environment variables."""
    environment = os.environ | variables
    child = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, check=True, text=True
    )
    return child.stdout


@pytest.mark.nightly
@pytest.mark.timeout(COMPILE_TIMEOUT_S)
def test_compiled_code_makes_the_same_moves() -> None:
    assert IS_INTERPRETED
    answer = json.loads(run_child("-m", "tests.solvers.local.recorded_runs", NUMBA_DISABLE_JIT="0"))
    assert not answer["is_interpreted"]
    assert len(answer["runs"]) == PROGRAMS
    for seed, compiled in enumerate(answer["runs"]):
        interpreted = record(seed)
        for key in ("stays", "copies", "is_fast"):
            assert compiled[key] == interpreted[key]
        assert compiled["is_taken_up"]
        assert compiled["told_s"] == pytest.approx(interpreted["told_s"], rel=1e-9)
        assert compiled["told_s"] == pytest.approx(compiled["simulated_s"], rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("folder", ["", "/dev/null/never"])
def test_without_a_folder_nothing_is_kept(folder: str) -> None:
    words = "from engine.solvers.local.compiled import IS_KEPT; print(IS_KEPT)"
    assert run_child("-c", words, **{VARIABLE: folder}).strip() == "False"


def test_compiled_code_is_kept_where_the_user_wants_it_and_not_beside_the_sources(
    tmp_path: Path,
) -> None:
    words = "from engine.solvers.local.compiled import FOLDER, IS_KEPT; print(IS_KEPT, FOLDER)"
    kept, folder = run_child("-c", words, **{VARIABLE: str(tmp_path)}).split()
    assert kept == "True"
    assert Path(folder).is_dir()
    assert Path(folder).parent == tmp_path / "numba"


def test_code_compiled_without_optimisation_is_not_taken_for_the_users() -> None:
    words = "from engine.solvers.local.compiled import FOLDER; print(FOLDER)"
    assert run_child("-c", words, NUMBA_OPT="0") != run_child("-c", words, NUMBA_OPT="3")

"""What worker processes of the portfolio are told by their environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine import processes
from engine.processes import num_cores
from engine.solvers import portfolio as solver


def test_workers_have_one_thread_and_the_users_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_of_the_user")
    monkeypatch.setenv("PYTHONPATH", "of_the_user")
    found = solver._environment()
    assert found["XLA_FLAGS"].split() == ["--xla_of_the_user", solver._ONE_THREAD]
    assert found["PYTHONPATH"].split(os.pathsep)[1:] == ["of_the_user"]
    assert found["OMP_NUM_THREADS"] == "1"
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert num_cores() == 7
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert num_cores() == len(os.sched_getaffinity(0))
    monkeypatch.delenv("XLA_FLAGS")
    monkeypatch.delenv("PYTHONPATH")
    found = solver._environment()
    assert found["XLA_FLAGS"] == solver._ONE_THREAD
    assert os.pathsep not in found["PYTHONPATH"]


@pytest.mark.parametrize(
    ("text", "most"),
    [("200000 100000", 2), ("150000 100000", 2), ("1000 100000", 1), ("max 100000", None)],
)
def test_the_cores_time_of_a_container_counts(
    text: str, most: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda of: set(range(64)))
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(processes, "_CPU_MAX", tmp_path / "cpu.max")
    assert num_cores() == (64 if most is None else most)
    monkeypatch.setattr(processes, "_CPU_MAX", tmp_path / "none")
    assert num_cores() == 64

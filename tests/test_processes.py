"""A kill leaves no orphans."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.processes import PARENT, child_environment
from tests.ui.waiting import eventually

CHILD = """
from engine.processes import end_with_parent
{before}
end_with_parent()
print("safe", flush=True)
import time
time.sleep(3600)
"""
PARENT_OF_IT = """
import subprocess, sys, time
from engine.processes import child_environment
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], env=child_environment())
print(child.pid, flush=True)
time.sleep(3600)
"""


@contextmanager
def started(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("before", ["", "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"])
def test_a_child_dies_with_its_parent(before: str) -> None:
    """Also where the parent dies before the child has come to asking for it."""
    with started(PARENT_OF_IT, CHILD.format(before=before)) as parent:
        child = int(line_of(parent))
        if not before:
            assert line_of(parent) == "safe"
    assert eventually(lambda: not is_alive(child))


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


CHILDREN = (
    "engine.compiler.toolchain.child",
    "engine.program.hlo.child",
    "engine.solvers.apart.worker",
    "engine.workflows.solver_contract",
    "ui.jobs.worker",
)


@pytest.mark.parametrize("module", CHILDREN)
def test_every_child_asks_to_end_with_its_parent(module: str, tmp_path: Path) -> None:
    """Told of another parent than its own, it takes that one for dead."""
    environment = {**child_environment(), PARENT: str(os.getpid() + 1)}
    command = [sys.executable, "-m", module, str(tmp_path)]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == -signal.SIGKILL

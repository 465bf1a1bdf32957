"""Worker processes and what they say, gathered in one queue."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "engine.solvers.portfolio.worker")
"""Started anew, never forked: JAX's threads do not survive a fork."""
_ROOT = Path(__file__).resolve().parents[3]
_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


class Worker:
    """One process. `order` sends it work; its answers go into the crew's queue."""

    def __init__(self, program_file: Path, answers: Answers) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, str(program_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=_environment(),
        )
        self._reader = threading.Thread(target=self._read, args=(answers,), daemon=True)
        self._reader.start()

    def _read(self, answers: Answers) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                body = json.loads(line)
            except ValueError:
                break
            answers.put((self, body))
        answers.put((self, None))

    def order(self, body: dict[str, Any]) -> None:
        """Send a stint; a dead process takes none, and its last answer in the queue is None."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(json.dumps(body) + "\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Kill the process and wait for it."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


Answers = queue.SimpleQueue[tuple[Worker, dict[str, Any] | None]]
"""Answers, each with its worker; None where a process has ended, or sent what is not JSON."""


def _environment() -> dict[str, str]:
    """The user's environment, with one thread: more would be in the way of the other workers."""
    flags, path = os.environ.get("XLA_FLAGS", ""), os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "XLA_FLAGS": f"{flags} {_ONE_THREAD}".lstrip(),
        "PYTHONPATH": os.pathsep.join([str(_ROOT), path] if path else [str(_ROOT)]),
    }

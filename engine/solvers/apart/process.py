"""Processes that run solvers, as their starter sees them: orders go out, answers come back."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.processes import child_environment

COMMAND = (sys.executable, "-m", "engine.solvers.apart.worker")
"""Started anew, never forked: JAX's threads do not survive a fork."""
_ROOT = Path(__file__).resolve().parents[3]


class Worker:
    """One process. `order` sends it work; its answers go into a queue.

    An order is one short line, which names the file of the plan to begin from: a pipe holds 64 KiB,
    and whoever writes a large plan into it waits for a reader that may never read.
    """

    def __init__(
        self, program_file: Path, answers: Answers, environment: Mapping[str, str]
    ) -> None:
        """Start it; `environment` as `worker_environment` makes it."""
        self._process = subprocess.Popen(
            [*COMMAND, str(program_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert self._process.stdin is not None
        self._orders = self._process.stdin.fileno()
        os.set_blocking(self._orders, False)
        self._reader = threading.Thread(target=self._read, args=(answers,), daemon=True)
        self._reader.start()

    def _read(self, answers: Answers) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                body = json.loads(line)
            except (ValueError, RecursionError):
                break
            answers.put((self, body if isinstance(body, dict) else None))
        answers.put((self, None))

    def order(self, body: dict[str, Any]) -> None:
        """Send an order; a process that takes none is killed, and its last answer is None."""
        line = json.dumps(body).encode() + b"\n"
        try:
            is_sent = os.write(self._orders, line) == len(line)
        except OSError:
            is_sent = False
        if not is_sent:
            self._process.kill()

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


def worker_environment(**more: str) -> dict[str, str]:
    """The user's environment, in which a worker finds this project, and `more`."""
    path = os.environ.get("PYTHONPATH")
    return child_environment(
        PYTHONPATH=os.pathsep.join([str(_ROOT), path] if path else [str(_ROOT)]), **more
    )


POLL_S = 0.1


def drain(answers: Answers, wait_s: float) -> Iterator[tuple[Worker, dict[str, Any] | None]]:
    """The answers in the queue; waits so long for the first."""
    try:
        yield answers.get(wait_s > 0, wait_s)
        while True:
            yield answers.get_nowait()
    except queue.Empty:
        return

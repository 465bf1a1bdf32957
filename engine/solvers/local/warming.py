"""Compiled code for a search that already runs interpreted: loaded, or compiled by a child."""

from __future__ import annotations

import subprocess
import sys
import time
from types import TracebackType

from engine.processes import child_environment
from engine.solvers.local.compiled import Code, interpreted
from engine.solvers.local.machine import (
    IS_INTERPRETED,
    LOAD_S,
    cached_sources,
    is_loaded,
    is_warm,
    machine_code,
)


class Warming:
    """Asks for compiled code until it is there; ends the child that compiles, at the end.

    `words`: what to tell of it beside the progress of the search.
    """

    def __init__(self) -> None:
        self.words = ""
        self._child: subprocess.Popen[bytes] | None = None
        self._is_given_up = IS_INTERPRETED
        self._begun = time.perf_counter(), time.process_time()

    def __enter__(self) -> Warming:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def code(self, left_s: float) -> Code:
        """What is to run the inner loop of a search that has so many seconds left."""
        is_too_late = left_s * self._share_of_core() < LOAD_S and not is_loaded()
        if self._is_given_up or is_too_late:
            return interpreted
        if is_warm():
            self.words = ""
            return machine_code()
        if self._child is None:
            if cached_sources() is None:
                self.words = "; interpreted, since there is no folder to keep compiled code in"
                self._is_given_up = True
                return interpreted
            self._child = _compiling()
        if self._child.poll() is None:
            self.words = "; interpreted while the search is compiled, once on this machine"
        else:
            self.words = "; interpreted, since compiling failed: python -m " + __package__
            self._is_given_up = True
        return interpreted

    def _share_of_core(self) -> float:
        """How much of a core this process has had so far: less than all on a busy machine."""
        wall_s = time.perf_counter() - self._begun[0]
        cpu_s = time.process_time() - self._begun[1]
        return min(1.0, cpu_s / wall_s) if wall_s > 0 else 1.0


def _compiling() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", __package__],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
    )

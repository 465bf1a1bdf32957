"""What solvers of other packages may do wrong, each one thing; `plugins_of` installs them."""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mallocmuzero
from engine.errors import SolverError
from engine.solvers import SOLVERS, registry
from engine.solvers.plugins import GROUP, register_plugins
from engine.solvers.registry import NOT_COUNTED
from mallocmuzero import Budget, Plan, Program, Stay


class Clock:
    """Seconds that pass only when a solver says so."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


CLOCK = Clock()
DICE = itertools.cycle(["greedy", "all_slow"])


def fine(program: Program, budget: Budget) -> Plan:
    budget.progress(0.5, "half of it")
    return mallocmuzero.solve(program, "greedy")


def raises(program: Program, budget: Budget) -> Plan:
    raise KeyError("a key\nof two lines")


def leaves(program: Program, budget: Budget) -> Plan:
    sys.exit("goodbye")


class Stopped(BaseException):
    pass


def stops(program: Program, budget: Budget) -> Plan:
    raise Stopped("enough")


def interrupted(program: Program, budget: Budget) -> Plan:
    raise KeyboardInterrupt


def closes(program: Program, budget: Budget) -> Plan:
    raise GeneratorExit


def cannot(program: Program, budget: Budget) -> Plan:
    raise SolverError("it is too large")


def prints(program: Program, budget: Budget) -> Plan:
    print("at work")
    return mallocmuzero.solve(program, "greedy")


def prints_past_python(program: Program, budget: Budget) -> Plan:
    """In C, which keeps it until the process ends, to the descriptor, and by a process."""
    print("at work")
    ctypes.CDLL(None).printf(b"at work in C\n")
    os.write(1, b"at work below\n")
    subprocess.run(["echo", "at work beside"], check=True)
    return mallocmuzero.solve(program, "greedy")


def notes_nan(program: Program, budget: Budget) -> Plan:
    return replace(mallocmuzero.solve(program, "greedy"), notes={"loss": float("nan")})


def returns_none(program: Program, budget: Budget) -> None:
    return None


def overlaps(program: Program, budget: Budget) -> Plan:
    plan = mallocmuzero.solve(program, "greedy")
    everywhere = [Stay(group, 0, 0, program.num_slots) for group in range(len(program.groups))]
    return replace(plan, stays=tuple(everywhere))


def numpy_numbers(program: Program, budget: Budget) -> Plan:
    plan = mallocmuzero.solve(program, "greedy")
    stays = [replace(stay, offset=np.int64(stay.offset)) for stay in plan.stays]
    return replace(plan, stays=tuple(stays) or (Stay(np.int64(0), 0, 0, 1),))


def changes_the_program(program: Program, budget: Budget) -> Plan:
    program.provenance["touched"] = True  # type: ignore[index]
    return mallocmuzero.solve(program, "greedy")


def tells_percent(program: Program, budget: Budget) -> Plan:
    budget.progress(50, "percent")
    return mallocmuzero.solve(program, "greedy")


def never_slow(program: Program, budget: Budget) -> Plan:
    """Knows nothing of how large the memory is."""
    roomy = replace(program, hardware=replace(program.hardware, fast_bytes=2**40))
    plan = mallocmuzero.solve(roomy, "greedy")
    same = mallocmuzero.solve(program, "all_slow").program_hash
    return replace(plan, program_hash=same)


def throws_dice(program: Program, budget: Budget) -> Plan:
    return mallocmuzero.solve(program, next(DICE))


def overruns(program: Program, budget: Budget) -> Plan:
    CLOCK.now_s += 2 * budget.seconds + 5
    return mallocmuzero.solve(program, "greedy")


def compiles_last(program: Program, budget: Budget) -> Plan:
    """Nothing wrong: it announces what is not counted."""
    budget.progress(0.9, f"compiling {NOT_COUNTED}")
    CLOCK.now_s += 60
    return mallocmuzero.solve(program, "greedy")


def hears_nothing(program: Program, budget: Budget) -> Plan:
    while budget.progress(0.0, "at work") and CLOCK.now_s < 1e6:
        CLOCK.now_s += 1e5
    CLOCK.now_s += 60
    return mallocmuzero.solve(program, "greedy")


def dies_or_hangs(program: Program, budget: Budget) -> Plan:
    if program.name == "teach-prefetch":
        os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(1e6)
    return mallocmuzero.solve(program, "greedy")


@contextmanager
def plugins_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, package: str = "broken-plugin", **solvers: str
) -> Iterator[None]:
    """A package with these entry points is installed in `folder`, on the path of all processes."""
    installed = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {where}" for name, where in solvers.items()]
    (installed / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
    paths = [str(folder), str(Path(__file__).parents[2])]
    monkeypatch.syspath_prepend(paths[0])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    before = dict(SOLVERS)
    register_plugins()
    try:
        yield
    finally:
        registry._SOLVERS.clear()
        registry._SOLVERS.update(before)

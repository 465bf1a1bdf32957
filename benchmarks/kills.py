"""The section `kills`: `kill -9` at random moments, and what is left afterwards.

`solve`, `bench` and a job of the explorer are started and killed, `--games` times in turn. None may
leave a process that goes on, or a file that is half written; the next start has to go on. Temporary
folders are swept by the next process that makes one, once they are a minute old.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.rows import ROOT
from benchmarks.settings import Settings
from engine.errors import EngineError
from engine.files import read_json

PROGRAM = "teach-fragmentation"
LONGEST_S = 8.0
"""A kill comes at a random moment before that."""
PATIENCE_S = 10.0
"""In which a child has to end after its parent."""
JOB = """
import time
from engine.program.library import load_sample
from ui.jobs.queue import Workshop
Workshop().start(load_sample("%s"), "portfolio", 60)
time.sleep(3600)
"""


def commands(folder: Path) -> dict[str, list[str]]:
    """What is killed, by name; its outputs go into `folder`."""
    engine = [sys.executable, "-m", "engine"]
    budget = ["--seconds", "30"]
    names = f"teach-prefetch,{PROGRAM}"
    solve = [*engine, "solve", PROGRAM, *budget, "-o", str(folder / "plan.json")]
    compared = ["--programs", names, "--solvers", "portfolio", "-o", str(folder / "results.json")]
    return {
        "solve": solve,
        "solve muzero": [*solve, "--solver", "muzero"],
        "bench": [*engine, "bench", *compared, "--seconds", "3"],
        "explorer": [sys.executable, "-c", JOB % PROGRAM],
    }


def run(section: str, settings: Settings) -> None:
    """Kill, look, and print a line for each kill and one for all."""
    chance, faults = random.Random(settings.seed), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = list(commands(folder).items())
        for number in range(settings.games):
            kind, command = kinds[number % len(kinds)]
            after_s = chance.uniform(0.1, LONGEST_S)
            found = [*orphans_of(command, after_s, str(number)), *half_written(folder)]
            faults += len(found)
            print(f"{kind:14} killed after {after_s:4.1f} s: {'; '.join(found) or 'nothing left'}")
    print(f"{settings.games} kills, {faults} faults")


def orphans_of(command: list[str], after_s: float, mark: str) -> list[str]:
    """Start a command, kill it, and name what still runs of it."""
    name = f"KILLED_{os.getpid()}_{mark}"
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, name: "1", "MALLOCMUZERO_RESULTS": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    until = time.monotonic() + PATIENCE_S
    while (left := marked(name)) and time.monotonic() < until:
        time.sleep(0.1)
    return [f"process {number} goes on" for number in left]


def marked(name: str) -> list[int]:
    """The processes that have a variable of that name in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{name}=".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def half_written(folder: Path) -> list[str]:
    """The outputs that are there, but cannot be read."""
    broken = []
    for path in folder.glob("*.json"):
        try:
            read_json(path)
        except (EngineError, json.JSONDecodeError) as error:
            broken.append(str(error))
    return broken

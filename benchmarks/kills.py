"""The section `kills`: `kill -9` at random moments, and what is left afterwards.

`solve`, `bench` and a job of the explorer are started and killed in turn, each in a folder of its
own, until `--games` kills (40, if it is not given) have met a process that still worked. None may
leave a process that goes on, or a file that is half written, and the same command, started again,
has to reach its end. Temporary folders are swept by the next process that makes one, once they are
a minute old.
"""

from __future__ import annotations

import itertools
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
KILLS = 40
LONGEST_S = 8.0
"""A kill comes at a random moment before that."""
PATIENCE_S = 10.0
"""In which a child has to end after its parent."""
JOB = """
import sys, time
from engine.program.library import load_sample
from ui.jobs.protocol import DONE
from ui.jobs.queue import Workshop
job = Workshop().start(load_sample("%s"), "portfolio", 8)
while not job.is_over:
    time.sleep(0.1)
sys.exit(job.state != DONE)
"""


def commands(folder: Path) -> dict[str, list[str]]:
    """What is killed, by name; its outputs go into `folder`."""
    engine = [sys.executable, "-m", "engine"]
    budget = ["--seconds", "8"]
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
    """Kill, look, start again, and print a line for each kill and one for all."""
    chance = random.Random(settings.seed)
    kinds = itertools.cycle(commands(Path()))
    wanted = settings.num_games(KILLS)
    kills = faults = 0
    while kills < wanted:
        kind, after_s = next(kinds), chance.uniform(0.1, LONGEST_S)
        with tempfile.TemporaryDirectory() as name:
            found = faults_of(kind, Path(name), after_s)
        text = "had ended before" if found is None else "; ".join(found) or "nothing left"
        print(f"{kind:14} killed after {after_s:4.1f} s: {text}", flush=True)
        kills += found is not None
        faults += len(found or ())
    print(f"{kills} kills, {faults} faults")


def faults_of(kind: str, folder: Path, after_s: float) -> list[str] | None:
    """What a kill leaves, and whether the next start gets to its end; None if there was no kill."""
    command = commands(folder)[kind]
    left = orphans_of(command, after_s)
    if left is None:
        return None
    found = [*(f"process {number} goes on" for number in left), *half_written(folder)]
    again = subprocess.run(
        command, cwd=ROOT, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if again.returncode:
        found.append(f"started again, it ends with {again.returncode}")
    return [*found, *half_written(folder)]


def orphans_of(command: list[str], after_s: float) -> list[int] | None:
    """Start a command, kill it, and return what still runs of it; None if it ended before."""
    name = f"KILLED_{os.getpid()}_{time.monotonic_ns()}"
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=_environment(**{name: "1"}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    if process.wait() != -signal.SIGKILL:
        return None
    until = time.monotonic() + PATIENCE_S
    while (left := marked(name)) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def _environment(**more: str) -> dict[str, str]:
    """Ours, but results are not kept from one run to the next."""
    return {**os.environ, "MALLOCMUZERO_RESULTS": "", **more}


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
    """The outputs in a folder that cannot be read."""
    broken = []
    for path in folder.glob("*.json"):
        try:
            read_json(path)
        except (EngineError, json.JSONDecodeError) as error:
            broken.append(str(error))
    return broken

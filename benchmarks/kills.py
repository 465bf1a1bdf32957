"""The section `kills`: `kill -9` at random moments, and what is left afterwards.

`solve`, `bench`, `train`, `tune` (with the real compiler), a job of the explorer and its whole
server are started and killed in turn, each in a folder of its own, until `--games` kills (40, if it
is not given) have met a process that still worked. None may leave a process that goes on, or a file
that is half written, and the same command, started again, has to reach its end. Temporary folders
are swept by the next process that makes one, once they are a minute old. Kills are added to those
of earlier runs, in a row for each kind and commit.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rows import RESULTS, ROOT, Row, commit, put, read
from benchmarks.settings import Settings
from engine.agent.arrays import unpack
from engine.errors import EngineError
from engine.files import read_json
from engine.program.io import save

ROWS = RESULTS / "kills.json"
PROGRAM = "teach-fragmentation"
KILLS = 40
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


SERVER = """
import os, runpy, signal, sys, threading, time, urllib.request
from engine.cli.app import server_command
from engine.program.library import load_sample
from ui.jobs.protocol import DONE
from ui.session.caching import workshop
port = int(sys.argv[1])
def visit():
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1)
            break
        except OSError:
            time.sleep(0.1)
    job = workshop().start(load_sample("%s"), "portfolio", 8)
    while not job.is_over:
        time.sleep(0.1)
    if job.state != DONE:
        os._exit(1)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=visit, daemon=True).start()
sys.argv = server_command(port, is_headless=True)[2:]
runpy.run_module("streamlit", run_name="__main__")
"""
"""The server, with a visitor in it who has a job run and then ends it."""


@dataclass(frozen=True)
class Kind:
    """What is killed. `command`: its words, given the folder for all that it writes.

    `longest_s`: a kill comes at a random moment before that.
    """

    command: Callable[[Path], list[str]]
    longest_s: float = 8.0


def _engine(*words: object) -> list[str]:
    return [sys.executable, "-m", "engine", *map(str, words)]


def _solve(folder: Path) -> list[str]:
    return _engine("solve", PROGRAM, "--seconds", 8, "-o", folder / "plan.json")


def _bench(folder: Path) -> list[str]:
    names = ("--programs", f"teach-prefetch,{PROGRAM}", "--solvers", "portfolio")
    return _engine("bench", *names, "-o", folder / "results.json", "--seconds", 3)


def _train(folder: Path) -> list[str]:
    little = ("--rounds", 20, "--games", 4, "--simulations", 2, "--seconds", 600)
    changes = (
        "network.width=16",
        "network.latent=8",
        "learner.warm_up_steps=2",
        "learner.batch_size=8",
        "learner.steps_per_round=2",
    )
    settings = [word for change in changes for word in ("--set", change)]
    into = ("--run", folder / "run", "-o", folder / "checkpoint")
    return _engine("train", "--programs", PROGRAM, *little, *settings, *into)


def _tune(folder: Path) -> list[str]:
    """The program is captured by compiles that are cached; `tune` compiles it anew."""
    from engine.compiler.capture.capture import Source, capture_stablehlo
    from engine.compiler.toolchain.libtpu import use_cpu_here
    from engine.compiler.toolchain.target import Target
    from engine.workflows.capturing import capturing
    from tests.compiler.exported import small

    use_cpu_here()
    source, path = Source("small", Target("tpu-v5e"), small()), folder / "small.json.gz"
    save(capture_stablehlo(source, capturing(compiles=1)), path)
    little = ("--compiles", 3, "--seconds", 20, "--no-program-options", "--no-baseline")
    return _engine("tune", path, *little, "--answers", folder / "a", "-o", folder / "flags.json")


def _server(folder: Path) -> list[str]:
    del folder
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return [sys.executable, "-c", SERVER % PROGRAM, str(port)]


KINDS: Mapping[str, Kind] = {
    "solve": Kind(_solve),
    "solve muzero": Kind(lambda folder: [*_solve(folder), "--solver", "muzero"]),
    "bench": Kind(_bench),
    "explorer": Kind(lambda _: [sys.executable, "-c", JOB % PROGRAM]),
    "server": Kind(_server, 20.0),
    "tune": Kind(_tune, 60.0),
    "train": Kind(_train, 60.0),
}


def run(section: str, settings: Settings) -> None:
    """Kill, look, start again, and print a line for each kill and one for all."""
    # Another run, or the same one gone on with, kills at other moments.
    chance = random.Random(f"{settings.seed} {sum(row['kills'] for row in read(ROWS))}")
    kinds = itertools.cycle(KINDS.items())
    wanted = settings.num_games(KILLS)
    kills = faults = 0
    while kills < wanted:
        name, kind = next(kinds)
        after_s = chance.uniform(0.1, kind.longest_s)
        with tempfile.TemporaryDirectory() as folder:
            found = faults_of(kind, Path(folder), after_s)
        text = "had ended before" if found is None else "; ".join(found) or "nothing left"
        print(f"{name:14} killed after {after_s:4.1f} s: {text}", flush=True)
        if found is not None:
            note(name, found)
            kills += 1
            faults += len(found)
    print(f"{kills} kills, {faults} faults")
    print(f"in all: {summary(read(ROWS))}")


def note(name: str, found: list[str]) -> None:
    """Add a kill of a kind, and what it left, to the row of this commit."""
    key = [name, commit()]
    before: Row = next((row for row in read(ROWS) if row["key"] == key), {"kills": 0, "faults": []})
    put(ROWS, {"key": key, "kills": before["kills"] + 1, "faults": [*before["faults"], *found]})


def summary(rows: Sequence[Row]) -> str:
    """The kills of each kind, and how often something was left."""
    kinds = Counter[str]()
    for row in rows:
        kinds[row["key"][0]] += row["kills"]
    told = ", ".join(f"{number} of `{name}`" for name, number in sorted(kinds.items()))
    return f"{told}; {sum(len(row['faults']) for row in rows)}"


def faults_of(kind: Kind, folder: Path, after_s: float) -> list[str] | None:
    """What a kill leaves, and whether the next start gets to its end; None if there was no kill."""
    command = kind.command(folder)
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
    """The outputs in a folder, and in those within, that cannot be read."""
    broken = []
    for path in sorted(folder.rglob("*")):
        try:
            if path.name.endswith((".json", ".json.gz")):
                read_json(path)
            elif path.suffix == ".npz":
                unpack(path.read_bytes())
        except (EngineError, ValueError) as error:
            broken.append(f"{path.name}: {error}")
    return broken

"""The section `kills`: `kill -9` at random moments, and what is left afterwards.

`solve`, `bench`, `train`, `tune` (with the real compiler), a job of the explorer and its whole
server are started and killed, each time the one of which the fewest kills are known, in a folder of
its own, until `--games` kills (40, if it is not given) have met a process that still worked. A kill
comes at a random moment of the time that the command takes. None may leave a process that goes on,
or a file that is half written, and the same command, started again, has to reach its end. Temporary
folders are swept by the next process that makes one, once they are a minute old. Kills are added to
those of earlier runs, in a row for each kind and commit.
"""

from __future__ import annotations

import functools
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
from pathlib import Path

from benchmarks.rows import RESULTS, ROOT, Row, commit, put, read
from benchmarks.settings import Settings
from engine.agent.arrays import unpack
from engine.errors import EngineError
from engine.files import read_json
from engine.program.io import save

ROWS = RESULTS / "kills.json"
PROGRAM, LESSON = "lstm-v5e-b64-train", "teach-fragmentation"
"""On the first one, solvers work to the end of their time."""
SECONDS = 2
KILLS = 40
PATIENCE_S = 10.0
"""In which a child has to end after its parent."""
JOB = """
import sys, time
from engine.program.library import load_sample
from ui.jobs.protocol import DONE
from ui.jobs.queue import Workshop
job = Workshop().start(load_sample("%s"), "portfolio", %d)
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
    job = workshop().start(load_sample("%s"), "portfolio", %d)
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


Command = Callable[[Path], list[str]]
"""The words of what is killed, given the folder for all that it writes."""


def _engine(*words: object) -> list[str]:
    return [sys.executable, "-m", "engine", *map(str, words)]


def _solve(folder: Path) -> list[str]:
    return _engine("solve", PROGRAM, "--seconds", SECONDS, "-o", folder / "plan.json")


def _bench(folder: Path) -> list[str]:
    names = ("--programs", f"{LESSON},{PROGRAM}", "--solvers", "portfolio")
    return _engine("bench", *names, "-o", folder / "results.json", "--seconds", SECONDS)


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
    return _engine("train", "--programs", LESSON, *little, *settings, *into)


def _tune(folder: Path) -> list[str]:
    """`tune` of a captured program, all of whose compiles are made anew."""
    path = folder / "small.json.gz"
    path.write_bytes(_captured())
    little = ("--compiles", 2, "--seconds", 12, "--no-program-options", "--no-baseline")
    return _engine("tune", path, *little, "--answers", folder / "a", "-o", folder / "flags.json")


@functools.cache
def _captured() -> bytes:
    """The file of a small program, as the real compiler makes it."""
    from engine.compiler.capture.capture import Source, capture_stablehlo
    from engine.compiler.toolchain.libtpu import use_cpu_here
    from engine.compiler.toolchain.target import Target
    from engine.workflows.capturing import capturing
    from tests.compiler.exported import small

    use_cpu_here()
    source = Source("small", Target("tpu-v5e"), small())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small.json.gz")
        save(capture_stablehlo(source, capturing(compiles=1)), path)
        return path.read_bytes()


def _server(folder: Path) -> list[str]:
    del folder
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return [sys.executable, "-c", SERVER % (PROGRAM, SECONDS), str(port)]


KINDS: Mapping[str, Command] = {
    "solve": _solve,
    "solve muzero": lambda folder: [*_solve(folder), "--solver", "muzero"],
    "bench": _bench,
    "explorer": lambda _: [sys.executable, "-c", JOB % (PROGRAM, SECONDS)],
    "server": _server,
    "tune": _tune,
    "train": _train,
}


def run(section: str, settings: Settings) -> None:
    """Kill, look, start again, and print a line for each kill and one for all."""
    # Another run, or the same one gone on with, kills at other moments.
    chance = random.Random(f"{settings.seed} {sum(row['kills'] for row in read(ROWS))}")
    lengths = dict[str, float]()
    wanted = settings.num_games(KILLS)
    kills = faults = 0
    while kills < wanted:
        known = kills_of(read(ROWS))
        name = min(KINDS, key=lambda kind: known.get(kind, 0))
        if name not in lengths:
            lengths[name] = length_s(KINDS[name])
        after_s = chance.uniform(0.0, lengths[name])
        with tempfile.TemporaryDirectory() as folder:
            found = faults_of(KINDS[name], Path(folder), after_s)
        text = "had ended before" if found is None else "; ".join(found) or "nothing left"
        when = f"{after_s:4.1f} of {lengths[name]:4.1f} s"
        print(f"{name:14} killed after {when}: {text}", flush=True)
        if found is None:
            lengths[name] = after_s
        else:
            note(name, found)
            kills += 1
            faults += len(found)
    print(f"{kills} kills, {faults} faults")
    print(f"in all: {summary(read(ROWS))}")


def length_s(command: Command) -> float:
    """How long a command takes that is let end: the second time, since the first may compile."""
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            words = command(Path(folder))
            begun = time.monotonic()
            _end(words)
            took_s = time.monotonic() - begun
    return took_s


def note(name: str, found: list[str]) -> None:
    """Add a kill of a kind, and what it left, to the row of this commit."""
    key = [name, commit()]
    before: Row = next((row for row in read(ROWS) if row["key"] == key), {"kills": 0, "faults": []})
    put(ROWS, {"key": key, "kills": before["kills"] + 1, "faults": [*before["faults"], *found]})


def summary(rows: Sequence[Row]) -> str:
    """The kills of each kind, and how often something was left."""
    told = ", ".join(f"{number} of `{name}`" for name, number in sorted(kills_of(rows).items()))
    return f"{told}; {sum(len(row['faults']) for row in rows)}"


def kills_of(rows: Sequence[Row]) -> dict[str, int]:
    """How often each kind was killed."""
    kinds = Counter[str]()
    for row in rows:
        kinds[row["key"][0]] += row["kills"]
    return kinds


def faults_of(command: Command, folder: Path, after_s: float) -> list[str] | None:
    """What a kill leaves, and whether the next start gets to its end; None if there was no kill."""
    words = command(folder)
    left = orphans_of(words, after_s)
    if left is None:
        return None
    found = [*(f"process {number} goes on" for number in left), *half_written(folder)]
    code = _end(words)
    if code:
        found.append(f"started again, it ends with {code}")
    return [*found, *half_written(folder)]


def _end(words: list[str]) -> int:
    """Run a command to its end; its exit code."""
    quiet = subprocess.DEVNULL
    return subprocess.run(
        words, cwd=ROOT, env=_environment(), stdout=quiet, stderr=quiet
    ).returncode


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

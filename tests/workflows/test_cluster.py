"""Comparisons on a Ray cluster: what comes back, and what is refused before anything runs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.cli import main
from engine.errors import MissingDependencyError, SolverError, UnknownNameError, UsageError
from engine.program import library
from engine.solvers import Budget
from engine.workflows import cluster
from engine.workflows.compare import compare

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("teach-prefetch", "teach-keep-or-drop")
SOLVERS = ("greedy", "all_slow")


@pytest.mark.nightly
def test_a_cluster_says_what_this_process_says() -> None:
    """A real one, of this machine alone; what cannot be compared does not end the rest."""
    code = f"""
import json
from engine.workflows.cluster import compare_on_cluster
from engine.program import library
from engine.solvers import Budget
programs = [*map(library.load_sample, {NAMES}), None]
for number, body in compare_on_cluster(programs, {SOLVERS}, Budget(0.1), "local"):
    print(json.dumps([number, body if isinstance(body, dict) else repr(body)]), flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    assert len(found) == 3
    for number, name in enumerate(NAMES):
        here = compare(library.load_sample(name), SOLVERS, Budget(0.1))
        assert untimed(found[number]) == untimed(here)
    assert found[2].startswith("SolverError(\"'NoneType' object has no attribute")


def untimed(body: dict[str, Any]) -> dict[str, Any]:
    for row in body["results"]:
        del row["seconds"]
    return body


def test_rows_keep_their_order_and_a_failure_is_told_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended(
        programs: Any, solvers: Any, budget: Budget, address: str, cores: int
    ) -> Iterator[tuple[int, dict[str, Any] | SolverError]]:
        assert (solvers, budget, address, cores) == (["greedy"], Budget(2.0, 3), "auto", 4)
        yield 2, compare(programs[2], solvers, Budget(0.0))
        yield 1, SolverError("its machine burnt down")
        yield 0, compare(programs[0], solvers, Budget(0.0))

    monkeypatch.setattr(cluster, "compare_on_cluster", ended)
    names = [NAMES[1], NAMES[0], "teach-fragmentation"]
    words = [
        "--solvers",
        "greedy",
        "--seconds",
        "2",
        "--seed",
        "3",
        "--ray",
        "auto",
        "--cores",
        "4",
    ]
    assert main(["bench", "--programs", ",".join(names), *words, "--json"]) == 2
    out, err = capsys.readouterr()
    programs = json.loads(out)["programs"]
    assert [body["program"] for body in programs] == names
    assert [bool(body["results"]) for body in programs] == [True, False, True]
    assert err.splitlines()[-1] == f"error: {NAMES[0]}: its machine burnt down"


def test_what_cannot_be_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(address: str, solver: str = "greedy") -> None:
        list(cluster.compare_on_cluster([], [solver], Budget(0.0), address))

    with pytest.raises(UnknownNameError, match="nobody"):
        ask("local", "nobody")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(UsageError, match="no Ray cluster answers"):
            ask(f"127.0.0.1:{free.getsockname()[1]}")
    with pytest.raises(UsageError, match="no Ray cluster answers"):
        ask("nowhere")
    assert main(["bench", "--programs", NAMES[0], "--solvers", "greedy", "--cores", "2"]) == 2
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match="pip install"):
        ask("local")


def test_no_machine_is_asked_for_more_cores_than_it_has() -> None:
    machines = [
        {"Alive": True, "Resources": {"CPU": 2.0}},
        {"Alive": True, "Resources": {"CPU": 8.0}},
        {"Alive": False, "Resources": {"CPU": 64.0}},
        {"Alive": True, "Resources": {}},
    ]
    ray = SimpleNamespace(nodes=lambda: machines)
    cluster._refuse_too_many(ray, 8)
    for cores in (0, 9):
        with pytest.raises(UsageError, match="1 to 8"):
            cluster._refuse_too_many(ray, cores)

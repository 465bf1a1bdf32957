"""Comparisons on a Ray cluster: a task for each program, on whichever machine has cores free.

All solvers of one program run in one task, so that they meet the same machine. Ray is optional (the
extra `ray`); each machine of the cluster needs this package with it, in the same version. A cluster
may ask for a token; with `RAY_AUTH_MODE=token` Ray sends the user's (`ray get-auth-token`).
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engine.errors import MissingDependencyError, SolverError, UsageError, install_line
from engine.program.model import Program
from engine.solvers import Budget, find
from engine.workflows.compare import compare

LOCAL = "local"
"""Ray's word for a cluster that is this machine alone, started for us and ended with us."""
AUTO = "auto"
"""Its word for the cluster that this machine belongs to."""
PATIENCE_S = 10.0
"""How long a machine may take to answer."""


def compare_on_cluster(
    programs: Sequence[Program],
    solvers: Sequence[str] | None,
    budget: Budget,
    address: str,
    cores: int = 1,
) -> Iterator[tuple[int, dict[str, Any] | SolverError]]:
    """The number of each program, as its task ends, and what `compare` says of it or why it failed.

    `address`: `local`, `auto` (the cluster that this machine belongs to), or `HOST:PORT`. `cores`:
    how many each program has for itself. Raises MissingDependencyError without Ray; UsageError if
    there is no such cluster, or none of its machines has as many cores; UnknownNameError for an
    unknown solver.
    """
    for name in solvers or ():
        find(name)
    with _connected(address) as ray:
        _refuse_too_many(ray, cores)
        task = ray.remote(num_cpus=cores)(compare)
        waiting = {task.remote(p, solvers, budget): number for number, p in enumerate(programs)}
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            try:
                body = ray.get(done)
            except ray.exceptions.RayError as error:
                body = SolverError(_reason(error))
            yield waiting.pop(done), body


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """The package `ray`, connected to a cluster until the end of the block."""
    # Ray sends its makers usage statistics unless this variable says no.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(f"--ray needs Ray: {install_line('ray')}") from error
    try:
        _knock(address)
        # Only of a cluster of our own may it be said.
        dashboard = False if address == LOCAL else None
        ray.init(
            address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=dashboard
        )
    except (OSError, ValueError, RuntimeError) as error:
        message = (
            f"no Ray cluster answers at {address!r}; start one with `ray start --head`, and set"
            " RAY_AUTH_MODE=token if it wants its token"
        )
        raise UsageError(message) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raises OSError or ValueError if nobody listens there; Ray would try for minutes."""
    if address not in (LOCAL, AUTO):
        host, _, port = address.rpartition(":")
        socket.create_connection((host, int(port)), timeout=PATIENCE_S).close()


def _reason(error: Exception) -> str:
    """The last line of what went wrong in a task, or with the worker that had it."""
    cause = getattr(error, "cause", None) or error
    lines = str(cause).strip().splitlines()
    return lines[-1] if lines else type(cause).__name__


def _refuse_too_many(ray: Any, cores: int) -> None:
    most = int(max(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]))
    if not 1 <= cores <= most:
        raise UsageError(f"--cores {cores}: a machine of this cluster has 1 to {most} of them")

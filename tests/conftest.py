"""What must stand before jax is imported in a test process, and what its files leave behind."""

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

# Nothing is garbage while tests are collected.
gc.disable()
# With libtpu installed jax would look for a TPU first, and warn at length that there is none.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Most tests that play compile the game for a board so small that slow code does as well. Nor does
# the compiler check its own code, or split it among cores that the other worker uses. Benches and
# users have the compiler's own settings, and the compiler of TPU programs never sees these.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    " --xla_cpu_emitter_verification_level=0 --xla_cpu_parallel_codegen_split_count=1",
)
# The local search runs interpreted, at once; nightly tests/solvers/local/test_local_compiled.py
# compiles it (more than a minute the first time) and holds it to the interpreted one.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

# What the explorer keeps beyond its process is kept by tests that say so alone.
os.environ["MALLOCMUZERO_RESULTS"] = ""

# What is compiled is kept between test files, processes and runs, where the engine keeps it too
# (`engine.agent.compile_cache`): the key is the program, the flags and the version of the compiler.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mallocmuzero" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")

# How long an example takes says how busy the machine is, not whether the code is right. What 25
# examples find at each push is looked for by four times as many each night, under other seeds.
settings.register_profile(
    "any-machine", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("nightly", settings.get_profile("any-machine"), max_examples=100)
# Mutants are told apart by the same examples, whenever they are made.
settings.register_profile("mutants", settings.get_profile("nightly"), derandomize=True)
# `make fuzz`: what visitors may send, tried ten thousand times.
settings.register_profile("fuzz", settings.get_profile("any-machine"), max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "any-machine"))


TOGETHER = (
    ("browser/",),
    ("agent/", "debugging/", "solvers/test_practice.py", "contracts/test_solvers.py"),
)
"""Files and folders that run one after another in one worker: the browser tests share one server
and one browser, the agent's what they compile. Begun first: they take longest.
"""
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what runs together; the others stay in their order."""
    items.sort(key=lambda item: _rank(item.path.relative_to(HERE).as_posix()))


def _rank(path: str) -> int:
    return next((n for n, some in enumerate(TOGETHER) if path.startswith(some)), len(TOGETHER))


class ByFile(LoadScopeScheduling):
    """Gives each worker whole files, and what runs together as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", maxsplit=1)[0]
        rank = _rank(file.removeprefix("tests/"))
        return file if rank == len(TOGETHER) else TOGETHER[rank][0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """The tests of several workers."""
    return ByFile(config, log)


LEFT: dict[str, int] = {}
"""Tests that only `make nightly` runs, by their files."""


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count what is left to the night."""
    for item in items:
        if item.get_closest_marker("nightly"):
            file = item.path.relative_to(HERE).as_posix()
            LEFT[file] = LEFT.get(file, 0) + 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands on what it counted."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = LEFT


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """All workers counted the same."""
    LEFT.update(getattr(node, "workeroutput", {}).get("left", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the night adds."""
    if LEFT:
        files = ", ".join(f"{file} {count}" for file, count in sorted(LEFT.items()))
        terminalreporter.write_line(f"make nightly adds {sum(LEFT.values())} tests: {files}")


def pytest_collection_finish() -> None:
    """What was imported stays: the garbage collector need not walk over it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


MOST_MAPS = 30_000
"""Of the 65,530 memory maps that Linux gives a process (`vm.max_map_count`)."""


@pytest.fixture(autouse=True, scope="module")
def _compiled_functions_leave_room() -> Iterator[None]:
    """Let go of what was compiled once it holds half of the memory maps that a process may have.

    Until then files that compile the same share it. A process without maps dies in the middle of a
    compilation.
    """
    yield
    jax = sys.modules.get("jax")
    if jax is not None and num_maps() > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


def num_maps() -> int:
    """Memory maps of this process."""
    with Path("/proc/self/maps").open("rb") as maps:
        return sum(1 for _ in maps)

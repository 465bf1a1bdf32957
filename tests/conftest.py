"""What must stand before jax is imported in a test process, and what its files leave behind."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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
# The local search runs interpreted, at once; tests/solvers/local/test_local_compiled.py compiles it
# (more than a minute the first time) and holds it to the interpreted one.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

# What is compiled is kept between test files, processes and runs, where the engine keeps it too
# (`engine.agent.compile_cache`): the key is the program, the flags and the version of the compiler.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mallocmuzero" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile(
    "any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# Mutants are told apart by the same examples, whenever they are made.
settings.register_profile("mutants", settings.get_profile("any-machine"), derandomize=True)
# `make fuzz`: what visitors may send, tried ten thousand times.
settings.register_profile("fuzz", settings.get_profile("any-machine"), max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "any-machine"))


LONGEST = (
    "solvers/local/test_local_compiled.py",
    "browser/test_every_page.py",
    "ui/jobs/test_agent_jobs.py",
    "contracts/test_solvers.py",
    "solvers/test_evolution.py",
)
"""Files that take a minute or more: begun last, one of them would keep one core waiting."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files; the others stay in their order."""
    rank = {Path(__file__).parent / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


def pytest_collection_finish() -> None:
    """What was imported stays: the garbage collector need not walk over it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _compiled_functions_end_with_their_file() -> Iterator[None]:
    """Let go of what a test file compiled, once its tests are done.

    Compiled functions hold memory maps, of which Linux gives a process 65,530 (`vm.max_map_count`):
    the whole suite took above 70,000 in two processes, and one that met too many of the agent's
    files died in the middle of a compilation.
    """
    yield
    jax = sys.modules.get("jax")
    if jax is not None:
        jax.clear_caches()
        gc.collect()

"""All marked functions as machine code, by Numba, and the folder where that is kept.

Nothing of Numba is imported before `machine_code` is called.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

from engine.errors import EngineError
from engine.files import write_bytes
from engine.folders import cache_folder
from engine.plan.simulate import ROUNDING
from engine.program.model import Program
from engine.solvers.local.compiled import MARKED, Code, compiled, interpreted

IS_INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Whether the environment forbids to compile anything."""


@lru_cache(maxsize=1)
def machine_code() -> Code:
    """The code that is compiled, each function at its first call, or loaded if it is kept."""
    if IS_INTERPRETED:
        return interpreted
    with _without("scipy.linalg"):
        # What Numba imports at its first function, and asks for BLAS there.
        import numba.np.arraymath  # noqa: F401
    from numba import njit
    from numba.core import config

    folder = cached_sources()
    if folder is not None:
        config.CACHE_DIR = str(folder)
    import engine.solvers.local.handles  # noqa: F401  (its functions are marked as well)

    spaces = {f.__module__: dict(sys.modules[f.__module__].__dict__) for f in MARKED}
    twins: dict[Any, Any] = {}
    for function in MARKED:
        code = function.__code__
        if folder is not None:
            code = code.replace(co_filename=str(folder / Path(code.co_filename).name))
        twin = FunctionType(code, spaces[function.__module__], function.__name__)
        twins[function] = _without_literals(njit(cache=folder is not None)(twin))
    # Compiled functions call each other.
    for space in spaces.values():
        for name, value in space.items():
            if isinstance(value, FunctionType) and value in twins:
                space[name] = twins[value]
    return lambda function: twins[function]


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Whoever imports that module meanwhile hears that there is none.

    Numba imports SciPy's linear algebra to find out whether it can compile `np.cov`, which takes a
    third of the time until a search runs. Nothing is done where the module is imported already, nor
    in another thread than the main one, as in the explorer, where others may import it meanwhile.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if name in sys.modules or not is_main:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


def _without_literals(dispatcher: Any) -> Any:
    """The dispatcher; a call with a literal compiles nothing that one with a variable does not.

    Numba would compile each function anew for every constant that it is called with.
    """
    from numba.core.types import unliteral  # type: ignore[attr-defined]

    choose = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, kws: choose(tuple(map(unliteral, args)), kws)
    return dispatcher


def _sources() -> list[Path]:
    """The files with marked functions."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return [path for path in files if f"@{compiled.__name__}" in path.read_text()]


@lru_cache(maxsize=1)
def _folder() -> Path | None:
    """The user's folder for these sources, this Numba and processor; None: nothing is kept.

    It does not depend on where the sources lie: all checkouts of a machine share it.
    """
    # Numba itself takes a third of a second to import.
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

    top = cache_folder("numba")
    if top is None:
        return None
    # Numba compiles for the features that a virtual machine shows, whatever its processor's name.
    processor = [get_host_cpu_name(), get_host_cpu_features().flatten()]
    words = [version("numba"), sys.version, *processor]
    words += [os.environ.get("NUMBA_OPT", ""), str(ROUNDING)]
    digest = hashlib.sha256("\n".join(words).encode())
    for path in _sources():
        digest.update(path.read_bytes())
    return top / digest.hexdigest()[:16]


def cached_sources() -> Path | None:
    """The folder with a copy of the sources, from whose path Numba makes its own folder's name."""
    folder = _folder()
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in _sources():
            if not (folder / path.name).exists():
                write_bytes(folder / path.name, path.read_bytes())
    except (OSError, EngineError):
        return None
    return folder if os.access(folder, os.W_OK) else None


def is_warm() -> bool:
    """Whether `machine_code` needs no compiling: everything is kept, or nothing is compiled."""
    if IS_INTERPRETED:
        return True
    folder = cached_sources()
    return folder is not None and (folder / "complete").exists()


def is_loaded() -> bool:
    """Whether this process has made use of compiled code before: loading it takes no time then."""
    return machine_code.cache_info().currsize > 0 and is_warm()


LOAD_S = 1.0
"""Processor seconds that loading takes. A search that is over sooner does better interpreted."""
USEFUL_S = 1.5
"""Seconds that are left from which on loading it leaves time for many roundings."""
MEDIUM, LARGE = 1500, 2500
"""Touches from which on a pass over a program, interpreted, takes half as long as loading; and from
which on it takes as long."""


def code_at_hand(program: Program, seconds: float) -> Code:
    """What a search of so many seconds begins with: compiled code where it is loaded, or is kept
    and loading it now takes no longer than an interpreted pass first; else the interpreted one."""
    least = MEDIUM if seconds >= USEFUL_S else LARGE
    is_due = is_loaded() or (len(program.touches) >= least and is_warm())
    return machine_code() if is_due else interpreted


def note_warm() -> None:
    """Remember that everything has been compiled and kept, where we may write that down."""
    folder = _folder()
    if folder is not None and folder.is_dir() and not IS_INTERPRETED:
        with suppress(OSError):
            (folder / "complete").touch()

"""`compiled`: Numba's decorator for the inner loop, and where what it compiled is kept.

The same functions run interpreted when the environment says `NUMBA_DISABLE_JIT=1`: one source is
both the fast code and its readable reference.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.binding
import numba
from numba import njit
from numba.core import config

from engine.folders import cache_folder

Function = TypeVar("Function", bound=Callable[..., Any])

_SOURCES = sorted(Path(__file__).parent.glob("*.py"))


def _folder() -> Path | None:
    """A folder per state of these sources, of Numba, its optimisation, the processor; or None.

    Numba looks only at the file of a function when it decides whether what it kept is stale, not at
    the files of the functions that it calls. Of a file it looks at path, time and size; so do we.
    """
    stats = [(str(path), path.stat()) for path in _SOURCES]
    words = [f"{path} {stat.st_mtime_ns} {stat.st_size}" for path, stat in stats]
    words += [numba.__version__, sys.version, llvmlite.binding.get_host_cpu_name()]
    words.append(f"NUMBA_OPT={config.OPT}")
    top = cache_folder("numba")
    return None if top is None else top / hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def _is_kept() -> bool:
    """Whether the folder can be written; else everything is compiled anew in each process."""
    if FOLDER is None:
        return False
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(FOLDER, os.W_OK)


FOLDER = _folder()
IS_KEPT = _is_kept()
IS_INTERPRETED = bool(config.DISABLE_JIT)
if IS_KEPT:
    config.CACHE_DIR = str(FOLDER)


def compiled(function: Function) -> Function:
    """The function compiled at its first call, or as it stands where compiling is switched off."""
    return cast(Function, njit(cache=IS_KEPT)(function))


def is_warm() -> bool:
    """Whether a call needs no compiling: everything is in the cache, or runs interpreted."""
    return IS_INTERPRETED or (FOLDER is not None and (FOLDER / "complete").exists())


def note_warm() -> None:
    """Remember that everything has been compiled and kept."""
    if FOLDER is not None and IS_KEPT and not IS_INTERPRETED:
        (FOLDER / "complete").touch()

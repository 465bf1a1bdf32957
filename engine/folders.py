"""Folders that the user did not name: caches, and temporary ones, which are swept after a kill."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

VARIABLE = "MALLOCMUZERO_CACHE"
"""Environment variable that names the folder of all caches; empty: cache nothing."""

_TEMPORARY = ".mallocmuzero-"
_YOUNG_S = 60.0
"""What is younger may belong to a process that has not locked it yet."""


def cache_folder(kind: str) -> Path | None:
    """The user's folder for one kind of cached files; it may not exist yet.

    None where nothing is to be cached: the variable is empty, or the user has no home.
    """
    top = os.environ.get(VARIABLE)
    if top is None:
        try:
            top = platformdirs.user_cache_dir("mallocmuzero", appauthor=False)
        except RuntimeError:
            top = "~"
        if top.startswith("~"):  # HOME is not set, and the system does not know the user
            return None
    return Path(top).absolute() / kind if top else None


@contextmanager
def temporary_folder(kind: str, within: Path | None = None) -> Iterator[Path]:
    """A new folder, removed at the end; one whose process was killed is removed by the next.

    `within`: the folder to make it in, by default the system's for temporary files.
    """
    top = Path(tempfile.gettempdir()) if within is None else within
    sweep(top, f"{_TEMPORARY}{kind}-*")
    with tempfile.TemporaryDirectory(prefix=f"{_TEMPORARY}{kind}-", dir=top) as name:
        held = os.open(name, os.O_RDONLY)
        try:
            lock(held)
            yield Path(name)
        finally:
            os.close(held)


def lock(descriptor: int) -> bool:
    """Lock a file or folder for as long as its descriptor is open; False if another holds it.

    The lock ends with the process, however that dies. Without locks on this file system, False.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Hold this folder for work that nobody waits for; False if another process or thread does.

    Without locks on this file system everybody holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        is_anothers = False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            is_anothers = isinstance(error, BlockingIOError)
        yield not is_anothers
    finally:
        os.close(descriptor)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread holds this folder, and hold it.

    For what reads a file, adds to it and writes it. Without locks on this file system nobody waits.
    """
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def discard(folders: Iterable[Path], within: Path) -> None:
    """Remove folders that others read: each is gone at once, so that nobody finds a half of it.

    `within`: where they are while they are removed, on the same disk; what a killed process has
    left there goes too. What cannot be moved stays.
    """
    with suppress(OSError), temporary_folder("old", within) as aside:
        for number, folder in enumerate(folders):
            with suppress(OSError):
                folder.rename(aside / str(number))


def sweep(folder: Path, pattern: str) -> None:
    """Remove the user's own files and folders of this pattern that no living process has locked."""
    for path in folder.glob(pattern):
        try:
            if not _is_abandoned(path):
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        except OSError:
            continue


def _is_abandoned(path: Path) -> bool:
    about = path.lstat()
    if about.st_uid != os.getuid() or time.time() - about.st_mtime < _YOUNG_S:
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return lock(descriptor)
    finally:
        os.close(descriptor)

"""Which files are touched meanwhile, by Python's audit events."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READABLE = tuple(
    Path(place).resolve()
    for place in (ROOT, *set(sysconfig.get_paths().values()), sys.base_prefix, sys.prefix, "/dev")
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod")
IN_A_FOLDER = ("os.remove", "os.rmdir", "os.mkdir")
"""Events whose last argument may be an open folder, in which the name is meant."""
_strays: list[str] | None = None


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _strays is None or not (event == "open" or event in CHANGING):
        return
    if isinstance(arguments[0], str | bytes | os.PathLike):
        folder = arguments[-1] if event in IN_A_FOLDER else -1
        base = Path(f"/proc/self/fd/{folder}").readlink() if folder != -1 else Path()
        path = Path(base, os.fsdecode(arguments[0])).absolute()
        flags = arguments[2] if event == "open" else WRITING
        is_written = bool(isinstance(flags, int) and flags & WRITING)
        if not may_touch(path, is_written):
            _strays.append(f"{event} {path}")


def may_touch(path: Path, is_written: bool) -> bool:
    """Whether a file lies where it may be written, or else read: folders of our own."""
    path = Path(os.path.normpath(path))
    temporary = Path(tempfile.gettempdir()).resolve()
    if is_written:
        return temporary in path.parents or str(path) == os.devnull or "__pycache__" in path.parts
    return any(place in path.parents for place in (*READABLE, temporary))


sys.addaudithook(_hook)


@contextmanager
def strays() -> Iterator[list[str]]:
    """Collects what is touched outside of these folders; a hook cannot be taken away again."""
    global _strays
    _strays = found = []
    try:
        yield found
    finally:
        _strays = None

"""Files written whole or not at all, also by two at once, and gzip read to its end."""

from __future__ import annotations

import errno
import gzip
import json
import os
import pwd
import random
import re
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ProgramFormatError, UsageError
from engine.files import (
    can_only_be_read,
    is_file,
    json_of,
    json_text,
    read_bytes,
    read_json,
    refuse_unwritable,
    refuse_unwritable_folder,
    write_bytes,
)
from engine.folders import VARIABLE, cache_folder, held, temporary_folder


def names(folder: Path) -> list[str]:
    """What lies in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


# Writing


def test_of_many_writers_at_once_each_write_is_whole_and_none_fails(tmp_path: Path) -> None:
    path, failed = tmp_path / "out", []
    texts = [bytes([65 + n]) * 100_000 for n in range(4)]

    def write(text: bytes) -> None:
        for _ in range(25):
            try:
                write_bytes(path, text)
            except ProgramFormatError as error:
                failed.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            assert path.read_bytes() in texts
    assert not failed
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_bytes(tmp_path / "out", b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o666 & ~umask


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.touch()
    path.chmod(0o640)
    write_bytes(path, b"1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("is_there", [True, False])
def test_links_are_followed(tmp_path: Path, is_there: bool) -> None:
    (tmp_path / "inner").mkdir()
    target, link = tmp_path / "inner" / "target", tmp_path / "link"
    if is_there:
        target.write_bytes(b"old")
    link.symlink_to(target)
    refuse_unwritable(link)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert (names(tmp_path), names(target.parent)) == (["inner", "link"], ["target"])


def test_a_pipe_stays_a_pipe_and_takes_the_bytes(tmp_path: Path) -> None:
    path, heard = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: heard.append(path.read_bytes()))
    reader.start()
    refuse_unwritable(path)
    write_bytes(path, b"plan")
    reader.join()
    assert heard == [b"plan"]
    assert path.is_fifo()


def test_a_terminal_stays_a_device(tmp_path: Path) -> None:
    """Reached through a link, so that nothing of the machine's is lost where it is replaced."""
    ours, theirs = os.openpty()
    device = tmp_path / "device"
    device.symlink_to(os.ttyname(theirs))
    write_bytes(device, b"plan")
    assert os.read(ours, 100) == b"plan"
    assert device.is_symlink() and device.is_char_device()
    os.close(ours)
    os.close(theirs)


def test_what_a_killed_writer_left_is_swept_and_what_a_living_one_writes_is_not(
    tmp_path: Path,
) -> None:
    code = (
        "import engine.files as f, os, pathlib, time\n"
        "f.os.fsync = lambda _: (print(flush=True), time.sleep(600))\n"
        f"f.write_bytes(pathlib.Path({str(tmp_path)!r}) / 'theirs', b'1')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    (part,) = tmp_path.iterdir()
    long_ago = time.time() - 3600
    os.utime(part, (long_ago, long_ago))
    write_bytes(tmp_path / "ours", b"2")
    assert names(tmp_path) == sorted([part.name, "ours"])
    child.send_signal(signal.SIGKILL)
    child.communicate()
    write_bytes(tmp_path / "ours", b"3")
    assert names(tmp_path) == ["ours"]


# Before long work


def full_disk(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def test_a_file_that_can_be_written_passes_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    for name in ("old", "new"):
        refuse_unwritable(tmp_path / name)
    refuse_unwritable(Path("/dev/null"))
    refuse_unwritable_folder(tmp_path / "run" / "weights")
    assert names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"


def test_a_file_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="its folder does not exist"):
        refuse_unwritable(tmp_path / "missing" / "out")
    with pytest.raises(UsageError, match="folder"):
        refuse_unwritable(tmp_path)
    with pytest.raises(UsageError, match="file"):
        refuse_unwritable_folder(tmp_path / "file" / "weights")
    monkeypatch.setattr(os, "fsync", full_disk)
    for refuse in (refuse_unwritable, refuse_unwritable_folder):
        with pytest.raises(UsageError, match=r"out: .*No space left"):
            refuse(tmp_path / "out")
    assert names(tmp_path) == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(ProgramFormatError, match="File too large"):
            write_bytes(path, bytes(2000))
        with pytest.raises(UsageError, match="File too large"):
            refuse_unwritable(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["out"]


def test_a_folder_is_tried_where_its_files_will_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is opened tells it: also of the working folder and of the top, which have no name."""
    tried, opened = list[Path](), os.open

    def told(path: Path, *given: Any, **more: Any) -> int:
        tried.append(Path(path).parent)
        raise PermissionError(13, "Permission denied")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "open", told)
    for folder in (".", "", "/", tmp_path, tmp_path / "new" / "weights"):
        with pytest.raises(UsageError, match=r"no file can be written in .*Permission denied"):
            refuse_unwritable_folder(Path(folder))
    monkeypatch.setattr(os, "open", opened)
    assert tried == [tmp_path, tmp_path, Path("/"), tmp_path, tmp_path]


@pytest.mark.parametrize("name", ["loop", "loop/weights", "nowhere", "x" * 300])
def test_a_folder_that_cannot_be_made_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing" / "folder")
    with pytest.raises(UsageError, match="name another folder"):
        refuse_unwritable_folder(tmp_path / name)
    assert not can_only_be_read(tmp_path / name)


def refusing(problem: int) -> Callable[[Path, Path], Path]:
    """A rename that the system refuses."""

    def refuse(old: Path, new: Path) -> Path:
        raise OSError(problem, os.strerror(problem))

    return refuse


@pytest.mark.parametrize("problem", [errno.EBUSY, errno.EPERM])
def test_a_file_that_cannot_be_replaced_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: int
) -> None:
    """One that is mounted into a container, or another user's in a folder for all."""
    path = tmp_path / "out"
    path.write_bytes(b"the old one is longer")
    monkeypatch.setattr(Path, "replace", refusing(problem))
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


def test_what_can_neither_replace_a_file_nor_be_written_into_it_is_kept_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", refusing(errno.EBUSY))
    opened = os.open

    def locked(file: Path, flags: int, *given: Any) -> int:
        if Path(file) == path:
            raise OSError(errno.ETXTBSY, "Text file busy")
        return opened(file, flags, *given)

    monkeypatch.setattr(os, "open", locked)
    with pytest.raises(ProgramFormatError, match=r"out: .*\(Text file busy; .* is in ") as caught:
        write_bytes(path, b"new")
    (kept,) = [name for name in names(tmp_path) if name != "out"]
    assert str(tmp_path / kept) in str(caught.value)
    assert ((tmp_path / kept).read_bytes(), path.read_bytes()) == (b"new", b"old")
    monkeypatch.undo()
    long_ago = time.time() - 3600
    os.utime(tmp_path / kept, (long_ago, long_ago))
    write_bytes(tmp_path / "other", b"")
    assert (tmp_path / kept).exists()


# Reading


@pytest.mark.parametrize("padding", [b"", bytes(500)])
def test_all_members_of_a_gzip_file_are_read(tmp_path: Path, padding: bytes) -> None:
    path = tmp_path / "two.gz"
    long = random.Random(0).randbytes(10_000)
    path.write_bytes(gzip.compress(b"one ") + gzip.compress(long) + gzip.compress(b"two") + padding)
    assert read_bytes(path) == b"one " + long + b"two"


@pytest.mark.parametrize(
    ("tail", "problem"),
    [(b"garbage", "not gzip"), (gzip.compress(b"two", mtime=0)[:-3], "truncated")],
)
def test_what_follows_gzip_data_must_be_whole_gzip(
    tmp_path: Path, tail: bytes, problem: str
) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b"one") + tail)
    with pytest.raises(ProgramFormatError, match=problem):
        read_bytes(path)


def test_members_share_one_limit(tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(bytes(600)) * 2)
    assert len(read_bytes(path, 1200)) == 1200
    with pytest.raises(ProgramFormatError, match="larger than"):
        read_bytes(path, 1199)


def test_a_file_without_end_is_read_to_the_limit() -> None:
    with pytest.raises(ProgramFormatError, match="larger than"):
        read_bytes(Path("/dev/zero"), 1000)


# Folders


def test_a_temporary_folder_that_outlived_its_process_is_swept_by_the_next(
    tmp_path: Path,
) -> None:
    with temporary_folder("work", tmp_path) as dead, temporary_folder("work", tmp_path) as living:
        kept = living.name
        (dead / "file").touch()
        lost = dead.rename(dead.with_name(dead.name + "-killed"))
        long_ago = time.time() - 3600
        for folder in (lost, living):
            os.utime(folder, (long_ago, long_ago))
        # The lock of this one ends, as with its process.
        copy = tmp_path / (lost.name + "-2")
        copy.mkdir()
        os.utime(copy, (long_ago, long_ago))
        with temporary_folder("work", tmp_path) as mine:
            assert names(tmp_path) == sorted([kept, lost.name, mine.name])
        lost.rename(dead)
    assert names(tmp_path) == []


def test_a_folder_is_held_by_one_until_that_ends_however_it_does(tmp_path: Path) -> None:
    code = (
        "import pathlib, time\n"
        "from engine.folders import held\n"
        f"with held(pathlib.Path({str(tmp_path)!r})) as is_ours:\n"
        "    print(is_ours, flush=True)\n"
        "    time.sleep(600)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"True\n"
    with held(tmp_path) as is_ours:
        assert not is_ours
    child.send_signal(signal.SIGKILL)
    child.communicate()
    for _ in range(2):
        with held(tmp_path) as is_ours:
            assert is_ours


def test_without_locks_on_a_file_system_nobody_is_kept_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with held(tmp_path) as is_ours:
        assert is_ours


def test_caches_lie_under_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert cache_folder("jax") == tmp_path / "jax"
    monkeypatch.setenv(VARIABLE, "")
    assert cache_folder("jax") is None
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("jax") == tmp_path / "mallocmuzero" / "jax"


def test_a_user_without_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (VARIABLE, "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert cache_folder("jax") is None


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_json_has_not_is_neither_read_nor_written(tmp_path: Path, number: str) -> None:
    path = tmp_path / "notes.json"
    path.write_text(f'{{"loss": {number}}}')
    with pytest.raises(ProgramFormatError, match=f"{number} is no number of JSON"):
        read_json(path)
    for odd in (float(number), object()):
        with pytest.raises(ProgramFormatError, match="notes: cannot be written as JSON"):
            json_text({"loss": odd}, "notes")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"is_fast": [], "notes": {}, "is_fast": [1]}', "two entries 'is_fast'"),
        ('{"loss": 1e999}', "1e999 is too large a number"),
        ("[" + "[]," * 200 + "[]]", "more than 0 MiB"),
    ],
)
def test_json_that_says_two_things_or_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    monkeypatch.setattr("engine.files.MAX_JSON", 500)
    path = tmp_path / "notes.json"
    path.write_text(text)
    with pytest.raises(ProgramFormatError, match=re.escape(problem)):
        read_json(path)


def test_no_json_is_written_that_no_command_would_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.files.MAX_JSON", 500)
    assert json_text(["a" * 496], "notes")
    with pytest.raises(ProgramFormatError, match=r"notes: cannot be written .*more than 0 MiB"):
        json_text(["a" * 497], "notes")


@pytest.mark.parametrize(
    "data", [rb'{"name": "a\ud800"}', rb'["\udc00\uD800"]', rb'{"\uDFFF": 1}', b'["\xed\xa0\x80"]']
)
def test_half_a_character_is_refused_which_no_page_could_show(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(data)
    with pytest.raises(ProgramFormatError, match=r"notes.json: not JSON \(") as caught:
        read_json(path)
    str(caught.value).encode()
    with pytest.raises(ProgramFormatError, match=r"notes: cannot be written .*half a character"):
        json_text(json.loads(data.decode("utf-8", "surrogatepass")), "notes")
    with pytest.raises(ValueError, match="is half a character"):
        json_of(data.decode(errors="surrogatepass"))


def test_a_whole_character_may_be_written_as_two_halves(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(rb'["\ud83d\ude00", "\\ud800", "\u00e9"]')
    assert read_json(path) == ["\U0001f600", r"\ud800", "\xe9"]


def test_what_no_file_can_be_called_is_none(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    assert is_file(tmp_path / "there")
    assert not is_file(tmp_path)
    assert not is_file(tmp_path / ("x" * 300))

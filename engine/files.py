"""Files read with limits, whoever wrote them, and written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import re
import secrets
import stat
import sys
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from engine.errors import ProgramFormatError, UsageError
from engine.folders import lock, sweep

_T = TypeVar("_T")
_MOST = sys.float_info.max
Finite = Annotated[float, msgspec.Meta(ge=-_MOST, le=_MOST)]
"""A float that is neither infinite nor NaN, for `typed`."""

MAX_JSON = 64 * 2**20
"""Most bytes of JSON text that are read; the largest program that ships has 1.5 MiB of it."""
MAX_BYTES = 256 * 2**20
"""Most bytes of a file that are read, unpacked."""
MAX_DIGITS = 40
"""Most digits of a whole number in a file."""

_GZIP = b"\x1f\x8b"
_ZEROS = re.compile(rb"\0*")
_PIECE = 2**12
"""Bytes that are unpacked at a time: what a member does not need of them is copied."""
_PART = ".mallocmuzero-{}.part"
_IN_PLACE = (errno.EBUSY, errno.EPERM)
"""Why a file cannot be replaced that can perhaps be written: it is mounted into a container, or is
another user's in a folder where each may only rename his own."""
_PROBE = b"\0" * 2**16
"""What is written to see whether a folder can take a file."""


LARGEST = 2**53
Whole = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
"""A whole number that every reader of JSON keeps as it is, for `typed`."""


def can_be_a_path(value: object) -> bool:
    """Whether a file can have this path: it has no NUL, and the system can encode it."""
    if not isinstance(value, (str, os.PathLike)):
        return False
    try:
        return b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def read_bytes(path: Path, limit: int = MAX_BYTES, advice: str = "") -> bytes:
    """The bytes of a file, unpacked if gzipped.

    Raises ProgramFormatError, also past `limit`, with `advice` on what to do then.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ProgramFormatError(f"{path}: larger than {_sized(limit)}{advice}")
        if data.startswith(_GZIP):
            data = unpacked(data, limit)
    except OSError as error:
        raise ProgramFormatError(f"{path}: cannot be read ({error.strerror})") from error
    except (EOFError, zlib.error) as error:
        raise ProgramFormatError(f"{path}: cannot be read ({error})") from error
    if len(data) > limit:
        raise ProgramFormatError(f"{path}: larger than {_sized(limit)} unpacked{advice}")
    return data


def _sized(limit: int) -> str:
    return f"{limit >> 20} MiB" if limit >= 2**20 else f"{limit >> 10} KiB"


def unpacked(data: bytes, limit: int) -> bytes:
    """All members of a gzip file; zeros after the last one pad it.

    No more than a byte beyond `limit` is unpacked. Raises EOFError, zlib.error.
    """
    whole, view, at = bytearray(), memoryview(data), 0
    while at < len(data):
        if not data.startswith(_GZIP, at):
            rest = len(data) - at
            raise EOFError(f"{rest} bytes that are not gzip follow the compressed data")
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not member.eof:
            if at == len(data):
                raise EOFError("the compressed data are truncated")
            piece = view[at : at + _PIECE]
            whole += member.decompress(piece, limit + 1 - len(whole))
            if len(whole) > limit:
                return bytes(whole)
            at += len(piece) - len(member.unused_data)
        padding = _ZEROS.match(data, at)
        assert padding is not None
        at = padding.end()
    return bytes(whole)


def foreign(data: bytes) -> str:
    """What a file is, and what to do with it, if it is of a kind that is often brought by mistake.

    Empty if it is of no such kind; gzip is not, since it is unpacked.
    """
    for head, kind in _FOREIGN_HEADS.items():
        if data.startswith(head):
            return kind
    if _EXPORTED.search(data):
        return EXPORTED
    return next((kind for start, kind in _FOREIGN_TEXTS if start.search(data[:_HEAD_BYTES])), "")


EXPORTED = "a program that jax.export serialised: capture it with --stablehlo"
_HEAD_BYTES = 2**16
_MLIR = "MLIR, a program before compilation: dump what is compiled, or capture what is exported"
_FOREIGN_HEADS: Mapping[bytes, str] = {
    b"PK\x03\x04": "a zip archive: unpack it",
    b"\xfd7zXZ\x00": "xz data: unpack it",
    b"BZh": "bzip2 data: unpack it",
    b"\x28\xb5\x2f\xfd": "zstd data: unpack it",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
    b"ML\xefR": _MLIR,
}
_FOREIGN_TEXTS = (
    (re.compile(rb"^\s*(module\b[^\n]*\{|func\.func |#loc)", re.M), _MLIR),
    (re.compile(rb"^\s*HloModule\b", re.M), "HLO, a compiled program: import it with --slow"),
)
_EXPORTED = re.compile(rb"ML\xefR.{0,16}StableHLO_v", re.S)


def json_of(text: str | bytes) -> Any:
    """JSON data that may come from anybody. Raises ValueError, RecursionError where it is nested
    too deep.

    Whole numbers that no float can hold are refused: sums and comparisons with them raise. So are
    NaN and infinities, which are no JSON, two entries of one name, half a surrogate pair, which no
    UTF-8 can hold, and more than `MAX_JSON` bytes: in memory they may take 25 times as many.
    """
    if len(text) > MAX_JSON:
        raise ValueError(_TOO_LARGE.format(MAX_JSON >> 20))
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text))
    body = json.loads(
        text,
        parse_int=_whole,
        parse_float=_finite,
        parse_constant=_refuse_constant,
        object_pairs_hook=_object,
    )
    if _MAY_BE_HALF.search(text):
        _refuse_halves(body)
    return body


_TOO_LARGE = "more than {} MiB"
_MAY_BE_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")


def _refuse_halves(body: Any) -> None:
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise ValueError(f"{half} is half a character") from error


def json_text(body: Any, where: str, **layout: Any) -> str:
    """Data as JSON that every reader takes; `layout`: options of `json.dumps`.

    Raises ProgramFormatError, which names `where`, for what JSON has not, such as NaN, and for what
    no command would read again: half a surrogate pair, and more than `MAX_JSON` bytes.
    """
    try:
        text = json.dumps(body, allow_nan=False, **layout)
        if len(text) > MAX_JSON:
            raise ValueError(_TOO_LARGE.format(MAX_JSON >> 20))
        if _MAY_BE_HALF.search(text):
            _refuse_halves(body)
    except (ValueError, TypeError) as error:
        raise ProgramFormatError(f"{where}: cannot be written as JSON ({error!s:.100})") from error
    return text


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is too large a number")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"two entries {next(n for n in names if names.count(n) > 1)!r:.60}")
    return body


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)


def read_json(path: Path) -> Any:
    """JSON data of a (gzipped) file. Raises ProgramFormatError."""
    data = read_bytes(path)
    try:
        return json_of(data)
    except (ValueError, RecursionError) as error:
        kind = foreign(data)
        problem = f"but {kind}" if kind else f"({error!s:.100})"
        raise ProgramFormatError(f"{path}: not JSON {problem}") from error


def typed(body: Any, kind: type[_T], but: Collection[str] = ()) -> _T:
    """JSON data as a value of `kind`: a dataclass, a `msgspec.Struct`, or what these are made of.

    A dataclass is to have no other keys than its fields, `but` those named, which are passed over.
    Raises ValueError, which says which field does not fit, and how.

    >>> typed([1, 2, "x"], list[int])
    Traceback (most recent call last):
    ValueError: [2]: expected int, got str
    """
    if is_dataclass(kind) and isinstance(body, dict):
        body = {key: value for key, value in body.items() if key not in but}
        if unknown := set(body) - {field.name for field in fields(kind)}:
            raise ValueError(spelt_out(f"unknown field {min(unknown):.40}"))
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).replace("`", "").partition(" - at ")
        place = place.replace("$.", "").removeprefix("$")
        problem = problem[:1].lower() + problem[1:]
        if repr(_MOST) in problem:
            problem = "the number is not finite"
        raise ValueError(spelt_out(f"{place}: {problem}" if place else problem)) from error


HEADER = ("format", "version")
"""The keys of every file of ours that say what it is."""


def require_header(body: Any, kind: str, version: int, where: str) -> None:
    """Check the format name and version that every file of ours begins with."""
    if not isinstance(body, dict) or body.get("format") != kind:
        raise ProgramFormatError(f"{where}: not a {kind} file (its 'format' says otherwise)")
    if body.get("version") != version:
        raise ProgramFormatError(
            f"{where}: {kind} version {body.get('version')!r} cannot be read, only {version};"
            " capture or import the program again with this release"
        )


State = tuple[tuple[str, int, int], ...]


def spelt_out(text: str) -> str:
    """A line with its control characters spelt out: a name in a file may hold any.

    As they are, they could clear the terminal, or show another text than the one that is there. The
    name of a file may hold bytes that are no text, which no JSON can.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def as_text(body: Any) -> Any:
    """JSON data with what is no character spelt out in its texts: files may have such names."""
    if isinstance(body, str):
        return body.encode(errors="backslashreplace").decode()
    if isinstance(body, dict):
        return {as_text(key): as_text(value) for key, value in body.items()}
    if isinstance(body, list | tuple):
        return [as_text(entry) for entry in body]
    return body


def is_file(path: Path) -> bool:
    """Whether there is a file of that name; False too for what no file can be called."""
    try:
        return path.is_file()
    except OSError:  # longer than a name may be
        return False


def holds_something(path: Path) -> bool:
    """Whether there is something in a file; a device or a pipe only takes what is written."""
    return is_file(path) and path.stat().st_size > 0


def state_of(*paths: Path) -> State:
    """What tells files from what they were earlier: path, time of change in ns, and size.

    -1 and -1 where there is no file.
    """
    return tuple((str(path), *_about(path)) for path in paths)


def _about(path: Path) -> tuple[int, int]:
    try:
        about = path.stat()
    except OSError:
        return -1, -1
    return about.st_mtime_ns, about.st_size


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, gzipped (without a time stamp) if its name says so.

    A link's target is written, with its owner and permissions; devices and pipes take the bytes. A
    file that may be written and not replaced (`_IN_PLACE`) is written over: who reads it meanwhile,
    or after a kill, finds a part. Raises ProgramFormatError for a path that cannot be written.
    """
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        old = _stat(path)
        if old is None or stat.S_ISREG(old.st_mode):
            _replace(path.resolve(), data, old)
        else:
            path.write_bytes(data)
    except OSError as error:
        raise ProgramFormatError(f"{path}: cannot be written ({error.strerror})") from error


def refuse_unwritable(path: Path) -> None:
    """Raises UsageError if a file could not be written, before the work whose result it is to hold.

    A file system that is full is noticed too.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{path}: its folder does not exist; make it first")
    try:
        old = _stat(path)
        if old is None or stat.S_ISREG(old.st_mode):
            _refuse_read_only(path, old)
            _part_in(path.resolve().parent, _PROBE).unlink()
        elif stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(0, "it is a folder")
        elif not os.access(path, os.W_OK):
            raise PermissionError(0, "Permission denied")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); name another") from error


def refuse_unwritable_folder(folder: Path) -> None:
    """As `refuse_unwritable`, for a folder of results that is made when there are some."""
    top = folder.absolute()
    try:
        while not _lies(top):
            top = top.parent
        _part_in(top, _PROBE).unlink()
    except OSError as error:
        problem = f"no file can be written in {top} ({error.strerror})"
        raise UsageError(f"{folder}: {problem}; name another folder") from error


def can_only_be_read(folder: Path) -> bool:
    """Whether a folder is there whose files may be read, and none may be written.

    What holds only copies of results, such as a cache that others share, is of use all the same.
    """
    return (
        os.access(folder, os.R_OK)
        and os.access(folder, os.X_OK)
        and folder.is_dir()
        and not os.access(folder, os.W_OK)
    )


def _lies(path: Path) -> bool:
    """Whether something has this path, be it a link that leads nowhere. Raises OSError."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _stat(path: Path) -> os.stat_result | None:
    """About the file, or what a link leads to; None if there is none yet."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _replace(path: Path, data: bytes, old: os.stat_result | None) -> None:
    """Put a new file in the place of the `old` one. Raises OSError, and leaves the old one; where
    that was begun to be written over, what it was to hold stays in the file that the error names.
    """
    _refuse_read_only(path, old)
    sweep(path.parent, _PART.format("*"))
    part = _part_in(path.parent, data)
    try:
        if old is not None:
            _take_over(part, old)
        try:
            part.replace(path)
        except OSError as error:
            if old is None or error.errno not in _IN_PLACE:
                raise
            _write_over(path, data, part)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _write_over(path: Path, data: bytes, part: Path) -> None:
    """Write into a file; until it is whole, `part`, of the same bytes, stays beside it.

    Raises OSError, which names that.
    """
    kept = part.rename(part.with_suffix(""))  # A name that is not swept.
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        problem = f"{error.strerror}; what it was to hold is in {kept}"
        raise OSError(error.errno, problem) from error
    kept.unlink()


def _refuse_read_only(path: Path, old: os.stat_result | None) -> None:
    """Raises PermissionError for an `old` file that may not be written, as all programs do."""
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(0, "Permission denied")


def _take_over(part: Path, old: os.stat_result) -> None:
    """Give a file the owner and permissions of the one that it replaces, as far as we may."""
    new = part.stat()
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.chown(part, old.st_uid, old.st_gid)
    part.chmod(stat.S_IMODE(old.st_mode))


def _part_in(folder: Path, data: bytes) -> Path:
    """A new file in `folder`, with permissions by the umask, whose bytes are on disk."""
    part = folder / _PART.format(secrets.token_hex(8))
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            lock(descriptor)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part

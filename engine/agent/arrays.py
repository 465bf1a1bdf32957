"""Named arrays as the bytes of an `.npz` file; nothing is ever pickled or unpickled."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Mapping
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def pack(arrays: Mapping[str, NDArray[Any]], is_small: bool = True) -> bytes:
    """The bytes of a file with these arrays; `is_small`: compressed, which takes longer."""
    buffer = io.BytesIO()
    (np.savez_compressed if is_small else np.savez)(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack(data: bytes, limit: int | None = None) -> Arrays:
    """The arrays of a file. Raises ValueError if it is damaged, or unpacks to more than `limit`."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as entries:
            ways = {entry.compress_type for entry in entries.infolist()}
            if not ways <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise ValueError("is compressed in a way that is not written here")
            size = sum(entry.file_size for entry in entries.infolist())
            if limit is not None and size > limit:
                raise ValueError(f"holds {size} bytes, more than {limit}")
            return {
                entry.filename.removesuffix(".npy"): _array(entries, entry)
                for entry in entries.infolist()
            }
    # The last is what `zipfile` says of an encrypted entry.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(str(error)) from error


def _array(entries: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """The array of an entry; its memory is taken once the entry is known to be as long as that."""
    with entries.open(entry) as file:
        size = _size(file)
        if file.tell() + size != entry.file_size:
            raise ValueError(f"{entry.filename}: is not as long as its shape says")
    with entries.open(entry) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _size(file: IO[bytes]) -> int:
    """Bytes of the array whose header is read. Raises ValueError, whatever is wrong with it."""
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    reader = readers.get(np.lib.format.read_magic(file))
    if reader is None:
        raise ValueError("is of a version of the format that is not written here")
    try:
        shape, _, dtype = reader(file)
    # NumPy parses the header as Python, which may raise any of these.
    except (SyntaxError, TokenError, TypeError, MemoryError, RecursionError, LookupError) as error:
        raise ValueError(f"has no header that can be read ({type(error).__name__})") from error
    if dtype.hasobject or not dtype.itemsize:
        raise ValueError("holds objects, or nothing")
    return math.prod(shape) * dtype.itemsize

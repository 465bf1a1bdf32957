"""Named arrays as the bytes of an `.npz` file; nothing is ever pickled or unpickled."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

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
            size = sum(entry.file_size for entry in entries.infolist())
        if limit is not None and size > limit:
            raise ValueError(f"holds {size} bytes, more than {limit}")
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    # The last is what `zipfile` says of an encrypted entry.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(str(error)) from error

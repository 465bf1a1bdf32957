"""Child process of the HLO import: a dump on stdin, serialised HloModuleProto on stdout.

`python -m engine.program.hlo.child FORM [SECONDS]`, of the processor's time.

XLA's parser is C++ and may abort, overflow the stack, or eat memory on hostile input; here it only
takes this process with it. `REFUSED` with one line on stderr: XLA's parser refused the dump.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from typing import Any

from engine.errors import in_one_line
from engine.processes import end_with_parent

TEXT, MESSAGE = "text", "message"
"""The forms of a dump: HLO text, or a serialised HloModuleProto or HloProto."""
REFUSED = 3

MEMORY_BYTES = 4 * 2**30
CPU_S = 60
MAX_MODULE_BYTES = 256 * 2**20


def main(form: str, seconds: int = CPU_S) -> int:
    """Parse stdin under limits; returns the exit code."""
    end_with_parent()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    data = sys.stdin.buffer.read()
    try:
        parsed = _of_text(data) if form == TEXT else _of_message(data)
        module = parsed.as_serialized_hlo_module_proto()
    except (ValueError, RuntimeError, MemoryError) as error:
        return _refuse(in_one_line(str(error)) or type(error).__name__)
    if len(module) > MAX_MODULE_BYTES:
        return _refuse(f"it unpacks to more than {MAX_MODULE_BYTES >> 20} MiB")
    sys.stdout.buffer.write(module)
    return 0


def _of_text(data: bytes) -> Any:
    from jaxlib import _hlo  # type: ignore[attr-defined]

    return _hlo.hlo_module_from_text(data.decode("utf-8", errors="replace"))


def _of_message(data: bytes) -> Any:
    """The module that the data are, or that is their first field, as in HloProto."""
    from jaxlib import _hlo  # type: ignore[attr-defined]

    for message in (*_first_field(data), data):
        try:
            return _hlo.HloModule.from_serialized_hlo_module_proto(message)
        except RuntimeError as error:
            problem = error
    raise ValueError(f"no HLO text, and as a message: {problem}")


def _first_field(data: bytes) -> Iterator[bytes]:
    """The bytes of field 1 of a protobuf message, if that comes first."""
    length = 0
    for place, byte in enumerate(data[1:6]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            start = place + 2
            if data[0] == 0x0A and start + length <= len(data):
                yield data[start : start + length]
            return


def _refuse(reason: str) -> int:
    sys.stderr.write(reason + "\n")
    return REFUSED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:3])))

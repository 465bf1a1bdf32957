"""Child process of the HLO import: HLO text on stdin, serialised HloModuleProto on stdout.

XLA's parser is C++ and may abort, overflow the stack, or eat memory on hostile text; here it only
takes this process with it. Exit 3 with one line on stderr: XLA's parser refused the text.
"""

from __future__ import annotations

import resource
import sys

MEMORY_BYTES = 4 * 2**30
CPU_SECONDS = 60
MAX_MODULE_BYTES = 256 * 2**20


def main() -> int:
    """Parse stdin under limits; returns the exit code."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from jaxlib import _hlo  # type: ignore[attr-defined]

    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    try:
        module = _hlo.hlo_module_from_text(text)
        data = module.as_serialized_hlo_module_proto()
    except (ValueError, RuntimeError, MemoryError) as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        return _refuse(first[0])
    if len(data) > MAX_MODULE_BYTES:
        return _refuse(f"it unpacks to more than {MAX_MODULE_BYTES >> 20} MiB")
    sys.stdout.buffer.write(data)
    return 0


def _refuse(reason: str) -> int:
    sys.stderr.write(reason[:300] + "\n")
    return 3


if __name__ == "__main__":
    sys.exit(main())

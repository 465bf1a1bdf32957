"""Child process of the HLO import: HLO text on stdin, serialised HloModuleProto on stdout.

XLA's parser is C++ and may abort, overflow the stack, or eat memory on hostile text; here it only
takes this process with it. Exit 3 with one line on stderr: XLA's parser refused the text.
"""

from __future__ import annotations

import resource
import sys

MEMORY_BYTES = 8 * 2**30
CPU_SECONDS = 60


def main() -> int:
    """Parse stdin under limits; returns the exit code."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from jaxlib import _hlo

    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    try:
        module = _hlo.hlo_module_from_text(text)
        data = module.as_serialized_hlo_module_proto()
    except Exception as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        sys.stderr.write(first[0][:300] + "\n")
        return 3
    sys.stdout.buffer.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())

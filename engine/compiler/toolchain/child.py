"""Child process of a compile: `python -m engine.compiler.toolchain.child FOLDER`.

`FOLDER` holds `request.json` and `stablehlo` (a program as `jax.export` serialises it, of unknown
origin). The child first writes `module` (the module's name, as it is part of its dumps' names),
then compiles, and writes `final.hlo`. Exit 3 with one line on stderr: the input is nothing that
could be compiled. Exit 4: the compiler refused it, and `refusal` has all that it said. The compiler
is C++ and may abort; here it only takes this process with it.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from pathlib import Path

from engine.compiler.toolchain import libtpu
from engine.compiler.toolchain.target import Target
from engine.errors import EngineError, in_one_line
from engine.processes import end_with_parent

NOT_COMPILABLE = 3
"""Exit code where the input is no program for a TPU, and a line on stderr says why."""

REFUSED = 4
"""Exit code where the compiler refused the program or an option."""

REFUSAL = "refusal"
"""The file with the compiler's whole message then."""

MEMORY_BYTES = 20 * 2**30

_WANTING = (MemoryError, OSError, ImportError)
"""No answer of the compiler's, but for want of something that there may be the next time."""


def main(folder: Path) -> int:
    """Compile the request in `folder` under limits; returns the exit code."""
    end_with_parent()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    request = json.loads((folder / "request.json").read_text())
    try:
        module = libtpu.exported_module((folder / "stablehlo").read_bytes())
    except _WANTING:
        raise
    except Exception as error:  # noqa: BLE001 - jax raises many kinds on bytes of unknown origin
        reason = in_one_line(str(error)) or type(error).__name__
        return _refuse(f"it is not a program that jax.export serialised: {reason}")
    problem = libtpu.module_problem(module)
    if problem:
        return _refuse(problem)
    _write(folder / "module", _in_file_names(module.name))
    target = Target(request["hardware"], request["topology"])
    options = {**request["options"], "xla_dump_to": str(folder / "dump")}
    try:
        hlo = libtpu.compile_module(module, target, options)
    except EngineError as error:
        return _refuse(str(error))
    except _WANTING:
        raise
    except Exception as error:  # noqa: BLE001 - a status of the compiler comes as one of many kinds
        _write(folder / REFUSAL, str(error))
        return REFUSED
    _write(folder / "final.hlo", hlo)
    return 0


def _in_file_names(name: str) -> str:
    """A module's name as XLA has it in the names of its dumps, each other byte as a `_`."""
    return re.sub(rb"[^A-Za-z0-9_.-]", b"_", name.encode()).decode()


def _write(path: Path, text: str) -> None:
    """Write a file, whole or not at all: the parent polls for its name."""
    part = path.with_suffix(".part")
    part.write_text(text)
    part.rename(path)


def _refuse(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return NOT_COMPILABLE


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

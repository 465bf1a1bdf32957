"""Compiles in a child process: to the end, or only as far as the compiler places its buffers.

An early stop takes seconds where a whole compile takes minutes: the memory pass runs before code
is generated, and its outcome is dumped at once. The placements equal those of the whole compile;
only the estimated cycles are missing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from engine.compiler.toolchain import libtpu
from engine.compiler.toolchain.child import REFUSED
from engine.compiler.toolchain.memory_log import Refusal, read_log
from engine.errors import CompileInterruptedError, CompilerError
from engine.folders import temporary_folder

FULL_TIMEOUT_S = 3600.0
EARLY_TIMEOUT_S = 900.0
MAX_SOURCE_BYTES = 64 * 2**20

CHILD = (sys.executable, "-m", "engine.compiler.toolchain.child")

_POLL_S = 0.05
_KILLED = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT)
_ROOT = Path(__file__).resolve().parents[3]
_CRASH_MARKS = ("Check failed", "F1", "Fatal", "Error:")

# At this level the memory pass logs its options and every refusal.
_LOG_ENVIRONMENT = {
    "TPU_VMODULE": "memory_space_assignment=3,algorithm=3",
    "TPU_STDERR_LOG_LEVEL": "0",
    "TPU_MIN_LOG_LEVEL": "0",
}

_PLACEMENT = "after_optimizations.txt"
_BUFFERS = "after_optimizations-buffer-assignment.txt"
_LIVE_RANGES = "after_optimizations-live-range.txt"
_AFTER_THEM = "after_optimizations-memory-usage-report.txt"
"""Dumps in the order in which they are written: the last one shows that the others are whole."""


@dataclass(frozen=True)
class Compiled:
    """The outputs of one compile. Texts are the compiler's own.

    `hlo`: the scheduled module, with `estimated_cycles` if the compile `is_full`. `buffers`,
    `live_ranges`: its dumps of where every value lies and how long. `refusals`: what the memory
    pass did not place, and why. `limits`: what it said of its memory (`max_size_in_bytes`,
    `alignment_in_bytes`, …).
    """

    hlo: str
    buffers: str
    live_ranges: str
    refusals: tuple[Refusal, ...] = ()
    limits: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    seconds: float = 0.0
    is_full: bool = True


def compile_full(
    stablehlo: bytes,
    hardware: str,
    options: Mapping[str, str] | None = None,
    timeout_s: float = FULL_TIMEOUT_S,
) -> Compiled:
    """Compile a program that `jax.export` serialised to the end; seconds to minutes.

    Raises CompilerError where the compiler refuses the program or an option or aborts,
    CompileInterruptedError where it takes longer or is killed, UnknownNameError where it does not
    know the hardware.
    """
    return _compile(stablehlo, hardware, options or {}, timeout_s, is_full=True)


def compile_early(
    stablehlo: bytes,
    hardware: str,
    options: Mapping[str, str] | None = None,
    timeout_s: float = EARLY_TIMEOUT_S,
) -> Compiled:
    """Compile until the buffers are placed, then end the child; errors as in `compile_full`."""
    return _compile(stablehlo, hardware, options or {}, timeout_s, is_full=False)


def _compile(
    stablehlo: bytes, hardware: str, options: Mapping[str, str], timeout_s: float, is_full: bool
) -> Compiled:
    libtpu.require_compiler(hardware)
    if len(stablehlo) > MAX_SOURCE_BYTES:
        raise CompilerError(f"the StableHLO is larger than {MAX_SOURCE_BYTES >> 20} MiB")
    begun = time.monotonic()
    with temporary_folder("compile") as folder:
        (folder / "dump").mkdir()
        (folder / "stablehlo").write_bytes(stablehlo)
        request = {"hardware": hardware, "options": dict(options)}
        (folder / "request.json").write_text(json.dumps(request))
        wanted = folder / "final.hlo" if is_full else None
        _run_child(folder, wanted, timeout_s, options)
        return _read(folder, wanted, time.monotonic() - begun)


def _run_child(
    folder: Path, wanted: Path | None, timeout_s: float, options: Mapping[str, str]
) -> None:
    """Run the child until it ends, or, if no final module is `wanted`, has placed its buffers."""
    deadline = time.monotonic() + timeout_s
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(
            (*CHILD, str(folder)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=_ROOT,
            env=_child_environment(),
            start_new_session=True,
        )
        try:
            while child.poll() is None:
                if wanted is None and _main_dump(folder, _AFTER_THEM) is not None:
                    return
                if time.monotonic() > deadline:
                    raise CompileInterruptedError(
                        f"the compiler took over {timeout_s:.0f} s{_with(options)}; allow it more"
                    )
                time.sleep(_POLL_S)
        finally:
            _end(child)
    if child.returncode in _KILLED:
        raise CompileInterruptedError(
            f"the compiler was killed (code {child.returncode}), as for want of memory; try again"
            + _with(options)
        )
    if child.returncode != 0:
        raise CompilerError(_complaint(folder, child.returncode) + _with(options))


def _child_environment() -> dict[str, str]:
    """The user's environment, without options that would steer the compiler unseen."""
    kept = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "LIBTPU_INIT_ARGS")}
    return {**kept, **libtpu.ENVIRONMENT, **_LOG_ENVIRONMENT}


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill what still runs of the child's own session, and wait for it."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _read(folder: Path, wanted: Path | None, seconds: float) -> Compiled:
    texts = [_main_dump(folder, ending) for ending in (_PLACEMENT, _BUFFERS, _LIVE_RANGES)]
    placed, buffers, live_ranges = ("" if p is None else p.read_text() for p in texts)
    log = read_log(folder / "log")
    return Compiled(
        hlo=placed if wanted is None else wanted.read_text(),
        buffers=buffers,
        live_ranges=live_ranges,
        refusals=log.refusals,
        limits=log.limits,
        seconds=seconds,
        is_full=wanted is not None,
    )


def _main_dump(folder: Path, ending: str) -> Path | None:
    """The largest dump with this ending that bears the module's name; None if there is none yet.

    Helper modules may be compiled on the way.
    """
    name = folder / "module"
    if not name.exists():
        return None
    middle = f".{name.read_text()}."
    dumps = [
        p for p in (folder / "dump").iterdir() if p.name.endswith("." + ending) and middle in p.name
    ]
    return max(dumps, key=lambda p: p.stat().st_size, default=None)


def _complaint(folder: Path, code: int) -> str:
    """One line on why the child failed."""
    lines = (folder / "log").read_text(errors="replace").splitlines()
    if code == REFUSED:
        return lines[-1] if lines else "the compiler refused it"
    marked = [line for line in lines if any(mark in line for mark in _CRASH_MARKS)]
    why = " ".join(marked[0].split())[:300] if marked else _death(code)
    return f"the compiler aborted (code {code}: {why})"


def _death(code: int) -> str:
    """How a child ended that printed no error, by its exit code."""
    try:
        return f"it died of {signal.Signals(-code).name} without a word"
    except ValueError:
        return "without a word"


def _with(options: Mapping[str, str]) -> str:
    if not options:
        return " with its default options"
    shown = ", ".join(f"{key}={value[:80]}" for key, value in options.items())
    return f" with the options {shown[:400]}"

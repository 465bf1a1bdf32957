"""Compiles in a child process: to the end, or only as far as the compiler places its buffers.

An early stop takes seconds where a whole compile takes minutes: the memory pass runs before code
is generated, and its outcome is dumped at once. The placements equal those of the whole compile;
only the estimated cycles are missing.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from engine.compiler.toolchain import libtpu
from engine.compiler.toolchain.child import MEMORY_BYTES, NOT_COMPILABLE, REFUSAL, REFUSED
from engine.compiler.toolchain.memory_log import Refusal, read_log
from engine.compiler.toolchain.overflow import parse_overflow
from engine.compiler.toolchain.target import INIT_ARGS, Target
from engine.errors import (
    CompileInterruptedError,
    CompilerError,
    NotCompilableError,
    OutOfMemoryError,
    UsageError,
    in_one_line,
)
from engine.folders import temporary_folder
from engine.processes import ABORTS, KILLS, child_environment

FULL_TIMEOUT_S = 3600.0
EARLY_TIMEOUT_S = 900.0
MAX_SOURCE_BYTES = 64 * 2**20

CHILD = (sys.executable, "-m", "engine.compiler.toolchain.child")

_POLL_S = 0.05
_ROOT = Path(__file__).resolve().parents[3]
_WANTING = ("ENOMEM", "EAGAIN", "EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "EIO", "EROFS", "ESTALE")
_WANT = re.compile(
    "|".join(
        (
            "std::bad_alloc|Unable to allocate|MemoryError",
            *(re.escape(os.strerror(getattr(errno, name))) for name in _WANTING),
        )
    ).encode()
)
"""What a process says that lacked memory, disk, threads or files: no answer to keep."""
_CRASH = re.compile(r"^F\d{4} |Check failed|Fatal|Error:")
"""Lines of the log that say why the compiler aborted: fatal ones begin with F and the date."""

# At this level the memory pass logs its options and every refusal.
_LOG_ENVIRONMENT = {
    "TPU_VMODULE": "memory_space_assignment=3,algorithm=3",
    "TPU_STDERR_LOG_LEVEL": "0",
    "TPU_MIN_LOG_LEVEL": "0",
}

_UNASKED = ("XLA_FLAGS", INIT_ARGS, "TPU_LIBRARY_PATH")
"""Variables of the user's that would decide a compile, though no answer is told apart by them."""

_PLACEMENT = "after_optimizations.txt"
_BUFFERS = "after_optimizations-buffer-assignment.txt"
_AFTER_THEM = "after_optimizations-memory-usage-report.txt"
"""Dumps in the order in which they are written: the last one shows that the others are whole."""


@dataclass(frozen=True)
class Compiled:
    """The outputs of one compile. Texts are the compiler's own.

    `hlo`: the scheduled module, with `estimated_cycles` if the compile `is_full`. `buffers`: its
    dump of where every value lies. `refusals`: what the memory pass did not place, and why.
    `limits`: what it said of its memory (`max_size_in_bytes`, `alignment_in_bytes`, …).
    """

    hlo: str
    buffers: str
    refusals: tuple[Refusal, ...] = ()
    limits: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    seconds: float = 0.0
    is_full: bool = True

    @property
    def devices(self) -> int:
        """For how many devices the module was partitioned."""
        header = self.hlo[: self.hlo.find("\n\n")]
        match = re.search(r"\bnum_partitions=(\d+)", header)
        return int(match[1]) if match else 1


def compile_full(
    stablehlo: bytes,
    target: Target,
    options: Mapping[str, str] | None = None,
    timeout_s: float = FULL_TIMEOUT_S,
) -> Compiled:
    """Compile a program that `jax.export` serialised to the end; seconds to minutes.

    `options` go on top of the target's own. Raises CompilerError where the compiler refuses the
    program or an option or aborts, of its kinds OutOfMemoryError where a memory is too small,
    NotCompilableError for bytes that are no such program, CompileInterruptedError where it takes
    longer, is killed or fails for another reason than the program; UnknownNameError where it does
    not know the hardware, UsageError for options of what is dumped.
    """
    return _compile(stablehlo, target, options or {}, timeout_s, is_full=True)


def compile_early(
    stablehlo: bytes,
    target: Target,
    options: Mapping[str, str] | None = None,
    timeout_s: float = EARLY_TIMEOUT_S,
) -> Compiled:
    """Compile until the buffers are placed, then end the child; errors as in `compile_full`."""
    return _compile(stablehlo, target, options or {}, timeout_s, is_full=False)


def _compile(
    stablehlo: bytes, target: Target, options: Mapping[str, str], timeout_s: float, is_full: bool
) -> Compiled:
    libtpu.require_compiler(target.hardware)
    _refuse_dumping({**target.flags, **options})
    options = {**target.options, **options}
    if len(stablehlo) > MAX_SOURCE_BYTES:
        raise NotCompilableError(f"the StableHLO is larger than {MAX_SOURCE_BYTES >> 20} MiB")
    begun = time.monotonic()
    with temporary_folder("compile") as folder:
        (folder / "dump").mkdir()
        (folder / "stablehlo").write_bytes(stablehlo)
        request = {
            "hardware": target.hardware,
            "topology": target.topology,
            "options": options,
        }
        (folder / "request.json").write_text(json.dumps(request))
        wanted = folder / "final.hlo" if is_full else None
        _run_child(folder, wanted, timeout_s, options, target.init_args)
        found = _read(folder, wanted, time.monotonic() - begun)
    if not found.hlo:
        raise CompileInterruptedError(
            f"the compiler ended and left no dump of its placement{_with(options)}"
        )
    return found


def _refuse_dumping(flags: Mapping[str, str]) -> None:
    """Refuse options of what is dumped: dumps are read and thrown away here. Raises UsageError."""
    name = next((name for name in flags if name.startswith("xla_dump_")), None)
    if name is not None:
        raise UsageError(
            f"the compiler option {name} cannot be given: what the compiler dumps is read here and"
            f" not kept; leave it out (also of {INIT_ARGS}, and where the program is captured)"
        )


def _run_child(
    folder: Path,
    wanted: Path | None,
    timeout_s: float,
    options: Mapping[str, str],
    init_args: str,
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
            env=_child_environment(init_args),
            start_new_session=True,
        )
        try:
            while child.poll() is None:
                if wanted is None and _main_dump(folder, _AFTER_THEM) is not None:
                    return
                if time.monotonic() > deadline:
                    raise CompileInterruptedError(
                        f"the compiler took over {timeout_s:.0f} s{_with(options)}; try again when"
                        " the machine is less busy, or with a smaller program"
                    )
                time.sleep(_POLL_S)
        finally:
            _end(child)
    code = child.returncode
    if code in KILLS:
        raise CompileInterruptedError(
            f"the compiler was killed (code {code}), as for want of memory; try again"
            + _with(options)
        )
    if code == NOT_COMPILABLE:
        raise NotCompilableError(_complaint(folder))
    if code == REFUSED:
        raise _refusal((folder / REFUSAL).read_text(), options)
    if code != 0:
        lacking = _want((folder / "log").read_bytes(), options)
        raise lacking or _rejected_flag(folder) or _failure(folder, code, options)


def _refusal(message: str, options: Mapping[str, str]) -> CompilerError:
    """The compiler's refusal as an error of ours; an option that it names is not named again."""
    overflow = parse_overflow(message)
    if overflow is not None:
        return OutOfMemoryError(f"the compiler refused it: {overflow.sentence}", overflow.table)
    want = _want(message.encode(), options)
    if want is not None:
        return want
    reason = in_one_line(message) or "it gives no reason"
    is_named = any(name in reason for name in options)
    told = "" if is_named else _with(options)
    return CompilerError(f"the compiler refused it: {reason}{told}")


def _want(said: bytes, options: Mapping[str, str]) -> CompileInterruptedError | None:
    """A child that lacked memory, disk, threads or files by what it said; None if it did not."""
    want = _WANT.search(said)
    if want is None:
        return None
    return CompileInterruptedError(
        f"the machine had too little for the compiler, which is given {MEMORY_BYTES >> 30} GiB of"
        f" memory ({want[0].decode()}); free some and try again{_with(options)}"
    )


def _rejected_flag(folder: Path) -> CompilerError | None:
    """What the compiler says of a flag in the environment, if that is why the child ended."""
    log = (folder / "log").read_text(errors="replace")
    match = re.search(r"^ERROR: ((?:Unknown command line flag|Illegal value) .*)$", log, re.M)
    return None if match is None else CompilerError(f"{INIT_ARGS}: {match[1]:.300}")


def _child_environment(init_args: str) -> dict[str, str]:
    """The user's environment, with those flags alone that the target says.

    Without settings of jax, which reads some into the compile, and without another library than the
    installed one: answers are kept by what the target says and by the versions.
    """
    own = {INIT_ARGS: init_args} if init_args else {}
    given = child_environment(**_LOG_ENVIRONMENT)
    kept = {
        name: value
        for name, value in given.items()
        if name not in _UNASKED and not name.startswith("JAX_")
    }
    return {**kept, **libtpu.ENVIRONMENT, **own}


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill what still runs of the child's own session, and wait for it."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _read(folder: Path, wanted: Path | None, seconds: float) -> Compiled:
    texts = [_main_dump(folder, ending) for ending in (_PLACEMENT, _BUFFERS)]
    placed, buffers = ("" if p is None else p.read_text() for p in texts)
    log = read_log(folder / "log")
    return Compiled(
        hlo=placed if wanted is None else wanted.read_text(),
        buffers=buffers,
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


def _failure(folder: Path, code: int, options: Mapping[str, str]) -> CompilerError:
    """A child that ended by itself, without a refusal: the compiler's abort, or no answer of it."""
    marked = [line for line in _log_lines(folder) if _CRASH.search(line)]
    why = " ".join(marked[0].split())[:300] if marked else _death(code)
    if code in ABORTS:
        return CompilerError(f"the compiler aborted (code {code}: {why}){_with(options)}")
    return CompileInterruptedError(
        f"the compiler ended without an answer (code {code}: {why}); try again{_with(options)}"
    )


def _complaint(folder: Path) -> str:
    """One line on why the child could not compile its input."""
    lines = _log_lines(folder)
    return lines[-1] if lines else "it is no program for a TPU"


def _log_lines(folder: Path) -> list[str]:
    return (folder / "log").read_text(errors="replace").splitlines()


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

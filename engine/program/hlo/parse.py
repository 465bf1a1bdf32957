"""XLA's dumps, text or messages, to XLA's own module message, read by XLA in a child process."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.errors import ParseInterruptedError, ProgramFormatError
from engine.files import foreign, read_bytes
from engine.processes import ABORTS, KILLS, child_environment
from engine.program.hlo.child import CPU_S, MESSAGE, REFUSED, TEXT
from engine.program.hlo.proto import decode_module

MAX_TEXT_BYTES = 64 * 2**20
CPU_S_PER_MIB = 2
"""How much more of the processor's time than `CPU_S` the parser may take for larger texts."""
WAIT = 1.5
"""It may take so many times that by the clock, on a machine that has other work."""

_ROOT = Path(__file__).resolve().parents[3]
_BEGIN = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*(?=HloModule\b)", re.M)
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')
_COUNTS = re.compile(rb"[\s,](replica_count|num_partitions)=(\d{1,9})\b")
_CONTROL = re.compile(rb"[\x00-\x08]")


def parse_hlo_file(path: Path) -> Any:
    """The module in a (gzipped) dump. Raises ProgramFormatError."""
    return parse_hlo(read_bytes(path, MAX_TEXT_BYTES), str(path))


def parse_hlo(data: bytes, where: str) -> Any:
    """The module in HLO text, or in a message (`.hlo.pb` of XLA or of XProf).

    What a log wrote before the text is passed over. `where` names the origin in errors. Raises
    ProgramFormatError.
    """
    if len(data) > MAX_TEXT_BYTES:
        raise ProgramFormatError(f"{where}: HLO larger than {MAX_TEXT_BYTES >> 20} MiB")
    begins = list(_BEGIN.finditer(data))
    if len(begins) > 1:
        raise ProgramFormatError(
            f"{where}: it holds {len(begins)} modules; cut out the one that is meant"
        )
    if begins:
        # As many lines as before, so that the parser's line numbers are those of the file.
        data = b"\n" * data.count(b"\n", 0, begins[0].start()) + data[begins[0].end() :]
    elif (kind := foreign(data)) or not _CONTROL.search(data):
        problem = f"but {kind}" if kind else "(no line begins with 'HloModule')"
        raise ProgramFormatError(f"{where}: not HLO {problem}")
    module = decode_module(_parsed(data, where, TEXT if begins else MESSAGE), where)
    if begins:
        _tell_devices(module, data)
    return module


def _tell_devices(module: Any, text: bytes) -> None:
    """Note for how many devices the head of a text, a line, says that it is: XLA's parser leaves it
    out. What stands in quotes is somebody's metadata.
    """
    head = text.lstrip().partition(b"\n")[0]
    stated = dict(_COUNTS.findall(_QUOTED.sub(b"", head)))
    module.device_assignment.replica_count = int(stated.get(b"replica_count", 1))
    module.device_assignment.computation_count = int(stated.get(b"num_partitions", 1))


def _parsed(data: bytes, where: str, form: str) -> bytes:
    """The serialised module, by the child. Raises ProgramFormatError.

    Of its kind ParseInterruptedError where the child takes too long or ends for another reason than
    the text.
    """
    cpu_s = CPU_S + CPU_S_PER_MIB * (len(data) >> 20)
    command = [sys.executable, "-m", "engine.program.hlo.child", form, str(cpu_s)]
    try:
        child = subprocess.run(
            command,
            input=data,
            capture_output=True,
            timeout=WAIT * cpu_s,
            cwd=_ROOT,
            env=child_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _interrupted(where, f"took over {WAIT * cpu_s:.0f} s") from error
    code = child.returncode
    if code == REFUSED:
        reason = child.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["?"]
        shown = "".join(c if c.isprintable() else "?" for c in reason[0])
        raise ProgramFormatError(f"{where}: XLA's parser refused it: {shown}")
    if code in ABORTS:
        raise ProgramFormatError(
            f"{where}: XLA's parser crashed on it (code {code}); not valid HLO"
        )
    if code == -signal.SIGXCPU:
        raise _interrupted(where, f"took over {cpu_s} s of processor time")
    if code != 0:
        how = "was killed" if code in KILLS else "ended without an answer"
        raise _interrupted(where, f"{how} (code {code})")
    return child.stdout


def _interrupted(where: str, how: str) -> ParseInterruptedError:
    return ParseInterruptedError(
        f"{where}: XLA's parser {how}; try again when the machine is less busy"
    )

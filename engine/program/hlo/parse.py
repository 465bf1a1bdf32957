"""HLO text to XLA's own module message, parsed by XLA's own parser in a child process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.errors import ProgramFormatError
from engine.files import read_bytes
from engine.program.hlo.proto import decode_module

MAX_TEXT_BYTES = 64 * 2**20
TIMEOUT_S = 90.0

_ROOT = Path(__file__).resolve().parents[3]


def parse_hlo_file(path: Path) -> Any:
    """The module in a (gzipped) HLO text file. Raises ProgramFormatError."""
    return parse_hlo(read_bytes(path, MAX_TEXT_BYTES), str(path))


def parse_hlo(text: bytes, where: str) -> Any:
    """The module in HLO `text`; `where` names its origin in errors. Raises ProgramFormatError."""
    if not text.lstrip().startswith(b"HloModule"):
        raise ProgramFormatError(f"{where}: not HLO text (it must begin with 'HloModule')")
    if len(text) > MAX_TEXT_BYTES:
        raise ProgramFormatError(f"{where}: HLO text larger than {MAX_TEXT_BYTES >> 20} MiB")
    command = [sys.executable, "-m", "engine.program.hlo.child"]
    try:
        child = subprocess.run(
            command, input=text, capture_output=True, timeout=TIMEOUT_S, cwd=_ROOT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ProgramFormatError(f"{where}: XLA's parser took over {TIMEOUT_S:.0f} s") from error
    if child.returncode == 3:
        reason = child.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["?"]
        shown = "".join(c if c.isprintable() else "?" for c in reason[0])
        raise ProgramFormatError(f"{where}: XLA's parser refused it: {shown}")
    if child.returncode != 0:
        raise ProgramFormatError(
            f"{where}: XLA's parser crashed on it (code {child.returncode}); not valid HLO text"
        )
    return decode_module(child.stdout, where)

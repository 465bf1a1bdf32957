"""What the compiler answered, kept in a folder: nothing is compiled twice, also after a kill.

A file per answer, named by a hash of all that decides it: the StableHLO, the hardware, the options,
the versions, and whether the compile was whole.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from engine.compiler.toolchain import libtpu
from engine.compiler.toolchain.compile import Compiled, compile_early, compile_full
from engine.compiler.toolchain.memory_log import Refusal
from engine.errors import CompileInterruptedError, CompilerError
from engine.files import write_bytes

SLOW_OPTIONS: Mapping[str, str] = {"xla_msa_enable": "DISABLED"}
"""With these the compiler leaves everything in slow memory, in the same schedule."""

DEFAULT_OPTIONS: Mapping[str, str] = {}
"""The compiler's own plan."""


@dataclass
class Answers:
    """The compiler's answers to one program on one hardware.

    `folder`: where they are kept; None: only in memory, for as long as this object lives.
    `is_offline`: nothing is compiled, and what is not known raises CompilerError. A refusal of the
    compiler is an answer too: asked again, it raises the same CompilerError. An interrupted
    compile is none.
    """

    stablehlo: bytes
    hardware: str
    folder: Path | None = None
    is_offline: bool = False
    _memory: dict[str, Compiled | str] = field(default_factory=dict)

    def early(self, options: Mapping[str, str]) -> Compiled:
        """A compile with the placements under `options`: whole, if known; else stopped early."""
        whole = self._known(options, is_full=True)
        if isinstance(whole, Compiled):
            return whole
        return self._answer(options, is_full=False)

    def full(self, options: Mapping[str, str]) -> Compiled:
        """The whole compile under `options`; minutes, if it is not known."""
        return self._answer(options, is_full=True)

    def has_full(self, options: Mapping[str, str]) -> bool:
        """Whether the whole compile is known."""
        return self._known(options, is_full=True) is not None

    def _answer(self, options: Mapping[str, str], is_full: bool) -> Compiled:
        known = self._known(options, is_full)
        if known is None and self.is_offline:
            raise CompilerError(f"no answer to {dict(options)} is kept in {self.folder}")
        if known is None:
            compiling = compile_full if is_full else compile_early
            try:
                known = compiling(self.stablehlo, self.hardware, options)
            except CompileInterruptedError:
                raise
            except CompilerError as error:
                known = str(error)
            self._keep(options, is_full, known)
        if isinstance(known, str):
            raise CompilerError(known)
        return known

    def _known(self, options: Mapping[str, str], is_full: bool) -> Compiled | str | None:
        key = self._key(options, is_full)
        if key not in self._memory and self.folder is not None:
            path = self.folder / f"{key}.json.gz"
            if path.exists():
                self._memory[key] = _from_json(json.loads(gzip.decompress(path.read_bytes())))
        return self._memory.get(key)

    def _keep(self, options: Mapping[str, str], is_full: bool, answer: Compiled | str) -> None:
        key = self._key(options, is_full)
        self._memory[key] = answer
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            row = {"error": answer} if isinstance(answer, str) else asdict(_plain(answer))
            body = {"options": dict(options), **row}
            write_bytes(self.folder / f"{key}.json.gz", json.dumps(body).encode())

    def _key(self, options: Mapping[str, str], is_full: bool) -> str:
        inputs = [self.hardware, sorted(options.items()), libtpu.versions(), is_full]
        digest = hashlib.sha256(self.stablehlo)
        digest.update(json.dumps(inputs).encode())
        return digest.hexdigest()[:24]


def _plain(answer: Compiled) -> Compiled:
    """The answer without tables of source files, which name paths of the machine."""
    return Compiled(
        hlo=libtpu.strip_paths(answer.hlo),
        buffers=answer.buffers,
        live_ranges=answer.live_ranges,
        refusals=answer.refusals,
        limits=dict(answer.limits),
        seconds=round(answer.seconds, 2),
        is_full=answer.is_full,
    )


def _from_json(body: dict[str, Any]) -> Compiled | str:
    if "error" in body:
        return str(body["error"])
    del body["options"]
    body["refusals"] = tuple(Refusal(**refusal) for refusal in body["refusals"])
    return Compiled(**body)

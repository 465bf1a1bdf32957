"""What the compiler answered, kept in a folder: nothing is compiled twice, also after a kill.

A file per answer, named by a hash of all that decides it: the StableHLO, the hardware, the options,
the versions, and whether the compile was whole.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from engine.compiler.toolchain import libtpu
from engine.compiler.toolchain.compile import Compiled, compile_early, compile_full
from engine.compiler.toolchain.stablehlo import num_devices
from engine.compiler.toolchain.target import Target, canonical_topology
from engine.errors import (
    CompileInterruptedError,
    CompilerError,
    NotCompilableError,
    OutOfMemoryError,
    ProgramFormatError,
)
from engine.files import json_text, read_json, typed, write_bytes

SLOW_OPTIONS: Mapping[str, str] = {"xla_msa_enable": "DISABLED"}
"""With these the compiler leaves everything in slow memory, in the same schedule."""

DEFAULT_OPTIONS: Mapping[str, str] = {}
"""The compiler's own plan, under the flags of the target alone."""

EARLY_SHARE = 0.15
"""An early stop takes about so much of a whole compile: a guess, for announcements alone."""

SECONDS_PER_KIB = 3.0
"""A whole compile takes about so long per KiB of StableHLO: a guess that tells seconds from
minutes, announced until one compile is known."""


IN_MEMORY = 8
"""So many of the answers that a folder keeps are in memory too: each may be megabytes."""


@dataclass
class Answers:
    """The compiler's answers to one program for one target.

    Options go on top of the target's own, so that none at all is the user's default. `folder`:
    where answers are kept; None: only in memory, for as long as this object lives. `is_offline`:
    nothing is compiled, and what is not known raises CompilerError. A refusal of the compiler is an
    answer too: asked again, it raises the same CompilerError. An interrupted compile is none, nor
    is what could not be compiled at all. `note` gets a line before every compile.
    """

    stablehlo: bytes
    target: Target
    folder: Path | None = None
    is_offline: bool = False
    note: Callable[[str], None] = lambda _: None
    _memory: dict[str, Compiled | CompilerError] = field(default_factory=dict)
    _kept: list[str] = field(default_factory=list)
    """Keys of those in memory that the folder keeps, in the order in which they came."""
    _seconds: dict[bool, dict[str, float]] = field(default_factory=lambda: {True: {}, False: {}})
    """How long known compiles took, by their keys: whole ones, and early stops."""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def early(self, options: Mapping[str, str]) -> Compiled:
        """A compile with the placements under `options`: whole, if known; else stopped early."""
        whole = self._known(options, is_full=True)
        if isinstance(whole, Compiled):
            return whole
        return self._answer(options, is_full=False)

    def stopped(self, options: Mapping[str, str]) -> Compiled:
        """A compile that was stopped early, though the whole one be known; it has no cycles."""
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
            libtpu.require_compiler(self.target.hardware)
            compiling = compile_full if is_full else compile_early
            self.note(self._announcement(options, is_full))
            try:
                known = compiling(self.stablehlo, self.target, options)
            except (CompileInterruptedError, NotCompilableError):
                raise
            except CompilerError as error:
                known = error
            self._keep(options, is_full, known)
        if isinstance(known, CompilerError):
            raise known
        return known

    def under(self, options: Mapping[str, str]) -> Answers:
        """The answers to the same program where these options are the user's own too.

        Compiles are numbered on, and announced by the seconds of those before.
        """
        return replace(self, target=self.target.with_flags(options, ""))

    def expected_s(self, is_full: bool) -> float | None:
        """How long a compile takes by those that are known; None if none is."""
        alike, others = self._seconds[is_full], self._seconds[not is_full]
        if alike:
            return median(alike.values())
        if others:
            return median(others.values()) * (EARLY_SHARE ** (-1 if is_full else 1))
        return None

    def _announcement(self, options: Mapping[str, str], is_full: bool) -> str:
        kind = "whole" if is_full else "stopped early"
        expected = self.expected_s(is_full)
        guess = expected
        if guess is None:
            guess = SECONDS_PER_KIB * len(self.stablehlo) / 2**10 * (1 if is_full else EARLY_SHARE)
        basis = "by the size of the program" if expected is None else "by the compiles so far"
        return (
            f"compile {next(self._numbers)}, {kind}, {options_in_words(options)}:"
            f" about {duration_text(guess)} {basis}"
        )

    def _known(self, options: Mapping[str, str], is_full: bool) -> Compiled | CompilerError | None:
        key = self._key(options, is_full)
        if key not in self._memory and self.folder is not None:
            path = self.folder / f"{key}.json.gz"
            if path.exists() and (answer := _read(path)) is not None:
                self._remember(key, answer, is_kept=True)
        return self._memory.get(key)

    def _remember(self, key: str, answer: Compiled | CompilerError, is_kept: bool) -> None:
        """Have an answer in memory; of those that the folder keeps the newest alone."""
        self._memory[key] = answer
        if isinstance(answer, Compiled) and answer.seconds > 0:
            self._seconds[answer.is_full][key] = answer.seconds
        if is_kept:
            self._kept.append(key)
            if len(self._kept) > IN_MEMORY:
                del self._memory[self._kept.pop(0)]

    def _keep(
        self, options: Mapping[str, str], is_full: bool, answer: Compiled | CompilerError
    ) -> None:
        key = self._key(options, is_full)
        self._remember(key, answer, is_kept=self._is_written(key, options, answer))

    def _is_written(
        self, key: str, options: Mapping[str, str], answer: Compiled | CompilerError
    ) -> bool:
        """Write an answer to the folder, if there is one; whether it is there now."""
        if self.folder is None:
            return False
        row = _row(answer) if isinstance(answer, Compiled) else _error_row(answer)
        body = {"options": dict(options), **row}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_bytes(self.folder / f"{key}.json.gz", json_text(body, "the answer").encode())
        except (OSError, ProgramFormatError) as error:
            # The answer itself is worth more than its copy.
            self.note(f"not kept for the next time: {error}")
            return False
        return True

    def _key(self, options: Mapping[str, str], is_full: bool) -> str:
        target = self.target
        asked = sorted({**target.options, **options}.items())
        inputs: list[Any] = [target.hardware, asked, libtpu.versions(), is_full]
        # Left out where they are not given, so that answers from before them are still found.
        inputs += [("topology", topology)] if (topology := self._topology()) else []
        inputs += [("init_args", target.init_args)] if target.init_args else []
        digest = hashlib.sha256(self.stablehlo)
        digest.update(json.dumps(inputs).encode())
        return digest.hexdigest()[:24]

    def _topology(self) -> str:
        """One name for all names of a topology, as `target_of` a captured program has it."""
        return canonical_topology(self.target, self._devices) if self.target.topology else ""

    @cached_property
    def _devices(self) -> int:
        return num_devices(self.stablehlo)


def _row(answer: Compiled) -> dict[str, Any]:
    """The answer without tables of source files, which name paths of the machine."""
    hlo, seconds = libtpu.strip_paths(answer.hlo), round(answer.seconds, 2)
    return asdict(replace(answer, hlo=hlo, limits=dict(answer.limits), seconds=seconds))


def duration_text(seconds: float) -> str:
    """A duration in seconds as a person says it.

    >>> duration_text(0.2), duration_text(95.0), duration_text(400.0)
    ('1 s', '95 s', '7 min')
    """
    return f"{max(1.0, seconds):.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def options_in_words(options: Mapping[str, str]) -> str:
    """Options in a few words, with long values cut."""
    if dict(options) == SLOW_OPTIONS:
        return "everything slow"
    shown = []
    for name, value in options.items():
        rules = value.count("overrides {")
        shown.append(f"{name} of {rules} rules" if rules else f"{name}={value:.40}")
    return ", ".join(shown)[:160] or "default"


def _error_row(error: CompilerError) -> dict[str, Any]:
    row: dict[str, Any] = {"error": str(error)}
    return {**row, "table": error.table} if isinstance(error, OutOfMemoryError) else row


_NO_MORE = ("live_ranges",)
"""What answers held that were kept by earlier versions."""


def _read(path: Path) -> Compiled | CompilerError | None:
    """The answer in a file; None where it cannot be read or has no module: it is compiled again."""
    try:
        body = read_json(path)
        if "table" in body:
            return OutOfMemoryError(str(body["error"]), tuple(map(str, body["table"])))
        if "error" in body:
            return CompilerError(str(body["error"]))
        answer = typed(body, Compiled, ("options", *_NO_MORE))
    except (ValueError, TypeError, KeyError, ProgramFormatError):
        return None
    return answer if answer.hlo else None

"""The flags file: compiler options, and what they aim at (`docs/formats.md`).

It is for people who compile the program elsewhere, so it also says how to hand the options over.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from engine.compiler.steering.export import Aim, instruction_patterns
from engine.compiler.toolchain.target import Target, flags_in, target_of
from engine.errors import PlanError
from engine.files import HEADER, json_text, read_json, require_header, typed, write_bytes
from engine.program.io import content_hash
from engine.program.model import Program

FORMAT = "mallocmuzero-flags"
VERSION = 1
INIT_ARGS_NOTE = "libtpu_init_args"
"""The note that holds what was in the user's environment when the options were made."""

OWN_NOTE = "own_options"
"""The note that holds options of the user's, beyond those that the program was captured with."""

TOPOLOGY_NOTE = "topology"
"""The note that holds the topology of a program of a mesh."""

GAIN_NOTE = "improvement"
"""The note that holds the share of the default's total that the options were seen to save."""

_OF_DEFAULT = (INIT_ARGS_NOTE, OWN_NOTE, TOPOLOGY_NOTE, "versions")
"""The notes that say what the default is, beside the program."""

MAX_OPTIONS = 300
MAX_TEXT = 2**20

_BETWEEN_FIELDS = re.compile(r"(?<=[\w.])\s+(?=\w+\s*[:{])")
"""Blanks that alone tell the end of a number or word from the next field of a text proto."""

_Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
_Options = Annotated[Mapping[_Text, _Text], msgspec.Meta(max_length=MAX_OPTIONS)]


@dataclass(frozen=True)
class Flags:
    """Options that steer the compiler for one program.

    `program_hash`: the content hash of the program that they were made for. `aims`: what is to be
    in fast memory, the greatest saving first. `notes`: free JSON (versions, what was measured …).
    """

    program: _Text
    program_hash: _Text
    hardware: _Text
    compiler_options: _Options
    aims: tuple[Aim, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        program: Program,
        options: Mapping[str, str],
        aims: tuple[Aim, ...] = (),
        notes: Mapping[str, Any] = MappingProxyType({}),
    ) -> Flags:
        """Options for `program`, added to the user's own flags, which the program records."""
        own = target_of(program)
        complete = {**own.options, **options}
        if own.init_args:
            notes = {INIT_ARGS_NOTE: own.init_args, **notes}
        if own.topology:
            notes = {TOPOLOGY_NOTE: own.topology, **notes}
        digest = content_hash(program)
        return cls(program.name, digest, program.hardware.name, complete, aims, notes)

    @property
    def program_options(self) -> dict[str, str]:
        """The options under which the program itself was captured anew, noted under `knobs`.

        The others only steer placement.
        """
        noted = self.notes.get("knobs")
        if not isinstance(noted, Mapping):
            return {}
        return {k: v for k, v in self.compiler_options.items() if noted.get(k) == v}

    @property
    def own_options(self) -> dict[str, str]:
        """The user's own options among these, which the default has too."""
        noted = self.notes.get(OWN_NOTE)
        if not isinstance(noted, Mapping):
            return {}
        return {k: v for k, v in self.compiler_options.items() if noted.get(k) == v}

    def gains_no_less(self, other: Flags) -> bool:
        """Whether these are known to save as much as others of one program and default."""
        mine, theirs = self.notes.get(GAIN_NOTE), other.notes.get(GAIN_NOTE)
        is_alike = self.program_hash == other.program_hash and all(
            self.notes.get(key) == other.notes.get(key) for key in _OF_DEFAULT
        )
        if not (isinstance(mine, float) and isinstance(theirs, float)):
            return False
        return is_alike and mine >= theirs

    def under(self, given: Mapping[str, str]) -> Flags:
        """These options where the user gives some of them other values."""
        options = {name: given.get(name, text) for name, text in self.compiler_options.items()}
        return replace(self, compiler_options=options)

    def held_in(self, init_args: str) -> list[str]:
        """The options that come from such an environment too, though not from the user's own."""
        own, there = (flags_in(a) for a in (_text(self.notes.get(INIT_ARGS_NOTE)), init_args))
        texts = {name: _without_blanks(text) for name, text in self.compiler_options.items()}
        return [name for name, text in texts.items() if there.get(name) == text != own.get(name)]

    @property
    def target(self) -> Target:
        """What the options were made for, without these options themselves."""
        topology, init_args = self.notes.get(TOPOLOGY_NOTE), self.notes.get(INIT_ARGS_NOTE)
        return Target(self.hardware, _text(topology), init_args=_text(init_args))

    @property
    def environment(self) -> str:
        """The options as one text for `LIBTPU_INIT_ARGS`, after what the user has there already.

        The TPU's compiler reads that variable; `XLA_FLAGS` would abort on flags of the TPU. It is
        split at blanks, so text protos go without any; a comma ends a field where only a blank did.
        """
        words = [
            word
            for word in _text(self.notes.get(INIT_ARGS_NOTE)).split()
            if word.lstrip("-").partition("=")[0] not in self.compiler_options
        ]
        words += [f"--{k}={_without_blanks(text)}" for k, text in self.compiler_options.items()]
        return " ".join(words)

    @property
    def shell_line(self) -> str:
        """The line for a shell that sets the variable, for all that is then started from it."""
        text = self.environment
        quoted = shlex.quote(text) if "'" in text else f"'{text}'"
        return f"export LIBTPU_INIT_ARGS={quoted}"

    @property
    def jax_lines(self) -> str:
        """Lines of Python to paste, for a jitted function and its arguments."""
        lines = [f"    {name!r}: {value!r}," for name, value in self.compiler_options.items()]
        options = "\n".join(["options = {", *lines, "}"])
        return f"{options}\ncompiled = jitted.lower(*args).compile(compiler_options=options)"


def _without_blanks(text: str) -> str:
    """A text proto in one word.

    >>> _without_blanks("filter { seed: 6 begin: 0.5 } value: -1")
    'filter{seed:6,begin:0.5}value:-1'
    """
    return "".join(_BETWEEN_FIELDS.sub(",", text).split())


def _text(note: object) -> str:
    """A note that is to be a text; files may say anything there."""
    return note if isinstance(note, str) else ""


def save_flags(flags: Flags, path: Path) -> None:
    """Write the flags file, whole or not at all.

    Raises ProgramFormatError for a path that cannot be written, and for notes that are no JSON.
    """
    body = {
        "format": FORMAT,
        "version": VERSION,
        "program": flags.program,
        "program_hash": flags.program_hash,
        "hardware": flags.hardware,
        "compiler_options": dict(flags.compiler_options),
        "aims": [asdict(aim) for aim in flags.aims],
        "notes": dict(flags.notes),
    }
    write_bytes(path, (json_text(body, str(path), indent=1) + "\n").encode())


def load_flags(path: Path) -> Flags:
    """Read a flags file. Raises ProgramFormatError if it is none, PlanError if it is malformed."""
    return flags_from_json(read_json(path), str(path))


def flags_from_json(body: Any, where: str) -> Flags:
    """The flags in `body`; `where` names its origin in errors. Raises as `load_flags`."""
    require_header(body, FORMAT, VERSION, where)
    try:
        return typed(body, Flags, HEADER)
    except ValueError as error:
        raise PlanError(f"{where}: not a valid flags file ({error!s:.200})") from error


def named_instructions(flags: Flags) -> tuple[str, ...]:
    """What flags call instructions: the patterns of their rules, the names of their aims."""
    aimed = [name for aim in flags.aims for name in aim.instructions]
    return tuple(dict.fromkeys([*instruction_patterns(flags.compiler_options), *aimed]))

"""What programs are compiled for: the chip, how many of them, and the user's own flags."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

from engine.errors import CompilerError, ProgramFormatError, UnknownNameError, UsageError
from engine.files import is_file, json_of, read_bytes
from engine.hardware.interconnect import Slice, slice_of
from engine.program.counts import COUNTS, Counts, given_counts
from engine.program.model import Program

INIT_ARGS = "LIBTPU_INIT_ARGS"
"""The environment variable from which the TPU's compiler takes flags for a whole process."""

SCOPED_LIMIT = "xla_tpu_scoped_vmem_limit_kib"
"""The flag for the size of the region that single instructions may use as scratch."""

MAX_FLAGS = 200
MAX_FLAGS_BYTES = 2**18
MAX_KIB_DIGITS = 10


def whole_kib(text: str) -> int | None:
    """A size as a flag states it, in KiB; None where it is no whole number of a size that can be.

    >>> whole_kib("24576"), whole_kib("-1"), whole_kib("much")
    (24576, None, None)
    """
    return int(text) if text.isdecimal() and len(text) <= MAX_KIB_DIGITS else None


@dataclass(frozen=True)
class Generation:
    """The topologies of one chip: their common prefix, and their shapes, the smallest first.

    `devices_per_chip`: 2 where each core of a chip is a device of its own. `chip`: the name of the
    configuration in which the compiler is to see the chips; empty: the one it takes by itself.
    """

    prefix: str
    shapes: tuple[str, ...]
    devices_per_chip: int = 1
    chip: str = ""

    def can_have(self, shape: str) -> bool:
        """Whether its chips can be linked so: along two axes, or three; more sides are 1."""
        sides, axes = shape.split("x"), len(self.shapes[0].split("x"))
        return (
            len(sides) <= 3
            and all(side.isdecimal() and 0 < int(side) < 100 for side in sides)
            and all(int(side) == 1 for side in sides[axes:])
        )

    def devices(self, shape: str) -> int:
        """How many devices a topology of this shape has."""
        return prod(int(side) for side in shape.split("x")) * self.devices_per_chip


_FLAT = ("2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_CUBES = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8")

GENERATIONS: Mapping[str, Generation] = {
    "tpu-v4": Generation("v4", _CUBES, devices_per_chip=2),
    "tpu-v4-megacore": Generation("v4", _CUBES, chip="megacore"),
    "tpu-v5e": Generation("v5e", _FLAT),
    "tpu-v5p": Generation("v5p", _CUBES),
    "tpu-v6e": Generation("v6e", _FLAT),
    "tpu7x": Generation("tpu7x", _CUBES, devices_per_chip=2),
}
"""The chips that the compiler is asked for. It knows more shapes; any of them may be named."""


@dataclass(frozen=True)
class Target:
    """What a program is compiled for, and under which flags of the user's.

    `topology`: the name of one like `v5e:4x4`, its shape alone, or how many chips; empty: the
    smallest that has as many devices as the program. `options`: compiler options that hold for
    every compile, so that the *default* is the compile with these alone. `init_args`: flags that
    the compiler reads from the environment (`LIBTPU_INIT_ARGS`). `counts`: how often loops run and
    branches are taken that the compiler does not know of; they change no compile.
    """

    hardware: str
    topology: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    init_args: str = ""
    counts: Counts = field(default_factory=Counts, repr=False)

    @property
    def flags(self) -> dict[str, str]:
        """The user's flags of both kinds; options go before the environment."""
        return {**flags_in(self.init_args), **self.options}

    @property
    def scoped_bytes(self) -> int | None:
        """The size of the scratch region that the flags ask for; None if they leave it alone."""
        kib = whole_kib(self.flags.get(SCOPED_LIMIT, ""))
        return None if kib is None else kib * 2**10

    def with_flags(self, options: Mapping[str, str], init_args: str) -> Target:
        """This target with more options, and with other flags of the environment if there are."""
        return replace(
            self,
            options={**self.options, **options},
            init_args=init_args or self.init_args,
        )


def topology_name(target: Target, devices: int) -> str:
    """The compiler's name of the topology on which a program of so many devices is compiled.

    Raises UnknownNameError for hardware or a topology that there is not, CompilerError where the
    topology has fewer devices than the program.
    """
    generation = find_generation(target.hardware)
    shape = target.topology.removeprefix(generation.prefix + ":")
    if not shape:
        shape = next((s for s in generation.shapes if generation.devices(s) >= devices), "")
        if not shape:
            most = generation.devices(generation.shapes[-1])
            raise CompilerError(
                f"the program is for {devices} devices, and a topology of {target.hardware} with so"
                f" many must be named (--topology): those tried by themselves end at {most}"
            )
    elif shape.isdecimal():
        chips = int(shape) * generation.devices_per_chip
        fitting = [s for s in generation.shapes if generation.devices(s) == chips]
        if not fitting:
            raise _unknown_topology(target, generation)
        shape = fitting[0]
    elif not generation.can_have(shape):
        raise _unknown_topology(target, generation)
    if generation.devices(shape) < devices:
        raise CompilerError(
            f"the program is for {devices} devices, and {generation.prefix}:{shape} has"
            f" {generation.devices(shape)}; name a larger topology"
        )
    return f"{generation.prefix}:{shape}"


def canonical_topology(target: Target, devices: int) -> str:
    """One name for all names of a topology; empty for the smallest that has so many devices.

    So a program that was captured without one, and one that has its name from that capture, are
    compiled alike. What is no name stays as it is: the compile will say so.
    """
    try:
        name = topology_name(target, devices)
        smallest = topology_name(replace(target, topology=""), devices)
    except (CompilerError, UnknownNameError):
        return target.topology
    return "" if name == smallest else name


def chips_of(target: Target, devices: int) -> Slice | None:
    """The chips that a program of so many devices is spread over; None where there is only one.

    Raises as `topology_name` does.
    """
    if target.hardware not in GENERATIONS and not target.topology:
        return None
    if devices < 2 and not target.topology:
        return None
    return slice_of(target.hardware, topology_name(target, devices).partition(":")[2])


def find_generation(hardware: str) -> Generation:
    """The chip of that name. Raises UnknownNameError."""
    if hardware not in GENERATIONS:
        known = ", ".join(GENERATIONS)
        raise UnknownNameError(f"the compiler is not asked for {hardware!r}; only for {known}")
    return GENERATIONS[hardware]


def _unknown_topology(target: Target, generation: Generation) -> UnknownNameError:
    names = ", ".join(f"{generation.prefix}:{shape}" for shape in generation.shapes)
    near = difflib.get_close_matches(target.topology, names.split(", "), n=1, cutoff=0.8)
    hint = f"; near it: {near[0]}" if near else ""
    return UnknownNameError(
        f"no topology of {target.hardware} is called {target.topology!r}{hint}; give a number of"
        f" chips or a name such as {names}"
    )


def read_flags(texts: Sequence[str]) -> dict[str, str]:
    """Compiler options as a user gives them: each text is `name=value`, or a file of many.

    A file holds a JSON object of options, a flags file of ours, or lines of `name=value` (leading
    dashes are taken off); what is given by itself goes before what files hold. Raises UsageError
    for anything else, and for two values of one option.
    """
    of_files: dict[str, str] = {}
    of_lines: dict[str, str] = {}
    for text in texts:
        path = Path(text)
        if is_file(path):
            _add(of_files, _flags_of_file(path), str(path))
        else:
            _add(of_lines, _flags_of_line(text), text)
    options = {**of_files, **of_lines}
    if len(options) > MAX_FLAGS:
        raise UsageError(f"more than {MAX_FLAGS} compiler options")
    return options


Given = Mapping[str, str | float]
"""Compiler options as a Python program gives them to JAX: a bool and an int are floats here."""


def options_in(given: Given) -> dict[str, str]:
    """The options as the compiler reads them. Raises UsageError for what is no name or value.

    >>> options_in({"xla_msa_enable": "DISABLED", "xla_tpu_scoped_vmem_limit_kib": 24576})
    {'xla_msa_enable': 'DISABLED', 'xla_tpu_scoped_vmem_limit_kib': '24576'}
    """
    options = {}
    for name, value in given.items():
        try:
            text = _flag_text(value)
        except TypeError:
            text = ""
        if not (isinstance(name, str) and re.fullmatch(r"\w+", name) and text):
            raise UsageError(
                f"compiler_options: {name!r:.40}: {value!r:.40} is no option; give its name and a"
                " text, a number, True or False"
            )
        options[name] = text
    return options


_Pairs = Sequence[tuple[str, str]]
"""Names of options and their values, in the order in which they were given."""


def _add(options: dict[str, str], more: _Pairs, where: str) -> None:
    """Add more options. Raises UsageError for what is none, or has another value already."""
    for name, value in more:
        if not (re.fullmatch(r"\w+", name) and value):
            raise UsageError(
                f"{where}: neither a file nor an option such as name=value ({name:.40}={value:.40})"
            )
        if options.setdefault(name, value) != value:
            raise UsageError(
                f"the compiler option {name} is given as {options[name]:.40} and as {value:.40};"
                " leave one of them out"
            )


def _flags_of_file(path: Path) -> _Pairs:
    try:
        data = read_bytes(path)
        if len(data) > MAX_FLAGS_BYTES:
            raise ValueError("too long for a file of them")
        text = data.decode("utf-8-sig")
        if not text.lstrip().startswith("{"):
            lines = [line.strip() for line in text.splitlines()]
            kept = [line for line in lines if line and not line.startswith("#")]
            return [pair for line in kept for pair in _flags_of_line(line)]
        body = json_of(text)
        body = body.get("compiler_options", body)
        return [(name.lstrip("-"), _flag_text(value)) for name, value in body.items()]
    except (AttributeError, TypeError, ValueError, RecursionError, ProgramFormatError) as error:
        raise UsageError(f"{path}: not compiler options ({error!s:.100})") from error


_BETWEEN_FLAGS = re.compile(r"\s+(?=-+[A-Za-z_]|\w+=)")
"""Blanks before another flag; a value, such as a text proto, may hold blanks too."""


def _flags_of_line(line: str) -> _Pairs:
    if line.startswith("-"):
        return _pairs(_BETWEEN_FLAGS.split(line))
    name, _, value = line.partition("=")
    return [(name, value)]


def _flag_text(value: Any) -> str:
    """A value as the compiler reads it. Raises TypeError."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise TypeError(f"{value!r:.40} is no value of an option")
    return str(value)


def flags_in(text: str) -> dict[str, str]:
    """The flags in a text such as `--name=value --other`, split at blanks as the compiler does.

    A flag without a value is `true`.
    """
    return dict(_pairs(text.split()))


def _pairs(flags: Sequence[str]) -> _Pairs:
    parts = (flag.lstrip("-").partition("=") for flag in flags)
    return [(name, value if equals else "true") for name, equals, value in parts]


def init_args() -> str:
    """The flags in this process's environment, which hold for every compile."""
    return " ".join(os.environ.get(INIT_ARGS, "").split())


def target_of(program: Program) -> Target:
    """What a captured program was compiled for. Raises ProgramFormatError for a damaged record."""
    origin = program.provenance
    topology, args = origin.get("topology", ""), origin.get("libtpu_init_args", "")
    options = origin.get("compiler_options", {})
    if not (
        isinstance(topology, str)
        and isinstance(args, str)
        and isinstance(options, Mapping)
        and all(isinstance(text, str) for pair in options.items() for text in pair)
    ):
        raise ProgramFormatError(
            f"{program.name}: its record of flags and topology is damaged; capture it again"
        )
    target = Target(program.hardware.name, topology, dict(options), args, given_counts(program))
    devices = origin.get("devices", 1)
    is_count = isinstance(devices, int) and devices > 0
    return replace(target, topology=canonical_topology(target, devices if is_count else 1))


def target_facts(target: Target, devices: int) -> dict[str, Any]:
    """The entries of a provenance that say what a program of so many devices was compiled for."""
    facts: dict[str, Any] = {}
    if devices > 1 or target.topology:
        facts |= {"topology": topology_name(target, devices), "devices": devices}
    if target.options:
        facts["compiler_options"] = dict(target.options)
    if target.init_args:
        facts["libtpu_init_args"] = target.init_args
    if target.counts != Counts():
        facts[COUNTS] = target.counts.to_json()
    return facts

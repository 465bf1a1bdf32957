"""The layer of the model that each instruction belongs to, as a path from the outside in.

A path comes from the first of these that says one:

1. the source path that the compiler keeps of an instruction (`op_name`), where the model's author
   named scopes: `jit(infer)/conv2_block1/dot_general` is in `conv2_block1`;
2. the weights that it reads, by the names under which the program is given them:
   `params['blocks'][3]['attention']['query']` is in `blocks 3 / attention / query`;
3. its neighbours in the schedule: what both are in, else what the one before it is in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from engine.program.counts import count_text
from engine.program.model import TOP_LEVEL, Program

Path = tuple[str, ...]
"""Names from the outside in; empty for an instruction of which nothing is known."""

UNNAMED = "no source"
FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"

_TRANSFORMED = re.compile(r"(?:jvp|transpose|vmap|remat|checkpoint|custom_jvp|custom_vjp)\((.*)\)")
_NO_SCOPE = re.compile(
    r"(?:p?jit|xla_call|shard_map|custom_\w+_call)\(.*\)|while|body|cond|closed_call|core_call"
    r"|checkpoint|remat\d*|rematted_computation|branch_\d+_fun|scan|.*(?:->|,).*|"
)
_INDEX = re.compile(r"\[\s*'?([^'\]]+)'?\s*\]")
_OF_WEIGHT = {"kernel", "bias", "scale", "weight", "embedding", "gamma", "beta", "w", "b"}
"""Names of the arrays of a layer, which are none of a layer."""


class Origin(Enum):
    """What says the path of an instruction."""

    SOURCE = "source"
    WEIGHTS = "weights"
    NEIGHBOURS = "neighbours"


@dataclass(frozen=True)
class Layers:
    """Of each instruction `[T]` its path, what says so, and its phase.

    `phases`: forward, backward or update in a training step, else empty.
    """

    paths: tuple[Path, ...]
    origins: tuple[Origin, ...]
    phases: tuple[str, ...]


def layers_of(program: Program) -> Layers:
    """The layers of a program's instructions."""
    phases = _phases([i.op_name for i in program.instructions])
    sources = [source_path(i.op_name) for i in program.instructions]
    weights = _paths_of_weights(program)
    known = [source or weight for source, weight in zip(sources, weights, strict=True)]
    if not any(known):
        # Nothing has a name: the operations stand for the layers.
        known = [_operation(i.op_name) for i in program.instructions]
        sources = known
    origins = tuple(
        Origin.SOURCE if source else Origin.WEIGHTS if path else Origin.NEIGHBOURS
        for source, path in zip(sources, known, strict=True)
    )
    return Layers(tuple(_filled(known, phases)), origins, phases)


def tree_path(program: Program, layers: Layers, slot: int) -> Path:
    """The path of an instruction with its phase and the loops that it is in, each with its count.

    An instruction of which nothing is known is in `UNNAMED`.
    """
    loops: list[str] = []
    level = program.instructions[slot].level
    while level != TOP_LEVEL:
        region = program.regions[level]
        count = region.multiplicity / program.multiplicity(region.parent)
        loops.insert(0, f"{region.name} ×{count_text(count)}")
        level = region.parent
    phase = (layers.phases[slot],) if layers.phases[slot] else ()
    return (*phase, *loops, *(layers.paths[slot] or (UNNAMED,)))


def paths_of_groups(program: Program, layers: Layers) -> list[Path | None]:
    """The path of each group: by the name of a weight, else of the first instruction about it.

    None for a group that no instruction touches.
    """
    paths: list[Path | None] = []
    for group, touches in zip(program.groups, program.touches_of_group, strict=True):
        named = weight_path(program.values[group.values[0]].name) if group.is_input else ()
        first = min((program.touches[i].time for i in touches), default=None)
        paths.append(None if first is None else named or layers.paths[first])
    return paths


def outermost(paths: Sequence[Path | None]) -> list[str]:
    """The outermost layer of each path; one further in where all share that one.

    `UNNAMED` for a path that says nothing.
    """
    depth = 1 if len({path[:1] for path in paths if path}) > 1 else 2
    return [" / ".join(path[:depth]) if path else UNNAMED for path in paths]


def source_path(op_name: str) -> Path:
    """The scopes of a source path that the model's author named."""
    *scopes, _ = op_name.split(";", maxsplit=1)[0].split("/")
    return tuple(part for scope in scopes for part in _parts_of_scope(scope))


def weight_path(name: str) -> Path:
    """The layer of a weight by its name, as JAX or XLA write it; empty for another name.

    >>> weight_path("params__blocks___0___attention____query____kernel__.1")
    ('blocks 0', 'attention', 'query')
    >>> weight_path("params['layers'][31]['up']")
    ('layers 31', 'up')
    """
    stem = re.sub(r"\.\d+$", "", name)
    keys = _INDEX.findall(stem) or [k.strip("_") for k in re.split("_{2,}", stem) if k][1:]
    parts: list[str] = []
    for key in keys:
        if key.isdecimal() and parts:
            parts[-1] += f" {key}"
        else:
            parts.append(key)
    if len(parts) > 1 and parts[-1] in _OF_WEIGHT:
        parts.pop()
    return tuple(parts)


def _parts_of_scope(scope: str) -> Path:
    while match := _TRANSFORMED.fullmatch(scope):
        scope = match[1]
    return () if _NO_SCOPE.fullmatch(scope) else _split(scope)


def _split(scope: str) -> Path:
    """A scope that counts its layers in one name, as Keras does: `conv2_block1_1_conv`.

    It is divided after each numbered word.
    """
    parts: list[str] = []
    word = ""
    for piece in scope.split("_"):
        word = f"{word}_{piece}" if word else piece
        if re.search(r"[A-Za-z]_?\d+$", word):
            parts.append(word)
            word = ""
    return (*parts, word) if word else tuple(parts)


def _operation(op_name: str) -> Path:
    last = op_name.rsplit("/", maxsplit=1)[-1]
    return (last,) if last else ()


def _phases(op_names: Sequence[str]) -> tuple[str, ...]:
    """Forward, backward or update; of an instruction that does not say so, what comes before it."""
    if not any("transpose(" in name for name in op_names):
        return ("",) * len(op_names)
    phases: list[str] = []
    for name in op_names:
        if "transpose(" in name:
            phases.append(BACKWARD)
        elif "jvp(" in name:
            phases.append(FORWARD)
        elif "/" in name:
            phases.append(UPDATE)
        else:
            phases.append(phases[-1] if phases else FORWARD)
    return tuple(phases)


def _paths_of_weights(program: Program) -> list[Path]:
    """`[T]` the path of the largest weight that each instruction reads; empty if it reads none.

    What is made of weights alone (a conversion, a copy) stands for them.
    """
    weight: dict[int, Path] = {
        number: path
        for number, value in enumerate(program.values)
        if value.is_input and (path := weight_path(value.name))
    }
    reads: list[list[int]] = [[] for _ in program.instructions]
    writes: list[list[int]] = [[] for _ in program.instructions]
    for access in program.accesses:
        (writes if access.is_write else reads)[access.time].append(access.value)
    paths: list[Path] = []
    for read, written in zip(reads, writes, strict=True):
        of_weights = [value for value in read if value in weight]
        if not of_weights:
            paths.append(())
            continue
        largest = max(of_weights, key=lambda value: program.values[value].size_bytes)
        paths.append(weight[largest])
        if len(of_weights) == len(read):
            weight |= {value: weight[largest] for value in written if value not in weight}
    return paths


def _filled(known: Sequence[Path], phases: Sequence[str]) -> list[Path]:
    """`known` with a path for each instruction that has none, from its neighbours in its phase."""
    before, after = _nearest(known, phases), _nearest(known[::-1], phases[::-1])[::-1]
    return [
        path or _between(one, other) for path, one, other in zip(known, before, after, strict=True)
    ]


def _nearest(known: Iterable[Path], phases: Iterable[str]) -> list[Path]:
    """The last known path up to each instruction, within its phase."""
    last: dict[str, Path] = {}
    nearest = []
    for path, phase in zip(known, phases, strict=True):
        if path:
            last[phase] = path
        nearest.append(last.get(phase, ()))
    return nearest


def _between(before: Path, after: Path) -> Path:
    """What two paths share; without that the outermost layer of the one that there is."""
    shared = 0
    while shared < min(len(before), len(after)) and before[shared] == after[shared]:
        shared += 1
    return before[:shared] or before[:1] or after[:1]

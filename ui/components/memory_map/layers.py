"""The layer of the model that a tensor belongs to, by the source paths of the instructions."""

from __future__ import annotations

import re

from engine.program.model import Program

UNNAMED = "no source"
_WRAPPER = re.compile(
    r"^(jit|pjit|jvp|transpose|vmap|remat|checkpoint|closed_call|while|body|cond)"
)


def layer_of(op_name: str) -> str:
    """The outermost scope of a source path that the model's author named.

    `jit(infer)/conv2_block1/dot_general` is in `conv2_block1`. The last part of a path is the
    operation; it stands for the layer where no scope has a name.
    """
    if not op_name:
        return UNNAMED
    *scopes, operation = op_name.split("/")
    named = [s for s in scopes if s and not _WRAPPER.match(s)]
    return named[0] if named else operation


def layers_of_groups(program: Program) -> tuple[list[str], list[int]]:
    """Layer names in order of first use, and for each group the number of its layer.

    A group belongs to the layer of the first instruction that touches it; untouched ones to none
    (`-1`).
    """
    names: dict[str, int] = {}
    starts = [
        min((program.touches[i].time for i in touches), default=-1)
        for touches in program.touches_of_group
    ]
    layer_at = {
        time: layer_of(program.instructions[time].op_name) for time in sorted({*starts} - {-1})
    }
    for name in layer_at.values():
        names.setdefault(name, len(names))
    return list(names), [-1 if time < 0 else names[layer_at[time]] for time in starts]

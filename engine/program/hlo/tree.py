"""Trees of value numbers: what an HLO instruction of any shape produces, leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from engine.program.hlo.shape import is_array, is_tuple

Tree = Any
"""A value number, a list of trees (a tuple), or a mark that is no value (None, a string)."""


def flat(tree: Tree) -> Iterator[int]:
    """The value numbers of a tree, depth first."""
    if isinstance(tree, list):
        for part in tree:
            yield from flat(part)
    elif isinstance(tree, int):
        yield tree


def at(tree: Tree, index: Sequence[int]) -> Tree:
    """The part of a tree at a tuple index."""
    for number in index:
        tree = tree[number]
    return tree


def nest(shape: Any, made: Mapping[tuple[int, ...], int], index: tuple[int, ...] = ()) -> Tree:
    """The tree of a shape whose array leaves have the numbers in `made`."""
    if is_tuple(shape):
        return [nest(s, made, (*index, n)) for n, s in enumerate(shape.tuple_shapes)]
    return made[index] if is_array(shape) else None


def mapped(fn: Callable[..., Tree], *trees: Tree) -> Tree:
    """`fn` of the corresponding leaves of equal trees. ValueError if they differ in form."""
    if any(isinstance(tree, list) for tree in trees):
        return [mapped(fn, *parts) for parts in zip(*trees, strict=True)]
    return fn(*trees)

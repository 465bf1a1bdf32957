"""Array shapes of XLA's module message: names and padded sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from engine.program.hlo.proto import BUFFER_TYPE, ELEMENT_BITS, TUPLE_TYPE, TYPE_NAMES

DEFAULT_SPACE = 0
"""HBM, where a layout names no other memory."""
FAST_SPACES = {"VMEM": 1, "CMEM": 3}
"""The `S(k)` of each kind of fast memory in XLA's layouts."""
HOST_SPACE = 5
"""The `S(k)` of the host's memory."""
PLACEABLE_SPACES = (DEFAULT_SPACE, *FAST_SPACES.values())
"""The default memory, VMEM and CMEM; what the compiler put elsewhere (host, flags) stays there."""

_COMBINE = -(2**63)
"""XLA's mark in a tile, written `*`: the dimension is joined with the next minor one."""


def fast_space(fast_name: str) -> int:
    """The `S(k)` of a chip's fast memory; VMEM's where the hardware is not XLA's."""
    return FAST_SPACES.get(fast_name, FAST_SPACES["VMEM"])


def is_tuple(shape: Any) -> bool:
    """Whether the shape is a tuple."""
    return bool(shape.element_type == TUPLE_TYPE)


def is_array(shape: Any) -> bool:
    """Whether the shape is an array with a size in bytes (not a tuple, token or opaque)."""
    return shape.element_type in ELEMENT_BITS


def has_buffer(shape: Any) -> bool:
    """Whether a buffer is in the shape (`b(f32[8])`): what custom calls pin, and no array."""
    return shape.element_type == BUFFER_TYPE or any(map(has_buffer, shape.tuple_shapes))


def num_elements(shape: Any) -> int:
    """Number of elements of an array, without padding. ValueError if a dimension is unbounded."""
    if any(d < 0 for d in shape.dimensions):
        raise ValueError("an array dimension has no bound")
    return math.prod(shape.dimensions)


def is_scalar(shape: Any) -> bool:
    """Whether XLA calls it an effective scalar: one element."""
    return num_elements(shape) <= 1


def shape_text(shape: Any) -> str:
    """The shape as text, like `bf16[4096,512]`."""
    kind = TYPE_NAMES.get(shape.element_type, f"type{shape.element_type}")
    return f"{kind}[{','.join(str(d) for d in shape.dimensions)}]"


def layout_text(shape: Any) -> str:
    """Shape, dimension order and tiling, without the memory space: equal for equal arrays."""
    tiles = ["x".join(map(str, t.dimensions)) for t in shape.layout.tiles]
    order = ",".join(map(str, shape.layout.minor_to_major))
    return f"{shape_text(shape)}{{{order}:{';'.join(tiles)}}}"


def memory_space(shape: Any) -> int:
    """The `S(k)` of the layout, 0 for the default memory."""
    return int(shape.layout.memory_space)


def size_bytes(shape: Any) -> int:
    """Bytes in memory, padded to the tiles. ValueError if the shape or its layout is impossible.

    Each tile covers the minor dimensions of what the tile before it left (XLA, *Tiled layout*).
    What a layout splits between two cores (`SC(1:2048)`) takes the larger part in each.
    """
    num_elements(shape)
    layout = shape.layout
    bits = layout.element_size_in_bits or _whole_bytes(ELEMENT_BITS[shape.element_type])
    if bits < 0:
        raise ValueError("a layout has elements of an impossible size")
    dims = [int(d) for d in shape.dimensions]
    for split in layout.split_configs:
        dims[split.dimension] = _largest_part(dims[split.dimension], split.split_indices)
    order = list(layout.minor_to_major) or list(range(len(dims)))[::-1]
    padded = [dims[d] for d in reversed(order)]
    for tile in layout.tiles:
        padded = _tiled(padded, list(tile.dimensions))
    return -(-math.prod(padded) * bits // 8)


def _whole_bytes(bits: int) -> int:
    """Elements of less than a byte take one each, unless the layout packs them (`E(4)`)."""
    return max(8, bits)


def _largest_part(length: int, cuts: Sequence[int]) -> int:
    ends = sorted(min(max(0, int(c)), length) for c in cuts)
    return max(b - a for a, b in pairwise([0, *ends, length]))


def _tiled(dims: list[int], tile: list[int]) -> list[int]:
    """Dimensions (major to minor) after one tile: the tiles' counts, then the tile itself."""
    dims = [1] * (len(tile) - len(dims)) + dims
    outer, covered = dims[: len(dims) - len(tile)], dims[len(dims) - len(tile) :]
    counts, joined = [], 1
    for dim, length in zip(covered, tile, strict=True):
        joined *= dim
        if length == _COMBINE:
            continue
        if length <= 0:
            raise ValueError("a layout tile has an impossible size")
        counts.append(-(-joined // length))
        joined = 1
    return [*outer, *counts, *(t for t in tile if t != _COMBINE)]


def leaves(shape: Any, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The array leaves of a shape with their tuple index, depth first."""
    if is_tuple(shape):
        for number, part in enumerate(shape.tuple_shapes):
            yield from leaves(part, (*index, number))
    elif is_array(shape):
        yield index, shape

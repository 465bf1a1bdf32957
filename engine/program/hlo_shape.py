"""Array shapes of XLA's module message: names and padded sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from engine.program.hlo_proto import ELEMENT_BITS, TUPLE_TYPE, TYPE_NAMES


def is_tuple(shape: Any) -> bool:
    """Whether the shape is a tuple."""
    return bool(shape.element_type == TUPLE_TYPE)


def is_array(shape: Any) -> bool:
    """Whether the shape is an array with a size in bytes (not a tuple, token or opaque)."""
    return shape.element_type in ELEMENT_BITS


def num_elements(shape: Any) -> int:
    """Number of elements of an array, without padding."""
    return math.prod(shape.dimensions)


def is_scalar(shape: Any) -> bool:
    """Whether XLA calls it an effective scalar: one element."""
    return num_elements(shape) <= 1


def shape_text(shape: Any) -> str:
    """Like `bf16[4096,512]`."""
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
    """Bytes in memory: dimensions in layout order, padded to the first tile.

    Later tiles only reorder inside the first one (`T(8,128)(2,1)`), they do not pad again.
    """
    bits = shape.layout.element_size_in_bits or ELEMENT_BITS[shape.element_type]
    order = list(shape.layout.minor_to_major) or list(range(len(shape.dimensions)))[::-1]
    dims = [shape.dimensions[d] for d in order]
    tile = list(shape.layout.tiles[0].dimensions)[::-1] if shape.layout.tiles else []
    dims += [1] * (len(tile) - len(dims))
    padded = [-(-d // t) * t for d, t in zip(dims, tile, strict=False)] + dims[len(tile) :]
    return -(-math.prod(padded) * bits // 8)


def leaves(shape: Any, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The array leaves of a shape with their tuple index, depth first."""
    if is_tuple(shape):
        for number, part in enumerate(shape.tuple_shapes):
            yield from leaves(part, (*index, number))
    elif is_array(shape):
        yield index, shape

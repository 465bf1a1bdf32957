"""The packed message: what goes in comes out, aligned for typed arrays."""

import json
import struct

import numpy as np
import pytest

from ui.components.packing import pack, unpack


def test_round_trip() -> None:
    columns = {
        "a": np.array([1, 2, 3], "u1"),
        "b": np.array([-1, 2**31 - 1], "i4"),
        "c": np.array([], "u4"),
        "d": np.array([0.1, 1e-300], "f8"),
    }
    header, back = unpack(pack({"id": "é", "n": 3}, columns))
    assert header == {"id": "é", "n": 3}
    assert list(back) == list(columns)
    for name, column in columns.items():
        assert np.array_equal(back[name], column)


def test_columns_start_at_multiples_of_eight() -> None:
    for size in range(1, 9):
        message = pack({"x": "y" * size}, {"a": np.zeros(size, "u1"), "b": np.zeros(2, "f8")})
        (length,) = struct.unpack_from("<I", message)
        assert (4 + length) % 8 == 0
        offsets = [o for _, o, _ in json.loads(message[4 : 4 + length])["columns"].values()]
        assert all(offset % 8 == 0 for offset in offsets)


@pytest.mark.parametrize("column", [np.zeros(2, "i8"), np.zeros((2, 2), "u1")])
def test_refuses_what_the_browser_has_no_array_for(column: np.ndarray) -> None:
    with pytest.raises(ValueError, match="no browser array"):
        pack({}, {"a": column})

"""Steps of a component carry numbers that grow."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import streamlit as st

from ui.components.in_order import numbered


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {})


def test_a_later_step_has_a_higher_number_and_the_same_step_its_own() -> None:
    first, again = (numbered({"move": 1}, "map") for _ in range(2))
    moved: list[dict[str, Any]] = [numbered({"move": move}, "map") for move in (2, 3)]
    assert first == again
    assert first["step"] < moved[0]["step"] < moved[1]["step"]
    assert moved[1]["move"] == 3


def test_bytes_carry_it_at_their_end() -> None:
    packed = [numbered(data, "tree") for data in (b"abc", b"abc", b"abd")]
    assert [data[:-8] for data in packed] == [b"abc", b"abc", b"abd"]
    steps = [struct.unpack("<d", data[-8:])[0] for data in packed]
    assert steps[0] == steps[1] < steps[2]

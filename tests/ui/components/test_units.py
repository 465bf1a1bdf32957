"""Quantities in words."""

import pytest

from ui.components.units import count_text, share_text, size_text, time_text

NBSP = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.00 KiB"),
        (12_900_000, "12.3 MiB"),
        (128 * 2**20, "128 MiB"),
        (3 * 2**40, "3.00 TiB"),
    ],
)
def test_sizes(num_bytes: int, text: str) -> None:
    assert size_text(num_bytes).replace(NBSP, " ") == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ns"),
        (2.97e-17, "0 ns"),
        (-1e-14, "0 ns"),
        (1.42e-5, "14.2 µs"),
        (0.99996e-3, "1.00 ms"),
        (2.5, "2.50 s"),
        (3e-9, "3.00 ns"),
        (4e-11, "0.04 ns"),
    ],
)
def test_times(seconds: float, text: str) -> None:
    assert time_text(seconds).replace(NBSP, " ") == text


def test_counts_and_shares() -> None:
    assert count_text(1, "step") == "1 step"
    assert count_text(2048, "step") == "2,048 steps"
    assert share_text(0.8314) == f"83.1{NBSP}%"
    assert share_text(-1e-9) == f"0.0{NBSP}%"

"""Quantities in words."""

import pytest

from ui.components.units import (
    column_texts,
    count_text,
    gain_text,
    noise_s,
    share_text,
    size_text,
    tied_text,
    time_text,
    times_text,
)

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
        (-1.5e-12, "0 ns"),
        (-3e-6, "−3.00 µs"),
    ],
)
def test_times(seconds: float, text: str) -> None:
    assert time_text(seconds).replace(NBSP, " ") == text


def test_counts_and_shares() -> None:
    assert count_text(1, "step") == "1 step"
    assert count_text(2048, "step") == "2,048 steps"
    assert share_text(0.8314) == f"83.1{NBSP}%"
    assert share_text(-1e-9) == f"0.0{NBSP}%"
    assert share_text(-0.00004, 2) == f"0.00{NBSP}%"


def test_a_gain_has_its_sign_and_rounding_has_none() -> None:
    gains = [gain_text(s).replace(NBSP, " ") for s in (2e-6, -2e-6, -1.5e-12)]
    assert gains == ["+2.00 µs", "−2.00 µs", "± 0"]


@pytest.mark.parametrize(
    ("seconds", "texts"),
    [
        ((12e-6, 1.2e-3), ["12 µs", "1,200 µs"]),
        ((12.3e-6, 0.98e-3), ["12.3 µs", "980.0 µs"]),
        ((0.0, 3e-4), ["0 µs", "300 µs"]),
        ((-0.38e-3, 16.58e-3), ["−0.38 ms", "16.58 ms"]),
        ((2e-9, 2e-3), ["0.002 µs", "2,000 µs"]),
        ((0.0, 0.0), ["0 ns", "0 ns"]),
    ],
)
def test_times_of_one_sentence_have_one_unit(seconds: tuple[float, ...], texts: list[str]) -> None:
    assert [text.replace(NBSP, " ") for text in times_text(*seconds)] == texts


def test_a_column_adds_up_as_it_is_printed() -> None:
    printed = column_texts([1e-3 / 3, 1e-3 / 3, 1e-3 / 3, 2e-9])
    amounts = [float(text.split(NBSP)[0]) for text in printed]
    assert sum(amounts[:-1]) == pytest.approx(amounts[-1]) and amounts[-1] == 1.0
    assert {text.split(NBSP)[1] for text in printed} == {"ms"}
    assert column_texts([]) == [f"0{NBSP}ns"]


def test_noise_is_a_microsecond_or_a_ten_thousandth_of_the_gap() -> None:
    assert noise_s(1e-4) == 1e-6 and noise_s(1.0) == pytest.approx(1e-4)


def test_quantities_of_a_sentence_are_tied_to_their_units() -> None:
    said = "Copies 3 MiB during slots 4 to 6, stalls 11.5 µs (2 %) in 3 steps"
    tied = said.replace("3 MiB", f"3{NBSP}MiB").replace("11.5 µs", f"11.5{NBSP}µs")
    assert tied_text(said) == tied.replace("2 %", f"2{NBSP}%")

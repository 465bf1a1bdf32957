"""Numbers on every page: no signed zeros, no rounding shown as time, one unit per sentence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from engine.lessons.catalogue import load_catalogue
from engine.program import library
from tests.ui.apps import open_view
from tests.ui.quantities import faults, table_faults, texts
from ui.model.compare.comparison import MODES

FEW = ("llamadecode-v5e-b8", "teach-prefetch")
ENTRIES = (*library.index(), *library.large())
LESSONS = [lesson.name for lesson in load_catalogue().lessons]


def some(names: list[str], few: tuple[str, ...]) -> list[object]:
    """All of them, of which all but a few are left to the night."""
    return [n if n in few else pytest.param(n, marks=pytest.mark.nightly) for n in names]


def _page(name: str) -> None:
    from importlib import import_module

    import_module(f"ui.{name}.page").render()


def found(at: AppTest) -> Iterator[str]:
    for text in texts(at):
        yield from faults(text)
    yield from table_faults(at)


@pytest.mark.parametrize("page", ["start", "learn", "challenges", "programs", "words"])
def test_pages_without_a_program(page: str) -> None:
    assert list(found(open_view(_page, page))) == []


@pytest.mark.parametrize("name", some([e.name for e in ENTRIES], FEW))
def test_pages_about_a_program(name: str) -> None:
    num_moves = library.find_sample(name).touches
    at = [open_view(_page, page, program=name) for page in ("programs", "compiler", "challenges")]
    for share in (0.2, 0.5, 0.8):
        at.append(open_view(_page, "play", program=name, move=str(int(share * num_moves))))
    for mode in MODES:
        at.append(open_view(_page, "compare", program=name, mode=mode))
    assert [fault for view in at for fault in found(view)] == []


@pytest.mark.parametrize("name", some(LESSONS, (LESSONS[0],)))
def test_lessons(name: str) -> None:
    assert list(found(open_view(_page, "learn", lesson=name))) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<b>Copy</b> −0.0015 ns", "a time is only rounding"),
        ("gains -0.00 %", "a zero has a sign"),
        ("gains −0 ns", "a zero has a sign"),
        ("takes -3.2 µs", "a hyphen stands for a minus"),
        ("12345 instructions", "thousands are not separated"),
        ("slots 1234 to 1,300", "thousands are not separated"),
        ("takes 7946.6 µs", "thousands are not separated"),
        ("saves 12 µs of <b>1.20 ms</b>", "two units in one sentence"),
        ("takes 0.0123456 s", "more than four digits"),
        ("takes 3.2ms", "a unit follows without a gap"),
    ],
)
def test_each_kind_of_fault_is_found(text: str, kind: str) -> None:
    assert any(fault.startswith(kind) for fault in faults(text))


@pytest.mark.parametrize(
    "text",
    [
        "saves 12 of 1,200 µs. It takes 1.20 ms.",
        "<code>fusion.1852</code> of f32[1024,4096], slot 12",
        "± 0 in the end, +3.20 µs, −3.20 µs",
        "tpu-v5e, 819 GB/s; 0.03 % of 12,345 moves",
        "<td>1.20 ms</td><td>12.0 µs</td>",
    ],
)
def test_what_is_right_is_left_alone(text: str) -> None:
    assert list(faults(text)) == []

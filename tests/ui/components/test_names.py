"""Names too long for their place are told apart by their ends; slots are told as they are."""

import pytest

from engine.plan.model import BEFORE_START
from ui.components.names import short_name, slots_text


def test_a_long_name_keeps_both_ends() -> None:
    assert short_name("fusion.12", 9) == "fusion.12"
    assert short_name("bitcast_multiply_fusion.12", 17) == "bitcast_…usion.12"
    names = {short_name(f"bitcast_multiply_fusion.{n}", 17) for n in range(100)}
    assert len(names) == 100 and all(len(name) <= 17 for name in names)


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        (3, 4, "slot 3"),
        (0, 1, "slot 0"),
        (1200, 1300, "slots 1,200 to 1,299"),
        (BEFORE_START, 24, "slots 0 to 23, from the previous run on"),
    ],
)
def test_slots_are_told_to_the_last_one_and_what_comes_before_the_program_in_words(
    start: int, end: int, text: str
) -> None:
    assert slots_text(start, end) == text

"""What is missed comes back at once, what is known ever more rarely."""

from __future__ import annotations

from engine.lessons.positions import Mined
from ui.model.challenges.practice import WAITS, Asked, answered, due, following
from ui.model.learn.progress import Card

KEYS = ["a", "b", "c"]


def asked(*keys: str) -> dict[str, Asked]:
    mined = Mined("p", "", "long_high", 0, 0, "0", (0,))
    return {key: Asked(mined, 0, None) for key in keys}


def test_boxes_go_up_and_back_to_the_first() -> None:
    card, day = Card(), 100
    for number in range(1, len(WAITS) + 2):
        card = answered(card, True, day)
        assert card.box == min(number, len(WAITS) - 1)
        assert card.due == day + WAITS[card.box]
    card = answered(card, False, day)
    assert (card.box, card.due, card.wrong) == (0, day, 1)
    assert list(WAITS) == sorted(WAITS)


def test_due_ones_come_first_then_new_ones_then_none() -> None:
    cards = {"b": Card(1, 5), "c": Card(1, 3)}
    assert due(KEYS, cards, 5) == ["c", "b"]
    assert following(asked(*KEYS), cards, 5) == "c"
    assert following(asked(*KEYS), cards, 2) == "a", "nothing is due, so a new one"
    assert following(asked(*KEYS), {**cards, "a": Card(1, 9)}, 2) is None


def test_the_last_one_is_not_asked_twice_in_a_row() -> None:
    cards = {"a": Card(0, 1)}
    assert following(asked(*KEYS), cards, 1, last="a") == "b"
    assert following(asked("a"), cards, 1, last="a") == "a", "unless there is no other"

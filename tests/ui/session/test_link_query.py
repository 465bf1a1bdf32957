"""What a link says about the move may be anything."""

import pytest

from ui.session.link_query import move_of


@pytest.mark.parametrize(
    ("text", "move", "word"),
    [
        ("", None, ""),
        ("1", 0, ""),
        ("20", 19, ""),
        ("21", 19, "1 to 20"),
        ("0", 0, "1 to 20"),
        ("9" * 5000, None, "not a number"),
        ("-3", None, "not a number"),
        ("٣", None, "not a number"),
        ("1e3", None, "not a number"),
    ],
)
def test_a_move_of_a_link(text: str, move: int | None, word: str) -> None:
    found, problem = move_of({"move": text} if text else {}, 20)
    assert found == move
    assert word in problem and bool(word) == bool(problem)


def test_a_program_without_moves_has_none() -> None:
    assert move_of({"move": "1"}, 0)[0] == 0

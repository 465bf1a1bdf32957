"""What a link says about the move may be anything."""

import pytest

from ui.session.link_query import ignored, look_of, move_of, unknown


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


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            {"program": "p", "move": "3", "axis": "slots", "window": "0_10_0_200.5", "select": "3"},
            (),
        ),
        ({"mode": "layouts", "window": "slots,0,10,0,20", "diff": "1", "embed": "true"}, ()),
        ({"axis": "hours"}, ("axis=hours",)),
        ({"select": "99", "colour": "kind"}, ("select=99",)),
        ({"window": "0_nan_1_2", "mode": "x"}, ("mode=x", "window=0_nan_1_2")),
        ({"area": "100_420_0_9000"}, ()),
        ({"area": "all"}, ("area=all",)),
        ({"utm_source": "mail"}, ("utm_source=mail",)),
        ({f"x{n}": "" for n in range(9)}, ("and 5 more",)),
    ],
)
def test_what_means_nothing_is_said(query: dict[str, str], told: tuple[str, ...]) -> None:
    text = ignored(query, 10)
    assert bool(text) == bool(told)
    assert all(part in text for part in told)


def test_a_look_is_what_means_something() -> None:
    meant = {"colour": "age", "window": "0_10_0_20"}
    assert look_of({**meant, "axis": "constructor", "area": "all", "move": "3"}) == meant
    assert look_of({"colour": "constructor"}) == {}


def test_a_page_says_which_parameters_it_does_not_know() -> None:
    assert unknown({"lesson": "x", "embed": "true"}, ("lesson",)) == ""
    assert "foo=bar" in unknown({"lesson": "x", "foo": "bar"}, ("lesson",))

"""A browser keeps its name over reloads, though its cookie changes."""

import pytest

from ui.session.state import visitor_of


def test_the_same_token_under_another_mask_is_the_same_visitor() -> None:
    first = visitor_of("2|2a5097d6|d40f4b5d293431c3add300b044ed2e8f|1795557188")
    again = visitor_of("2|127d5d0b|ec2281801119fb1e95feca6d7cc0e452|1795557190")
    other = visitor_of("2|127d5d0b|ec2281801119fb1e95feca6d7cc0e453|1795557190")
    assert len(first) == 16
    assert first == again != other


@pytest.mark.parametrize("cookie", ["anything", "2|zz|00|1", "2||00|1", "1|2|3|4|5"])
def test_another_cookie_names_a_visitor_too(cookie: str) -> None:
    assert len(visitor_of(cookie)) == 16


@pytest.mark.parametrize("cookie", [None, "", object()])
def test_without_a_cookie_nobody_is_named(cookie: object) -> None:
    assert visitor_of(cookie) == ""

"""A browser is known by the cookie that the server gave it, and by no other."""

import pytest

from ui.session.visitor import COOKIE, new_cookie, visitor_of


def value() -> str:
    return new_cookie("/", is_secure=False).partition(";")[0].removeprefix(f"{COOKIE}=")


def test_every_newcomer_has_a_name_of_their_own() -> None:
    first, second = value(), value()
    assert len(visitor_of(first)) == 16
    assert visitor_of(first) == visitor_of(first) != visitor_of(second)
    assert visitor_of(first) not in first, "what is kept does not say what the cookie is"


@pytest.mark.parametrize("cookie", [None, "", object(), "anything", "../" * 16, "g" * 32, "0" * 33])
def test_without_a_cookie_of_ours_nobody_is_named(cookie: object) -> None:
    assert visitor_of(cookie) == ""

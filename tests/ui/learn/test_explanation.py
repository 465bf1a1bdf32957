"""Why an answer is wrong is said with as much as is true of it."""

from __future__ import annotations

import pytest

from engine.game.reference.game import ReferenceGame
from engine.lessons.refutation import Moment, Refutation
from engine.program.library import load_sample
from ui.model.learn.explanation import why_html

MICROSECOND = 1e-6


@pytest.mark.parametrize(
    ("lost_us", "words"),
    [
        ((-1.0, 4.0, 1.0), "Most of it"),
        ((-1.0, 2.0, 1.5, 1.5), "The largest part of it"),
        ((5.0, 1.0), "At once it loses 5"),
        ((5.0,), "At once it loses 5"),
        ((5.0, -1.0), "At once it loses 5"),
    ],
)
def test_what_costs_most_is_named(lost_us: tuple[float, ...], words: str) -> None:
    lost_s = [MICROSECOND * us for us in lost_us]
    moments = tuple(
        Moment(move, lost, 2, 1, None, "It stays slow.") for move, lost in enumerate(lost_s)
    )
    length = len(moments)
    found = Refutation(0, (2,) * length, (1,) * length, -lost_s[0], sum(lost_s), moments, length)
    told = str(why_html(ReferenceGame(load_sample("teach-evict-and-return")), found))
    assert words in told and "It stays slow." in told
    assert told.count("Most of it") == (words == "Most of it")


def test_where_no_moment_costs_anything_none_is_named() -> None:
    moment = Moment(0, 0.0, 2, 1, None, "It stays slow.")
    found = Refutation(0, (2,), (1,), 0.0, 5 * MICROSECOND, (moment,), 1)
    told = str(why_html(ReferenceGame(load_sample("teach-evict-and-return")), found))
    assert "It stays slow." not in told

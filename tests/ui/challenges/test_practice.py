"""The order of positions by rating and theme, near-twins, ratings after answers, and runs."""

from __future__ import annotations

import pytest

from engine.lessons.positions import Mined
from engine.lessons.rating import Rating
from engine.lessons.themes import EVICTION, LOOP, About
from ui.model.challenges.practice import (
    LIMIT_S,
    MINUTES,
    MOST_WRONG,
    STREAK,
    Run,
    after_answer,
    following,
    positions_of,
)
from ui.model.learn.progress import Card


def mined(name: str, *about: About) -> Mined:
    moves = tuple(range(len(about)))
    return Mined(name, "", "long_high", 0, 0, "0" * 9, moves, about=about)


EASY = About((LOOP,), 1, "a")
TWIN = About((LOOP,), 2, "a")
HARD = About((EVICTION,), 64, "b")
HARDEST = About((EVICTION, LOOP), 128, "c")
GAMES = (mined("p", EASY, HARD), mined("q", TWIN, HARDEST))


def test_programs_take_turns_and_of_twins_the_first_is_asked() -> None:
    positions = positions_of(GAMES)
    assert [a.about for a in positions.values()] == [EASY, HARD, HARDEST]
    twin = GAMES[1].key(0)
    assert twin in positions_of(GAMES, kept=[twin]), "what was answered stays"


def test_a_theme_lists_what_has_it() -> None:
    assert [a.about for a in positions_of(GAMES, EVICTION).values()] == [HARD, HARDEST]
    assert positions_of(GAMES, "nothing") == {}


def test_new_ones_come_in_the_order_of_the_rating_after_what_is_due() -> None:
    positions = positions_of(GAMES)
    easy, hard, hardest = positions
    assert following(positions, {}, 9, Rating(900)) == easy
    assert following(positions, {}, 9, Rating(2500)) == hardest
    assert following(positions, {}, 9, Rating(1950)) == hard
    assert following(positions, {hardest: Card(1, 5)}, 9, Rating(900)) == hardest
    assert following(positions, {key: Card(1, 50) for key in positions}, 9) is None


def test_a_right_answer_to_a_hard_position_is_worth_more() -> None:
    positions = list(positions_of(GAMES).values())
    new = Rating()
    easy, _, hardest = (after_answer(new, p, True).points for p in positions)
    assert hardest > easy > new.points
    assert after_answer(new, positions[0], False).points < new.points


def test_a_streak_ends_with_the_first_wrong_answer() -> None:
    run = Run(STREAK, 0.0, 1)
    run.answered("a", True, 5)
    run.answered("b", True, 500)
    assert (run.score, run.is_over) == (2, False)
    run.answered("c", False, 510)
    run.answered("d", True, 511)
    assert (run.score, run.missed, run.over_s) == (2, ["c"], 510)


def test_three_minutes_end_with_the_clock_or_with_three_wrong() -> None:
    run = Run(MINUTES, 100.0, 1)
    run.answered("a", True, 101)
    run.answered("b", True, 100 + LIMIT_S)
    assert (run.score, run.is_over) == (1, True)
    again = Run(MINUTES, 0.0, 1)
    for number in range(MOST_WRONG):
        assert not again.is_over
        again.answered(str(number), False, number)
    assert again.is_over and again.left_s(0) == pytest.approx(LIMIT_S)


def test_a_run_begins_easy_gets_harder_and_asks_nothing_twice() -> None:
    rows = [About((LOOP,), 2**n, str(n)) for n in range(8)]
    positions = positions_of([mined("p", *rows)])
    run, met = Run(STREAK, 0.0, 3), []
    while (key := run.next(positions)) is not None:
        met.append(positions[key].rating.points)
        run.answered(key, True, 0)
        run.score += 1
    assert len(met) == len(rows) == len(set(run.asked))
    assert sum(met[:3]) < sum(met[-3:])
    assert run.is_over

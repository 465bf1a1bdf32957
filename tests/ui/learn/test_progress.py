"""What was done: merged, kept by the browser, exported and imported; hostile files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from engine.errors import LessonError
from engine.game.reference.game import ReferenceGame
from engine.lessons.positions import Mined
from engine.lessons.rating import Rating
from engine.program import library
from ui.model.learn.attempt import Attempt
from ui.model.learn.progress import (
    LONGEST_GAME,
    MOST_GAMES,
    Card,
    Mistake,
    Progress,
    Spent,
    progress_of,
)
from ui.model.learn.state import Learning, Seat

DONE = Progress({"a": 3, "b": 1}, {"p/greedy": 12_000}, {"p/7": Card(2, 20_000, 3, 1)})


def test_a_file_read_again_is_the_same() -> None:
    assert progress_of(DONE.text(), "x") == DONE
    assert DONE.done == {"a", "b"} and not DONE.is_empty and Progress().is_empty


FULL = replace(
    DONE,
    games={"lesson a": "1;0.2-3.1"},
    spent={"lesson a": Spent(2, 90)},
    records={"streak": 7},
    rating=Rating(1612.5, 120.0, 0.06),
    name="Ada L.",
    name_at=1_700_000_000_000_000_001,
    class_at=1_700_000_000_000_000_002,
    mistakes=(Mistake("p", "hash", "long_high", 0, 0, "0121", (2,)),),
    forgotten=1_700_000_000_000_000_000,
)


def test_everything_that_is_kept_comes_back() -> None:
    assert progress_of(FULL.text(), "x") == FULL


@pytest.mark.parametrize("place", ["support", "roomy"])
def test_a_mistake_under_a_place_rule_of_former_times_costs_nothing_else(place: str) -> None:
    former = replace(FULL.mistakes[0], place=place)
    kept = progress_of(replace(FULL, mistakes=(former, *FULL.mistakes)).text(), "x")
    assert kept == FULL


def test_a_mistake_has_a_card_of_its_own_where_the_same_position_ships() -> None:
    shipped = Mined("p", "hash", "long_high", 0, 300, "0121", (2,))
    mistake = FULL.mistakes[0]
    keys = {shipped.key(2), mistake.key(2), replace(mistake, place="best_fit").key(2)}
    assert len(keys) == 3
    assert mistake.key(2) == replace(mistake, game="0100").key(2), "of the same moves before it"
    (again,) = progress_of(FULL.text(), "x").mistakes
    assert again.key(2) == mistake.key(2)


def test_merging_keeps_the_better_and_ones_own() -> None:
    other = Progress(
        games={"lesson a": "0;0.1", "lesson b": "0;0.2"},
        spent={"lesson a": Spent(1, 20)},
        records={"streak": 9},
        rating=Rating(1500, 60, 0.06),
        name="Grace",
    )
    merged = FULL.merged(other)
    assert merged.games == {"lesson a": "1;0.2-3.1", "lesson b": "0;0.2"}
    assert merged.spent == FULL.spent
    assert merged.records == {"streak": 9}
    assert merged.rating == other.rating, "the surer one"
    assert merged.name == "Ada L."


def test_of_many_boards_the_oldest_games_go() -> None:
    progress = Progress()
    for number in range(MOST_GAMES + 5):
        progress = progress.with_game(f"board {number}", "0;0.1")
    assert len(progress.games) == MOST_GAMES
    assert "board 4" not in progress.games and "board 5" in progress.games


def test_a_game_too_long_to_be_kept_loses_nothing_else() -> None:
    long = Mistake("unetfull-v5e-b2", "0", "long_high", 0, 0, "1" * (LONGEST_GAME + 1), (5,))
    kept = Progress({"a": 3}).with_mistakes([replace(long, game="11111111"), long])
    again = progress_of(kept.text(), "mine")
    assert again.stars == {"a": 3} and [len(m.game) for m in again.mistakes] == [8]


def test_the_last_game_is_the_last_after_a_reload() -> None:
    kept = Progress().with_game("match a 60", "1;0.1").with_game("match a 10", "1;0.1")
    assert list(progress_of(kept.text(), "mine").games) == ["match a 60", "match a 10"]


def test_a_run_without_a_right_answer_is_no_record() -> None:
    assert Progress().with_record("streak", 0).is_empty


def test_time_in_many_short_deeds_counts() -> None:
    now = [100.0]
    learning = Learning(clock=lambda: now[0])
    learning.spend("lesson a")
    for _ in range(100):
        now[0] += 1.5
        learning.spend("lesson a")
    assert learning.progress.spent["lesson a"].seconds == 150
    for _ in range(18):
        now[0] += 0.5
        learning.spend("lesson a")
    assert learning.progress.spent["lesson a"].seconds == 159


def test_time_counts_while_somebody_is_at_it() -> None:
    now = [0.0]
    learning = Learning(clock=lambda: now[0])
    game = ReferenceGame(library.load_sample("teach-prefetch"))
    learning.seat("lesson a", Attempt.from_start(game))
    now[0] = 30
    learning.spend("lesson a")
    now[0] = 5000
    learning.spend("lesson a", is_try=True)
    assert learning.progress.spent == {"lesson a": Spent(1, 150)}


def test_a_later_token_is_later_in_the_alphabet() -> None:
    learning, tokens = Learning(), []
    for number in range(1, 4):
        learning.keep(Progress({"a": number}))
        tokens.append(learning.token)
    assert tokens == sorted(tokens)


def test_merging_loses_nothing() -> None:
    other = Progress({"b": 2, "c": 1}, {"p/greedy": 11_000}, {"p/7": Card(0, 1, 0, 1)})
    for merged in (DONE.merged(other), other.merged(DONE)):
        assert merged.stars == {"a": 3, "b": 2, "c": 1}
        assert merged.won == {"p/greedy": 11_000}
        assert merged.cards == {"p/7": Card(2, 20_000, 3, 1)}


def test_stars_and_times_only_get_better() -> None:
    assert DONE.with_stars("a", 1).stars["a"] == 3
    assert DONE.with_stars("z", 0) == DONE, "a lesson that was not finished is not done"
    assert DONE.with_win("p/greedy", 13_000).won["p/greedy"] == 12_000


def broken(**changes: object) -> str:
    return json.dumps({**json.loads(DONE.text()), **changes})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a progress file"),
        (broken(name="A\ud800"), "not JSON"),
        (broken(version=9), "version 9, but 1 is read"),
        (broken(stars={"a": 4}), "stars, a: 4 is not 0 to 3"),
        (broken(stars={"a": True}), "stars, a: True is not"),
        (broken(stars=[1]), "stars is not a table"),
        (broken(stars={"a" * 300: 1}), "longer than 200"),
        (broken(cards={"a": [1, 2]}), "not four whole numbers"),
        (broken(cards={"a": [1, 2, 3, -4]}), "not four whole numbers"),
        (broken(games={"a": 7}), "games, a: not a text"),
        (broken(spent={"a": [1]}), "not two whole numbers"),
        (broken(rating=[1500, "x", 1]), "not three numbers"),
        (broken(rating=[1500, -3, 0.06]), "is no rating"),
        (broken(forgotten="x"), "no time in nanoseconds"),
        (broken(name_at=-1), "name_at: -1 is no time in nanoseconds"),
        (broken(class_at=1.5), "class_at: 1.5 is no time in nanoseconds"),
        (broken(mistakes=[["p", "h", "long_high", "01"]]), "no game with a mistake"),
        (broken(mistakes=[["p", "h", "nowhere", "01", 1]]), "no game with a mistake"),
        (broken(mistakes=[["p", "h", "long_high", "01", 2]]), "not one of the game"),
        ("x" * 2_000_000, "larger than"),
    ],
)
def test_what_is_no_progress_is_one_line(text: str, complaint: str) -> None:
    with pytest.raises(LessonError, match=complaint) as caught:
        progress_of(text, "mine.json")
    assert str(caught.value).startswith("mine.json: ") and "\n" not in str(caught.value)


def test_what_the_browser_kept_is_taken_up_once() -> None:
    learning = Learning()
    assert learning.take(DONE.text()) and learning.progress == DONE
    assert not learning.take(DONE.text())
    assert learning.token == "", "the browser has it already"
    learning.keep(learning.progress.with_stars("c", 2))
    assert learning.token


def test_what_was_done_before_the_browser_spoke_is_kept_too() -> None:
    learning = Learning()
    learning.keep(Progress({"new": 1}))
    token = learning.token
    assert learning.take(DONE.text())
    assert learning.progress.stars == {"new": 1, **DONE.stars}
    assert learning.token != token, "the browser has to keep both"


def test_forgetting_is_not_undone_by_the_browsers_old_text() -> None:
    learning = Learning()
    learning.take(DONE.text())
    learning.forget()
    assert not learning.take(DONE.text()) and learning.progress.is_empty


def tabs() -> tuple[Learning, Learning]:
    """Two tabs of one browser, which has kept something."""
    one, other = Learning(), Learning()
    for tab in (one, other):
        tab.take(DONE.text())
    return one, other


def test_what_another_tab_has_done_is_merged() -> None:
    one, other = tabs()
    one.keep(one.progress.with_stars("c", 2))
    token = other.token
    assert other.take(one.text)
    assert other.progress.stars == {**DONE.stars, "c": 2}
    assert other.token == token, "nothing was done here: the browser has it all"
    other.keep(other.progress.with_stars("d", 1))
    one.keep(one.progress.with_stars("e", 3))
    token = other.token
    assert other.take(one.text) and other.token != token
    assert other.progress.stars == {**DONE.stars, "c": 2, "d": 1, "e": 3}


def test_tabs_with_two_games_on_one_board_do_not_answer_each_other_for_ever() -> None:
    one, other = tabs()
    one.keep(one.progress.with_game("lesson a", "0;0.1"))
    other.keep(other.progress.with_game("lesson a", "0;0.2"))
    tabs_in_turn, written = [one, other] * 5, 0
    for writer, reader in pairwise(tabs_in_turn):
        token = reader.token
        reader.take(writer.text)
        if reader.token == token:
            break
        written += 1
        reader.take(reader.text)  # as the browser has it now
    assert written < 3
    assert one.progress.games == {"lesson a": "0;0.1"}, "each keeps its own"
    assert other.progress.games == {"lesson a": "0;0.2"}


def test_forgetting_everything_wins_over_older_tabs() -> None:
    one, other = tabs()
    other.seat("lesson b", Attempt.from_start(ReferenceGame(library.load_sample("teach-prefetch"))))
    one.forget()
    assert one.text, "the browser has to remember that it was forgotten"
    late = other.progress.with_stars("late", 3).text()
    assert other.take(one.text)
    assert other.progress.is_empty and not other.seats
    one.take(one.text)
    token = one.token
    assert not one.take(late)
    assert one.progress.is_empty and one.token != token, "the browser has to forget it again"
    other.keep(other.progress.with_stars("c", 1))
    assert one.take(other.text) and one.progress.stars == {"c": 1}
    one.remember()
    assert other.take(one.text) and other.progress.stars == {**DONE.stars, "c": 1}


def test_what_was_done_before_the_browser_spoke_outlives_what_it_had_forgotten() -> None:
    learning = Learning()
    learning.keep(Progress({"new": 1}))
    learning.take(Progress(forgotten=5).text())
    assert learning.progress == Progress({"new": 1}, forgotten=5)


def test_a_file_of_another_browser_is_added_whenever_that_forgot() -> None:
    learning = Learning(progress=Progress({"z": 1}, forgotten=7))
    for forgotten in (0, 9):
        text = replace(DONE, forgotten=forgotten).text()
        learning.add(text, "f")
        assert learning.progress == replace(DONE, stars={"z": 1, **DONE.stars}, forgotten=7)


@pytest.mark.parametrize("text", ["", "nonsense", "{}"])
def test_a_browser_with_nothing_of_use_changes_nothing(text: str) -> None:
    learning = Learning()
    assert not learning.take(text) and learning.progress.is_empty


def test_an_import_adds() -> None:
    learning = Learning(progress=Progress({"z": 1}))
    learning.add(DONE.text(), "f")
    assert learning.progress.stars == {"z": 1, **DONE.stars}


def laid(learning: Learning) -> Seat:
    """A board with what was played on it, or a fresh one."""
    return learning.seat(
        "lesson a", Attempt.from_start(ReferenceGame(library.load_sample("teach-prefetch")))
    )


def begun() -> Learning:
    """Who has played the first move of a game."""
    learning = Learning()
    game = laid(learning).attempt.tip.game
    learning.seats["lesson a"].attempt.play(game.move_index, game.legal_actions()[0])
    learning.save_game("lesson a")
    return learning


def test_taking_it_back_brings_back_the_unfinished_game() -> None:
    learning = begun()
    games = learning.progress.games
    learning.forget()
    assert not laid(learning).attempt.is_begun
    learning.remember()
    assert laid(learning).attempt.is_begun
    learning.save_game("lesson a")
    assert learning.progress.games == games


def test_an_import_brings_its_unfinished_game_onto_a_board_that_was_laid_out() -> None:
    learning, text = Learning(), begun().text
    assert not laid(learning).attempt.is_begun
    learning.add(text, "f")
    assert laid(learning).attempt.is_begun
    learning.save_game("lesson a")
    assert learning.progress.games == progress_of(text, "f").games


def test_of_name_and_class_the_last_change_counts_in_whichever_tab_it_was() -> None:
    one, other = tabs()
    one.name("Ada")
    one.join("class=x")
    assert other.take(one.text)
    assert (other.progress.name, other.progress.class_query) == ("Ada", "class=x")
    other.join("")
    other.name("")
    one.keep(one.progress.with_stars("c", 1))
    assert one.take(other.text)
    assert (one.progress.name, one.progress.class_query) == ("", "")
    assert not other.take(one.text) or (other.progress.name, other.progress.class_query) == ("", "")
    assert Learning(progress=Progress(class_at=3)).progress.is_empty


def test_a_file_changes_neither_a_name_nor_a_class_that_was_left() -> None:
    theirs = begun()
    learning = Learning()
    learning.name("Ada")
    learning.join("class=x")
    learning.join("")
    theirs.name("Bob")
    theirs.join("class=y")
    learning.add(theirs.text, "f")
    assert (learning.progress.name, learning.progress.class_query) == ("Ada", "")

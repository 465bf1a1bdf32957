"""The page Learn without a browser: the map, a lesson, hints, verdicts, progress."""

from __future__ import annotations

import json
import re
from typing import Any

from streamlit.testing.v1 import AppTest

from engine.game.moves import COPY, DROP, NO_COPY
from engine.lessons.catalogue import load_catalogue
from engine.lessons.judge import Judge, always_drop
from tests.ui.apps import open_view, session_of
from ui.learn.lesson_map_view import places_of, rows_of
from ui.learn.progress_view import KEY
from ui.model.learn.lesson import mark_up
from ui.model.learn.progress import Progress
from ui.model.learn.state import Seat

SHELF = load_catalogue()
FIRST = SHELF.lessons[0]


def _learn() -> None:
    from ui.learn import page

    page.render()


def html(at: AppTest) -> str:
    return " ".join(element.proto.body for element in at.get("html"))


def command(at: AppTest, do: str, lesson: str = FIRST.name, **given: Any) -> None:
    """What the map would send for a button or a key."""
    here = at.session_state["explorer"]
    seat = here.learning.seats[f"lesson {lesson}"]
    serial = here.handled.get("lesson", 0) + 1
    order = {"do": do, "serial": serial, "move": seat.cursor.move, **given}
    told = {"plan": seat.stored, "held": 0, "move": seat.cursor.move, "selected": -1}
    at.session_state["lesson"] = {"cursor": {**told, "nonce": seat.cursor.nonce, "command": order}}
    at.run()
    assert not at.exception


def test_the_map_offers_the_first_lesson() -> None:
    at = open_view(_learn)
    button = at.button(key="next_lesson")
    assert FIRST.title in button.label
    button.click().run()
    assert not at.exception
    assert FIRST.title in at.subheader[0].value and "Show a hint" in html(at)


def test_progress_that_the_browser_cannot_keep_is_told_once() -> None:
    at = open_view(_learn)
    learning = session_of(at).learning
    at.session_state[KEY] = {"stored": {"text": "", "kept": False}}
    at.run()
    assert "cannot be kept" not in html(at), "there is nothing to lose"
    learning.keep(Progress({FIRST.name: 1}))
    for _ in range(2):
        at.run()
    assert html(at).count("cannot be kept by this browser") == 1
    at.session_state[KEY] = {"stored": {"text": "", "kept": True}}
    at.run()
    assert learning.is_kept and not learning.is_warned


def test_the_goal_is_reached_and_kept() -> None:
    at = open_view(_learn, lesson=FIRST.name)
    assert f"Finish in {1e6 * Judge(FIRST).optimum_s:,.0f}" in html(at)
    for action in Judge(FIRST).best.actions:
        command(at, "play", action=action)
    assert "The best there is!" in html(at) and "Next lesson" in html(at)
    assert f"takes {1e6 * Judge(FIRST).optimum_s:,.0f} µs" in html(at), "in the unit of the goal"
    assert "Show a hint" not in html(at)
    learning = at.session_state["explorer"].learning
    assert learning.progress.stars == {FIRST.name: 3} and learning.token
    command(at, "play", action=Judge(FIRST).best.actions[-1])
    assert learning.progress.spent[f"lesson {FIRST.name}"].tries == 1, "the same card again"
    command(at, "next")
    assert at.query_params["lesson"] in (["three-answers"], "three-answers")


def test_what_is_said_after_a_lesson_is_marked_up() -> None:
    lesson = next(x for x in SHELF.lessons if "`" in x.after)
    at = open_view(_learn, lesson=lesson.name)
    for action in Judge(lesson).best.actions:
        command(at, "play", lesson.name, action=action)
    assert str(mark_up(lesson.after)) in html(at)


def test_undo_and_redo_are_offered_where_there_is_something_to_take_back() -> None:
    at = open_view(_learn, lesson=FIRST.name)

    def offered() -> list[str]:
        maps = [e for e in at.get("bidi_component") if e.proto.component_name == "memory_map"]
        found: list[str] = json.loads(maps[-1].proto.json)["tree"]["can"]
        return found

    assert offered() == []
    command(at, "play", action=NO_COPY)
    assert offered() == ["undo"]
    command(at, "undo")
    assert offered() == ["redo"]


def test_a_missed_goal_says_by_how_much_and_can_be_undone() -> None:
    at = open_view(_learn, lesson=FIRST.name)
    command(at, "play", action=NO_COPY)
    seat = at.session_state["explorer"].learning.seats[f"lesson {FIRST.name}"]
    while not seat.attempt.is_over:
        command(at, "play", action=always_drop(seat.attempt.tip.game))
    assert "Not yet" in html(at) and "too slow" in html(at)
    assert not at.session_state["explorer"].learning.progress.stars
    command(at, "undo")
    assert "Not yet" not in html(at)
    command(at, "retry")
    assert "Saved 0" in html(at)


def missed(at: AppTest) -> Seat:
    """Play the tempting action, then drop all: the goal is missed."""
    command(at, "play", action=NO_COPY)
    seat: Seat = at.session_state["explorer"].learning.seats[f"lesson {FIRST.name}"]
    while not seat.attempt.is_over:
        command(at, "play", action=always_drop(seat.attempt.tip.game))
    return seat


def test_a_missed_goal_is_explained_and_both_lines_can_be_played() -> None:
    at = open_view(_learn, lesson=FIRST.name)
    seat = missed(at)
    own = seat.attempt.tip.game
    text = html(at)
    assert "What cost most" in text and "Play the line that refutes it" in text
    command(at, "line", which="wrong")
    assert seat.line is not None and "The line that refutes it" in html(at)
    assert "Drop instead of NoCopy" in html(at), "what the figure is held against"
    wrong = seat.on_board.tip.game
    assert wrong.actions[: len(seat.line.refutation.wrong)] != own.actions
    command(at, "go", to=seat.line.refutation.last)
    assert seat.cursor.move == seat.line.refutation.last
    command(at, "line", which="right")
    right = seat.on_board.tip.game
    best = Judge(FIRST).best.actions
    begin = seat.line.refutation.move
    shown = right.actions[begin:]
    assert tuple(shown) == seat.line.refutation.right[: len(shown)]
    assert best[0] != NO_COPY
    command(at, "play", action=NO_COPY)
    assert seat.line is None and seat.attempt.tip.game is own, "a line is only looked at"


def test_the_decision_that_cost_most_can_be_taken_again() -> None:
    at = open_view(_learn, lesson=FIRST.name)
    seat = missed(at)
    point = seat.explained
    assert point is not None and point[1] is not None
    command(at, "again_from")
    assert seat.attempt.tip.game.move_index == point[1].refutation.move
    assert not seat.attempt.is_over


def test_so_can_one_that_led_into_a_dead_end_though_it_has_no_line_to_play() -> None:
    at = open_view(_learn, lesson="dead-ends")
    for action in (NO_COPY, NO_COPY, COPY, DROP):
        command(at, "play", lesson="dead-ends", action=action)
    seat = at.session_state["explorer"].learning.seats["lesson dead-ends"]
    assert "What cost most: your decision on" in html(at) and "move 3" in html(at)
    assert "It leads into a dead end" in html(at)
    command(at, "line", lesson="dead-ends", which="wrong")
    assert seat.line is None
    command(at, "again_from", lesson="dead-ends")
    assert seat.attempt.tip.game.move_index == 2


def test_a_nonsense_line_is_not_shown() -> None:
    at = open_view(_learn, lesson=FIRST.name)
    command(at, "line", which="wrong")
    seat = missed(at)
    command(at, "line", which="sideways")
    assert seat.line is None


def test_hints_come_one_by_one() -> None:
    at = open_view(_learn, lesson=FIRST.name)
    for number, hint in enumerate(FIRST.hints):
        assert mark_up(hint) not in html(at)
        command(at, "hint")
        assert mark_up(hint) in html(at), number
    assert "One more hint" not in html(at)


def test_a_refused_action_says_why() -> None:
    at = open_view(_learn, lesson=FIRST.name)
    game = FIRST.begin()
    command(at, "play", action=game.legal().index(False))
    assert at.session_state["explorer"].learning.seats[f"lesson {FIRST.name}"].cursor.refusal


def test_an_unknown_lesson_shows_the_map_and_says_so() -> None:
    at = open_view(_learn, lesson="no<such>lesson")
    assert "no lesson is called" in at.warning[0].value
    assert at.button(key="next_lesson")


def test_searching_says_when_nothing_is_found() -> None:
    at = open_view(_learn)
    at.text_input(key="lesson_search").set_value("xyzzy").run()
    assert "No lesson has these words" in at.info[0].value


def test_progress_can_be_loaded_and_forgotten() -> None:
    at = open_view(_learn)
    done = Progress({FIRST.name: 2})
    at.session_state["progress"] = {"stored": {"text": done.text(), "kept": True}}
    at.run()
    assert at.session_state["explorer"].learning.progress == done
    assert "1 of 16 lessons done" in " ".join(c.value for c in at.caption) or re.search(
        r"1 of \d+ lessons done, 2 of", " ".join(c.value for c in at.caption)
    )
    assert at.button(key="progress_forget").disabled, "it asks first"
    at.checkbox(key="progress_sure").check().run()
    at.button(key="progress_forget").click().run()
    assert at.session_state["explorer"].learning.progress.is_empty
    at.button(key="progress_remember").click().run()
    assert at.session_state["explorer"].learning.progress.stars == done.stars


def test_words_of_other_fields_find_lessons_and_say_what_they_were_taken_for() -> None:
    at = open_view(_learn)
    at.text_input(key="lesson_search").set_value("MCTS").run()
    assert not at.info
    assert "“mcts” is here: search" in " ".join(c.value for c in at.caption)


def test_a_page_that_is_loaded_anew_goes_on_where_it_was() -> None:
    at = open_view(_learn, lesson=FIRST.name)
    command(at, "play", action=NO_COPY)
    command(at, "hint")
    before = at.session_state["explorer"].learning
    kept = before.progress.text()
    actions = before.seats[f"lesson {FIRST.name}"].attempt.tip.game.actions
    again = open_view(_learn, lesson=FIRST.name)
    again.session_state["progress"] = {"stored": {"text": kept, "kept": True}}
    again.run()
    seat = again.session_state["explorer"].learning.seats[f"lesson {FIRST.name}"]
    assert seat.attempt.tip.game.actions == actions
    assert seat.num_hints == 1
    assert mark_up(FIRST.hints[0]) in html(again)


def test_the_map_shows_what_is_done_and_what_that_opens() -> None:
    fresh = {row["name"]: row for row in rows_of(SHELF, Progress())}
    assert [n for n, row in fresh.items() if row["state"] == "open"] == [FIRST.name]
    (opened,) = SHELF.opens(FIRST.name)
    after = {row["name"]: row for row in rows_of(SHELF, Progress({FIRST.name: 1}))}
    assert after[FIRST.name]["state"] == "done" and after[opened.name]["state"] == "open"
    places = places_of(SHELF)
    assert len(set(places.values())) == len(SHELF.lessons)
    for lesson in SHELF.lessons:
        assert all(places[need][0] < places[lesson.name][0] for need in lesson.needs)


def test_marks_in_hints_are_marks_and_nothing_else_is() -> None:
    assert mark_up("a **b** `c` <d>") == "a <b>b</b> <code>c</code> &lt;d&gt;"

"""A class: its link there and back, the student's list, the table of all students."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from engine.errors import LessonError
from engine.lessons.catalogue import load_catalogue
from engine.lessons.judge import Judge
from engine.lessons.rating import Rating
from tests.ui.apps import browser_keeps, open_view
from tests.ui.learn.test_learn_page import FIRST, command, html
from ui.learn.classroom_view import position_title, positions
from ui.model.learn.classroom import ClassSet, class_table, csv_of, file_name_of, set_of
from ui.model.learn.progress import Card, Progress, Spent, progress_of
from ui.model.learn.state import Learning

LESSONS = [lesson.name for lesson in load_catalogue().lessons]
POSITIONS = positions()
KEYS = list(POSITIONS)
SET = ClassSet("Compilers, 2nd year", tuple(LESSONS[:2]), tuple(KEYS[:2]))
ADA = Progress(
    stars={LESSONS[0]: 3, LESSONS[5]: 2},
    cards={KEYS[0]: Card(1, 1, 1, 2)},
    spent={f"lesson {LESSONS[0]}": Spent(2, 90), f"position {KEYS[0]}": Spent(3, 60)},
    rating=Rating(1612.4, 90, 0.06),
    name="Ada",
)


def _learn() -> None:
    from ui.learn import page

    page.render()


def test_a_link_says_the_same_set() -> None:
    query = dict(parse_qsl(SET.query))
    assert set_of(query, LESSONS, KEYS) == (SET, [])


def test_what_is_not_here_is_named_and_left_out() -> None:
    query = {"class": "x", "lessons": f"{LESSONS[0]},gone,{LESSONS[0]}", "positions": "no/1-a"}
    found, missing = set_of(query, LESSONS, KEYS)
    assert found == ClassSet("x", (LESSONS[0],))
    assert missing == ["gone", "no/1-a"]
    assert set_of({"lessons": LESSONS[0]}, LESSONS, KEYS) == (None, [])


def test_the_table_has_a_row_per_student_and_counts_what_was_set() -> None:
    again = Progress(stars={LESSONS[1]: 1}, name="Ada")
    nameless = Progress(cards={KEYS[1]: Card(0, 1, 0, 1)})
    table = class_table([("a.json", ADA), ("b.json", again), ("bob.json", nameless)], SET)
    assert list(table["name"]) == ["Ada", "bob"]
    assert list(table["solved"]) == [3, 0]
    assert list(table["stars"]) == [4, 0]
    assert list(table["right"]) == [1, 0]
    assert list(table["wrong"]) == [2, 1]
    assert list(table["tries"]) == [5, 0]
    assert list(table["minutes"]) == [2.5, 0.0]
    assert list(table["rating"]) == [1612, 1500]
    assert list(table[LESSONS[0]]) == ["✓", ""]
    assert list(table[KEYS[0]]) == ["✓", ""]
    assert "✗" not in set(table[LESSONS[1]])


def test_what_was_tried_in_vain_has_a_mark() -> None:
    tried = Progress(spent={f"lesson {LESSONS[0]}": Spent(1, 9)}, name="Bob")
    assert list(class_table([("b.json", tried)], SET)[LESSONS[0]]) == ["✗"]


def test_students_without_a_name_are_not_one() -> None:
    students = [("mallocmuzero-progress.json", Progress({name: 3})) for name in ("a", "b")]
    assert class_table(students)["solved"].tolist() == [1, 1]


def test_a_name_is_no_formula_to_a_spreadsheet() -> None:
    table = class_table([("a.json", Progress({"a": 3}, name='=HYPERLINK("http://x")'))])
    assert "\n'=" in csv_of(table).replace('\n"', "\n")


def test_without_a_set_everything_counts() -> None:
    assert list(class_table([("a.json", ADA)])["stars"]) == [5]


def student() -> AppTest:
    return open_view(_learn, **dict(parse_qsl(SET.query)))


def test_a_student_sees_the_list_and_what_is_done() -> None:
    at = student()
    assert any("Compilers, 2nd year: 0 of 4 solved" in m.value for m in at.markdown)
    learning = at.session_state["explorer"].learning
    learning.keep(ADA)
    at.run()
    assert any("2 of 4 solved" in m.value for m in at.markdown)
    assert at.button(key=f"class_{LESSONS[0]}").label.startswith("✓")
    at.button(key=f"class_{LESSONS[1]}").click().run()
    assert not at.exception
    assert at.session_state["explorer"].learning.class_set == SET
    assert at.query_params["lesson"] in ([LESSONS[1]], LESSONS[1])


def test_a_name_is_kept_and_the_class_can_be_left() -> None:
    at = student()
    field = next(t for t in at.text_input if "Your name" in t.label)
    field.set_value("  Grace   H. ").run()
    assert at.session_state["explorer"].learning.progress.name == "Grace H."
    assert progress_of(browser_keeps(at), "kept").name == "Grace H.", "without another run"
    at.button(key="class_leave").click().run()
    assert not at.exception
    assert at.session_state["explorer"].learning.class_set is None


def test_the_file_for_the_teacher_has_the_name_typed_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser may ask for the file before the page is drawn anew."""
    files: dict[str, Callable[[], str]] = {}
    monkeypatch.setattr(
        DeltaGenerator, "download_button", lambda _, label, data, **__: files.update({label: data})
    )
    at = student()
    at.session_state["explorer"].learning.name("Ada")
    assert json.loads(files["Save for your teacher"]())["name"] == "Ada"


def test_a_teacher_gets_a_link() -> None:
    at = open_view(_learn)
    at.multiselect(key="class_lessons").set_value(LESSONS[:2]).run()
    link = next(c.value for c in at.code if "class=" in c.value)
    query = dict(parse_qsl(link.partition("?")[2]))
    found, missing = set_of(query, LESSONS, KEYS)
    assert found == ClassSet("My class", tuple(LESSONS[:2])) and not missing


HALF = ADA.text().replace("Ada", r"A\ud800")
"""A file with half a character in it, which no page can show."""


def test_a_file_that_no_page_can_show_is_named_beside_the_table_of_the_others() -> None:
    at = open_view(_learn)
    files = next(f for f in at.get("file_uploader") if "Students" in f.proto.label)
    given = [("a.json", ADA.text()), ("bad.json", HALF)]
    files.set_value([(name, text.encode(), "application/json") for name, text in given]).run()
    assert not at.exception
    assert [e.value.partition(":")[0] for e in at.error] == ["bad.json"]
    assert list(at.dataframe[0].value["name"]) == ["Ada"]


def test_such_a_text_that_a_browser_kept_earlier_is_passed_over() -> None:
    at = open_view(_learn)
    assert not at.session_state["explorer"].learning.take(HALF)
    at.query_params.update(dict(parse_qsl(SET.query)))
    at.run()
    assert not at.exception


def test_a_teacher_reads_what_a_position_is_about_the_easiest_first() -> None:
    at = open_view(_learn)
    offered = at.multiselect(key="class_positions").options
    assert offered[0] == position_title(POSITIONS[KEYS[0]])
    about = POSITIONS[KEYS[0]].about
    assert about is not None and all(theme in offered[0] for theme in about.themes)
    ratings = [asked.rating.points for asked in POSITIONS.values()]
    assert ratings == sorted(ratings) and len(set(offered)) == len(offered)


def test_after_an_item_of_the_class_comes_its_next_one_that_is_not_solved() -> None:
    assert SET.next_after(LESSONS[0], Progress()) == LESSONS[1]
    assert SET.next_after(LESSONS[1], Progress(stars={LESSONS[0]: 1})) is None
    assert SET.next_after(KEYS[1], Progress()) == KEYS[0]
    assert SET.next_after(LESSONS[5], Progress()) is None, "not of the class"


@pytest.mark.parametrize(("others", "way"), [((), "Next lesson"), (LESSONS[:2], "The map")])
def test_after_the_last_lesson_of_a_class_the_map_is_offered(
    others: Sequence[str], way: str
) -> None:
    at = student()
    learning = at.session_state["explorer"].learning
    learning.keep(replace(learning.progress, stars=dict.fromkeys(others, 3)))
    at.button(key=f"class_{LESSONS[0]}").click().run()
    for action in Judge(FIRST).best.actions:
        command(at, "play", action=action)
    assert re.findall("Next lesson|The map", html(at)) == [way]


def test_a_position_of_the_class_leads_to_its_next_and_back() -> None:
    at = open_view(_challenges, KEYS[1], tab="find")
    session = at.session_state["explorer"]
    assert "0 of 4 solved" in at.button(key="to_class").label
    session.learning.wanted = "next"
    at.run()
    assert session.challenges.question == KEYS[0]


def _challenges(key: str) -> None:
    from tests.ui.learn.test_classroom import SET
    from ui.challenges import page
    from ui.session.state import current_session

    session = current_session()
    if session.learning.class_set is None:
        session.learning.class_set = SET
        session.challenges.open_position(key)
    page.render()


def test_the_files_of_students_have_different_names() -> None:
    assert file_name_of("Ada L. / ../x") == "mallocmuzero-progress-ada-l-x.json"
    assert file_name_of("") == "mallocmuzero-progress.json"


def test_a_class_comes_back_after_a_reload_until_it_is_left() -> None:
    first = student().session_state["explorer"].learning.progress
    assert progress_of(first.text(), "x").class_query == SET.query
    at = open_view(_learn)
    learning = at.session_state["explorer"].learning
    assert learning.class_set is None
    assert learning.take(first.text())
    at.run()
    assert learning.class_set == SET
    at.button(key="class_leave").click().run()
    assert learning.class_set is None and not learning.progress.class_query


def test_a_class_that_was_left_in_another_tab_is_left_here() -> None:
    at = student()
    learning = at.session_state["explorer"].learning
    elsewhere = Learning()
    elsewhere.take(learning.text)
    elsewhere.join("")
    assert learning.take(elsewhere.text)
    at.run()
    assert not at.exception
    assert learning.class_set is None and not learning.progress.class_query
    assert not [b for b in at.button if b.key == "class_leave"]


def test_who_forgets_everything_is_in_no_class_until_it_is_taken_back() -> None:
    at = student()
    learning = at.session_state["explorer"].learning
    learning.forget()
    at.run()
    assert learning.class_set is None and not learning.progress.class_query
    learning.remember()
    at.run()
    assert learning.class_set == SET


def test_a_class_that_was_joined_in_another_tab_is_joined_here() -> None:
    at = student()
    learning = at.session_state["explorer"].learning
    elsewhere, other = Learning(), ClassSet("Others", tuple(LESSONS[2:4]))
    elsewhere.take(learning.text)
    elsewhere.join(other.query)
    learning.take(elsewhere.text)
    at.run()
    assert learning.class_set == other


def test_a_class_that_is_no_text_is_refused() -> None:
    for text in ('"class": 3', f'"class": "{"x" * 20_000}"'):
        body = '{"format": "mallocmuzero-progress", "version": 1, ' + text + "}"
        with pytest.raises(LessonError, match="class"):
            progress_of(body, "x")

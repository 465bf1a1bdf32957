"""A class: its link there and back, the student's list, the table of all students."""

from __future__ import annotations

from urllib.parse import parse_qsl

from streamlit.testing.v1 import AppTest

from engine.lessons.catalogue import load_catalogue
from engine.lessons.rating import Rating
from tests.ui.apps import open_view
from ui.learn.classroom_view import position_keys
from ui.model.learn.classroom import ClassSet, class_table, csv_of, set_of
from ui.model.learn.progress import Card, Progress, Spent

LESSONS = [lesson.name for lesson in load_catalogue().lessons]
KEYS = position_keys()
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
    at.button(key="class_leave").click().run()
    assert not at.exception
    assert at.session_state["explorer"].learning.class_set is None


def test_a_teacher_gets_a_link() -> None:
    at = open_view(_learn)
    at.multiselect(key="class_lessons").set_value(LESSONS[:2]).run()
    link = next(c.value for c in at.code if "class=" in c.value)
    query = dict(parse_qsl(link.partition("?")[2]))
    found, missing = set_of(query, LESSONS, KEYS)
    assert found == ClassSet("My class", tuple(LESSONS[:2])) and not missing

"""Every term that the pages show is explained, by one file."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.debugging.findings import SIGNS
from engine.debugging.regret import CLASSES
from tests.ui.apps import open_view
from ui.components import glossary, stored_view
from ui.components.glossary import Term, about, find, term_html, terms

ROOT = Path(__file__).resolve().parents[3]
UI = ROOT / "ui"
NEEDED = [
    "slot",
    "stay",
    "touch",
    "scratch",
    "prefetch",
    "write-back",
    "cross-program",
    "bound",
    "baseline",
    "prior",
    "visits",
    "Copy",
    "NoCopy",
    "Drop",
    "stall",
    "sink",
    "plan",
    "move",
    "variation",
    "regret",
    "surprise",
    "checker",
    "runtime",
    "contested",
]
RESNET = "resnet50-v5e-b64"


def _play() -> None:
    from ui.play import page

    page.render()


def _compare() -> None:
    from ui.compare import page

    page.render()


def _words() -> None:
    from ui.words import page

    page.render()


def script(*path: str) -> str:
    return UI.joinpath(*path).read_text()


@pytest.mark.parametrize("word", NEEDED)
def test_the_words_of_the_game_are_explained(word: str) -> None:
    assert find(word) is not None


@pytest.mark.parametrize("term", terms(), ids=lambda term: term.name)
def test_an_entry_is_a_sentence_and_points_to_a_file_and_heading(term: Term) -> None:
    assert term.text.endswith(".") and term.text[0].isupper() and len(term.text) < 200
    path, _, anchor = term.see.partition("#")
    text = (ROOT / path).read_text()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
    assert not anchor or anchor in slugs, sorted(slugs)


def test_every_figure_of_compare_is_explained_by_the_glossary() -> None:
    at = open_view(_compare, program=RESNET)
    assert len(at.metric) >= 4
    for metric in at.metric:
        assert metric.help.startswith(about(metric.label)), metric.label


def test_every_figure_of_play_is_explained_by_the_glossary() -> None:
    """The map's script adds the texts, so that steps need not carry them."""
    found = marked(open_view(_play, program=RESNET))
    assert {"Runtime", "Saved", "Stalls", "Checker"} <= set(found)


def marked(at: AppTest) -> list[str]:
    html = " ".join(element.proto.body for element in at.get("html"))
    return re.findall(r"<dfn[^>]*>([^<]+)<", html)


def test_actions_and_facts_of_a_move_explain_themselves() -> None:
    at = open_view(_play, program=RESNET)
    html = " ".join(element.proto.body for element in at.get("html"))
    facts = re.search(r'<div class="facts">.*?</div>', html, re.DOTALL)
    assert facts is not None
    labels = [re.sub("<[^>]+>", "", i) for i in re.findall(r"<i>(.*?)</i>", facts[0])]
    assert {"Slot", "Memory"} <= set(labels)
    for label in labels:
        assert find(label) is not None, label
    assert {"Copy", "NoCopy", "Drop", "Slot"} <= set(marked(at))
    buttons = re.findall(r'<button class="choice.*?</button>', html, re.DOTALL)
    assert buttons and not any("tabindex" in button for button in buttons), "one stop per button"


def test_the_legends_of_the_map_are_explained() -> None:
    kinds = re.search(r"const KINDS = \[(.*?)\]", script("components", "words.js"))
    assert kinds is not None
    labels = re.findall(r'"([^"]+)"', kinds[1])
    legend = script("components", "memory_map", "colours.js").split("function legendOf")[1]
    labels += re.findall(r'[\])`], "([a-z, -]+)"', legend)
    labels += ["legal action", "this line", "bound", "best known"]
    assert len(labels) > 9
    for label in labels:
        assert find(label) is not None, label


def test_the_columns_of_the_search_are_explained() -> None:
    head = re.search(r"const names = \[(.*?)\]", script("search", "tree", "table.js"))
    assert head is not None
    labels = re.findall(r'"([^"]+)"', head[1])
    assert len(labels) == 5
    for label in labels:
        assert find(label) is not None, label


def test_the_columns_and_figures_of_debug_are_explained() -> None:
    for place in ("inbox_view.py", "page.py"):
        text = script("debug", place)
        labels = re.findall(r'about\("([^"]+)"\)', text)
        assert labels
        for label in labels:
            assert find(label) is not None, label
    for label in (*SIGNS, *CLASSES, "finding", "regret", "phase", "punished", "A/B"):
        assert find(label) is not None, label
    marks = re.search(r"const MARKS = \[(.*?)\]", script("search", "tree", "messages.js"))
    assert marks is not None
    assert re.findall(r'"([^"]*)"', marks[1]) == ["", *CLASSES]


def test_every_canvas_has_the_glossary() -> None:
    assert "javascript()" in Path(stored_view.__file__).read_text()
    assert '"write-back under way"' in glossary.javascript()


def test_what_is_no_term_is_only_escaped() -> None:
    assert term_html("<b>") == "&lt;b&gt;"
    assert "tabindex" in term_html("Slot") and "tabindex" not in term_html(
        "Slot", is_focusable=False
    )


def test_the_page_lists_all_and_finds_some() -> None:
    at = open_view(_words)
    shown = " ".join(m.value for m in at.markdown)
    assert all(term.text in shown for term in terms())
    at.text_input(key="term").set_value("write-back").run()
    shown = " ".join(m.value for m in at.markdown)
    assert about("write-back") in shown and about("prior") not in shown
    at.text_input(key="term").set_value("no such word").run()
    assert at.info

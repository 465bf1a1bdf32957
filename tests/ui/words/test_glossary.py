"""Terms that the pages show are explained, by one file."""

import json
import re
from pathlib import Path

import pytest
from htpy import div
from streamlit.testing.v1 import AppTest

from engine.debugging.findings import SIGNS
from engine.debugging.regret import CLASSES
from engine.game.moves import ACTION_NAMES
from tests.ui.apps import open_view
from ui.components.glossary import about, find, javascript, term_html, terms
from ui.words.page import readable, section

ROOT = Path(__file__).resolve().parents[3]
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


def headings(path: str) -> set[str]:
    """The names by which links point to the headings of a page."""
    found = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in found}


def test_every_entry_points_to_a_file_and_a_heading_that_there_are() -> None:
    for term in terms():
        path, _, anchor = term.see.partition("#")
        assert (ROOT / path).is_file(), term.name
        assert not anchor or anchor in headings(path), term.name


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


@pytest.mark.parametrize("label", [*ACTION_NAMES, *SIGNS, *CLASSES])
def test_what_the_engine_names_is_explained(label: str) -> None:
    assert find(label) is not None


def test_every_canvas_has_the_glossary() -> None:
    declared = json.loads(javascript().removeprefix("const GLOSSARY = ").rstrip(";\n"))
    assert declared["write-back under way"] == about("write-back under way")


def test_what_is_no_term_is_only_escaped() -> None:
    assert str(div[term_html("<b>")]) == "<div>&lt;b&gt;</div>"
    assert "tabindex" in str(term_html("Slot"))
    assert "tabindex" not in str(term_html("Slot", is_focusable=False))


def test_the_page_lists_all_and_finds_some() -> None:
    at = open_view(_words)
    shown = " ".join(m.value for m in at.markdown)
    assert all(term.text in shown for term in terms())
    at.text_input(key="term").set_value("write-back").run()
    shown = " ".join(m.value for m in at.markdown)
    assert about("write-back") in shown and about("prior") not in shown
    at.text_input(key="term").set_value("no such word").run()
    assert at.info


def test_every_word_leads_to_what_the_documentation_says_of_it() -> None:
    from ui.words.page import section

    for term in terms():
        title, text = section(term.see)
        assert title in text and len(text) > len(title) + 20, term.name
    at = open_view(_words)
    at.button(key="more_slot").click().run()
    for _ in range(2):
        assert not at.exception
        assert any("From the documentation" in str(d.proto) for d in at.get("dialog"))
        # As when a job ends while somebody reads.
        at.run()
    assert at.query_params["more"] in ("slot", ["slot"])


def test_a_link_to_no_word_says_so() -> None:
    at = open_view(_words, more="nonsense")
    assert "more=nonsense" in at.warning[0].value
    assert not at.get("dialog") and not open_view(_words, more="slot").warning


def test_without_the_documentation_a_word_leads_nowhere() -> None:
    from ui.words.page import section

    assert section("docs/none.md#x") == ("docs/none.md#x", "")


def test_what_is_read_of_a_file_leads_to_no_other_file() -> None:
    assert readable("[costs](costs.md) ![a](b.png) [XLA](https://x.org/y)") == (
        "costs  [XLA](https://x.org/y)"
    )
    for term in terms():
        left = re.findall(r"\]\(([^)]*)\)", readable(section(term.see)[1]))
        assert all(target.startswith("https://") for target in left), term.name

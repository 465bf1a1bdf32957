"""The search of the lessons, with words of other fields."""

import pytest

from engine.lessons.catalogue import SYNONYMS, load_catalogue, terms_of

SHELF = load_catalogue()


@pytest.mark.parametrize("phrase", sorted(SYNONYMS))
def test_every_synonym_finds_some_of_the_lessons(phrase: str) -> None:
    assert 0 < len(SHELF.search(phrase)) < len(SHELF.lessons), "all of them are no answer"


@pytest.mark.parametrize(
    ("text", "lesson"),
    [
        ("MCTS", "what-a-search-sees"),
        ("Policy gradient", "what-a-model-imagines"),
        ("knapsack", "what-fast-memory-is-worth"),
        ("register allocation", "keep-or-drop"),
        ("double buffering", "copies-start-early"),
    ],
)
def test_words_of_other_fields_lead_to_ours(text: str, lesson: str) -> None:
    assert lesson in [found.name for found in SHELF.search(text)]


def test_phrases_come_before_words_and_all_of_them_must_occur() -> None:
    assert terms_of("register  allocation stall") == [
        ("register allocation", *SYNONYMS["register allocation"]),
        ("stall",),
    ]
    both = SHELF.search("knapsack loop")
    assert set(both) == set(SHELF.search("knapsack")) & set(SHELF.search("loop"))
    assert not SHELF.search("knapsack xyzzy")


def test_the_names_of_our_pages_are_no_answer() -> None:
    assert len(SHELF.search("model")) < len(SHELF.lessons)
    assert not SHELF.search(".md")

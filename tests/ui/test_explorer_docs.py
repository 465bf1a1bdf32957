"""The table of docs/explorer.md names tests and pictures that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "explorer.md").read_text()
TABLE = TEXT[TEXT.index("## What it can do, and what shows it") :]
TESTS = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", TABLE)


def test_the_table_was_read() -> None:
    assert len(TESTS) > 30


@pytest.mark.parametrize(("path", "name"), sorted(set(TESTS)))
def test_a_test_named_in_the_table_exists(path: str, name: str) -> None:
    text = (ROOT / "tests" / path).read_text()
    assert not name or f"def {name}(" in text


@pytest.mark.parametrize("picture", sorted(set(re.findall(r"`(\w+\.png)`", TABLE))))
def test_a_picture_named_in_the_table_exists(picture: str) -> None:
    assert (ROOT / "docs" / "images" / picture).exists()

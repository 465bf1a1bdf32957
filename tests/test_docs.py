"""What the documentation names exists: files, folders, tests, links between pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("docs", "examples", "sample_programs")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(page for folder in FOLDERS for page in sorted((ROOT / folder).glob("**/*.md"))),
]
IDS = [page.relative_to(ROOT).as_posix() for page in PAGES]
EXAMPLES = sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "examples").glob("*.sh")])
TOP = ("engine", "ui", "tests", "benchmarks", "docs", "sample_programs", "checkpoints", "examples")
NAMED = re.compile(rf"`((?:{'|'.join(TOP)})/[\w./-]*)`")
TEST = re.compile(r"`(?:tests/)?([\w/]+\.py)::(\w+)`")
CALLED = re.compile(r"\b(?:python|sh) (examples/[\w./-]+)")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def missing_files(text: str) -> Iterator[str]:
    """Files and folders in backticks, such as `engine/plan/check.py`, and examples that are called,
    that there are not.

    Tests may be named from their own folder, such as `ui/play/test_quiz.py`; `NAME` stands for one.
    """
    for name in (*NAMED.findall(text), *CALLED.findall(text)):
        if "NAME" in name:
            continue
        folder = ROOT / "tests" if Path(name).name.startswith("test_") else ROOT
        if not (folder / name.removeprefix("tests/" if folder != ROOT else "")).exists():
            yield name


def missing_tests(text: str) -> Iterator[str]:
    """Tests in backticks, such as `plan/test_check.py::test_alias`, that there are not."""
    for file, name in TEST.findall(text):
        path = ROOT / "tests" / file
        if not path.exists() or f"def {name}(" not in path.read_text():
            yield f"{file}::{name}"


def missing_targets(page: Path, text: str) -> Iterator[str]:
    """Links to files beside the page, and to headings, that there are not."""
    for link in LINK.findall(text):
        name, _, heading = link.partition("#")
        target = page.parent / name if name else page
        if "://" not in link and not (target.exists() and has_heading(target, heading)):
            yield link


def has_heading(page: Path, anchor: str) -> bool:
    """Whether a page has the heading that `#anchor` leads to."""
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE) if anchor else []
    names = (re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found)
    return not anchor or anchor in names


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    assert not list(missing_files(text))
    assert not list(missing_tests(text))
    assert not list(missing_targets(page, text))


def test_every_folder_has_pages() -> None:
    assert {Path(page).parts[0] for page in IDS} >= set(FOLDERS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_says_how_it_is_called(path: Path) -> None:
    text = path.read_text()
    assert set(CALLED.findall(text)) == {f"examples/{path.name}"}
    assert not list(missing_files(text))


def test_what_is_missing_is_seen() -> None:
    text = "`engine/plan/chek.py`, `plan/test_check.py::test_alia`, [agent](docs/agnt.md#how)"
    text += ", `python examples/plain.py P`"
    assert list(missing_files(text)) == ["engine/plan/chek.py", "examples/plain.py"]
    assert list(missing_tests(text)) == ["plan/test_check.py::test_alia"]
    assert list(missing_targets(ROOT / "README.md", text)) == ["docs/agnt.md#how"]
    text = "[rules](docs/model.md#plans), [none](docs/model.md#plan), [here](#limits), [gone](#x)"
    assert list(missing_targets(ROOT / "README.md", text)) == ["docs/model.md#plan", "#x"]

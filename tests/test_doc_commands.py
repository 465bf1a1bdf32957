"""Every command that the documentation names is one; those that take seconds are run."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.__main__ import SECTIONS
from benchmarks.__main__ import parser as benchmarks_parser
from engine.cli import main, parser
from engine.errors import UsageError
from tests.test_docs import PAGES

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
ENGINE, BENCHMARKS = "mallocmuzero", "python -m benchmarks"
BEGINNINGS = {
    "mallocmuzero ": ENGINE,
    ".venv/bin/python -m engine ": ENGINE,
    "python -m engine ": ENGINE,
    "python -m benchmarks ": BENCHMARKS,
    "make ": "make",
}
Command = tuple[str, str]
"""Who is called, and with which words."""


def commands(page: str) -> Iterator[Command]:
    """The commands of a page, in order.

    `… word` goes on from who was called before, `… --flag` from the whole command before.
    """
    caller = before = ""
    for text in spans(page):
        line = re.sub(r" +# .*", "", " ".join(text.split()).removeprefix("$ "))
        begun = next((begin for begin in BEGINNINGS if line.startswith(begin)), "")
        if BEGINNINGS.get(begun) == "make":
            yield "make", line.removeprefix(begun)
            continue
        caller, rest = BEGINNINGS.get(begun, caller), line.removeprefix(begun)
        if begun or (caller and line.startswith("… ")):
            rest = rest.removeprefix("… ")
            before = f"{before} {rest}" if rest.startswith("-") else rest
            if before != "…":
                yield caller, before


def spans(page: str) -> Iterator[str]:
    """Lines of code blocks, and what stands between backticks."""
    at = 0
    for block in BLOCK.finditer(page):
        yield from re.findall(r"`([^`]+)`", page[at : block.start()])
        yield from block[1].splitlines()
        at = block.end()
    yield from re.findall(r"`([^`]+)`", page[at:])


def forms(words: str) -> list[list[str]]:
    """With and without what stands in brackets."""
    without = re.sub(r"\[[^]]*\]", "", words)
    return [shlex.split(form) for form in dict.fromkeys((without, re.sub(r"[][]", "", words)))]


NAMED = sorted({found for page in PAGES for found in commands(page.read_text())})


def is_taken(form: list[str]) -> bool:
    """Whether the command line takes these words, or answers them with its help."""
    try:
        parser().parse_args(form)
    except UsageError:
        return False
    except SystemExit as refused:
        return refused.code == 0
    return True


def is_mention(form: list[str]) -> bool:
    """Whether it is a command's name without what the command needs."""
    return len(form) == 1 and not is_taken(form) and is_taken([*form, "--help"])


def problem(caller: str, words: str) -> str:
    """What is wrong with a command; empty if it can be called so."""
    if caller == "make":
        targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        given = {word for word in words.split() if "=" not in word}
        return "" if given <= targets else f"no target of the Makefile: {given - targets}"
    for form in forms(words):
        if caller == ENGINE:
            if not is_taken(form) and not is_mention(form):
                return f"{form} is refused"
            continue
        try:
            sections = benchmarks_parser().parse_args(form).section
        except SystemExit:
            return f"{form} is refused"
        if not sections or not set(sections) <= set(SECTIONS):
            return f"no such section: {sections}"
    return ""


@pytest.mark.parametrize(("caller", "words"), NAMED)
def test_a_command_of_the_documentation_is_one(caller: str, words: str) -> None:
    assert problem(caller, words) == ""


def test_what_is_no_command_is_seen() -> None:
    page = "`mallocmuzero solv P`, `… solve P --secs 3`; `… bound P`, `… --method mip`\n"
    page += "```\nmake tset  # all\n```\n`python -m benchmarks nothing`, `… [steps]`"
    found = list(commands(page))
    assert found == [
        (ENGINE, "solv P"),
        (ENGINE, "solve P --secs 3"),
        (ENGINE, "bound P"),
        (ENGINE, "bound P --method mip"),
        ("make", "tset"),
        (BENCHMARKS, "nothing"),
        (BENCHMARKS, "[steps]"),
    ]
    assert [not problem(*command) for command in found] == [0, 0, 1, 1, 0, 0, 0]
    assert [problem(ENGINE, words) == "" for words in ("analyse", "analyze")] == [True, False]
    assert {caller for caller, _ in NAMED} == {ENGINE, BENCHMARKS, "make"}


ELSEWHERE = (
    "analyse",
    "bench --ray",
    "ab",
    "import --slow",
    "import --minimalloc",
    "learn --check",
    "mine",
    "train",
    "refit",
    "observe",
    "capture",
    "corpus",
    "check-solver",
    "verify",
    "tune",
    "reprice",
)
"""First words of the commands that take minutes, or need the real compiler or measured times: the
tests of their rooms run them."""
INSTALLED = "whole_life"
"""The solver of the example package, which tests/test_package.py installs and runs."""


def is_run_elsewhere(words: str) -> bool:
    """Whether a command takes too long for this file, as one does in which the agent plays, needs
    a package that is not installed, or is only mentioned.
    """
    if any(is_mention(form) or "--help" in form for form in forms(words)):
        return True
    begun = f"{words} ".startswith(tuple(f"{begin} " for begin in ELSEWHERE))
    return begun or re.search(rf"--solvers? \S*(muzero|{INSTALLED})", words) is not None


def test_commands_that_only_hold_such_words_are_run_here() -> None:
    assert not is_run_elsewhere("solve bert-v5e-b32-train --solver local")
    assert is_run_elsewhere("compare P --solvers local,muzero")
    assert is_run_elsewhere("capture --stablehlo x -o P")


STANDS_FOR = dict.fromkeys(("P", "bert-v5e-b32-train", "resnet50-v5e-b64"), "gptdecode-v5e-b8")
"""A program that is quick to solve, for `P` and for the large ones."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands of a page find what the earlier ones wrote."""
    made = tmp_path_factory.mktemp("commands")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        assert main(["solve", STANDS_FOR["P"], "--solver", "greedy", "-o", "plan.json"]) == 0
        assert main(["export", STANDS_FOR["P"], "plan.json", "-o", "flags.json"]) == 0
    shutil.copy(made / "plan.json", made / "better.json")
    return made


@pytest.mark.parametrize(
    "words", [w for caller, w in NAMED if caller == ENGINE and not is_run_elsewhere(w)]
)
def test_a_quick_command_runs(
    words: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for form in forms(words):
        given = [STANDS_FOR.get(word, word) for word in form]
        if "--seconds" in given:
            given[given.index("--seconds") + 1] = "1"
        assert main(given) == 0
        assert capsys.readouterr().out


def test_the_command_of_the_readme_prints_what_stands_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    block = next(b[1] for b in BLOCK.finditer((ROOT / "README.md").read_text()) if "$ " in b[1])
    called, *lines = block.splitlines()
    assert main(called.removeprefix(f"$ {ENGINE} ").split()) == 0
    took = re.compile(r"\(\d+\.\d\d s\)")
    printed = [took.sub("", line) for line in capsys.readouterr().out.splitlines()]
    assert printed == [took.sub("", line) for line in lines]

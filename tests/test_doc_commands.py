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

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("**/*.md"))]
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
OF_ENGINE = [words for caller, words in NAMED if caller == ENGINE]
MENTIONED = {"ab", "observe", "verify"}
"""Commands of the engine that are also named without what they need."""


def problem(caller: str, words: str) -> str:
    """What is wrong with a command; empty if it can be called so."""
    if caller == "make":
        targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        given = {word for word in words.split() if "=" not in word}
        return "" if given <= targets else f"no target of the Makefile: {given - targets}"
    for form in forms(words):
        try:
            if caller == ENGINE and form not in [[name] for name in MENTIONED]:
                parser().parse_args(form)
            elif caller == BENCHMARKS:
                sections = benchmarks_parser().parse_args(form).section
                if not sections or not set(sections) <= set(SECTIONS):
                    return f"no such section: {sections}"
        except SystemExit:
            return f"{form} is refused"
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
    assert {caller for caller, _ in NAMED} == {ENGINE, BENCHMARKS, "make"}


ELSEWHERE = {
    "analyse": "test_cli.py",
    "bench --ray": "analysis/test_cluster.py",
    "ab": "test_cli.py",
    "import --slow": "test_cli.py",
    "import --minimalloc": "program/test_minimalloc.py",
    "learn --check": "lessons/test_learn_command.py",
    "mine": "lessons/test_mining.py",
    "train": "agent/test_generalist.py",
    "refit": "contracts/test_observed_costs.py",
    "observe": "compiler/test_observe_command.py",
    "capture": "compiler/test_commands.py",
    "verify": "compiler/test_commands.py",
    "tune": "compiler/test_commands.py",
}
"""Where the commands run that take minutes or need the real compiler, by their first words."""

AGENT = "test_cli.py"
"""Where commands run in which the agent plays."""


def elsewhere(words: str) -> str:
    """The test file that runs such a command; empty if it is run here."""
    if re.search(r"--solvers? \S*muzero", words):
        return AGENT
    return next(
        (file for begin, file in ELSEWHERE.items() if f"{words} ".startswith(f"{begin} ")), ""
    )


def test_commands_that_only_hold_such_words_are_run_here() -> None:
    assert elsewhere("solve bert-v5e-b32-train --solver local") == ""
    assert elsewhere("compare P --solvers local,muzero") == AGENT
    assert elsewhere("capture --stablehlo x -o P") == ELSEWHERE["capture"]


@pytest.mark.parametrize("words", OF_ENGINE)
def test_what_is_not_run_here_is_run_elsewhere(words: str) -> None:
    file = elsewhere(words)
    if file:
        begun = next((begin for begin in ELSEWHERE if f"{words} ".startswith(f"{begin} ")), "solve")
        source = (ROOT / "tests" / file).read_text()
        assert all(f'"{word}"' in source for word in begun.split()), "no test calls it"


STANDS_FOR = dict.fromkeys(("P", "bert-v5e-b32-train", "resnet50-v5e-b64"), "gptdecode-v5e-b8")
"""A program that is quick to solve, for `P` and for the large ones."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands of a page find what the earlier ones wrote."""
    made = tmp_path_factory.mktemp("commands")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        assert main(["solve", STANDS_FOR["P"], "--solver", "greedy", "-o", "plan.json"]) == 0
    shutil.copy(made / "plan.json", made / "better.json")
    return made


@pytest.mark.parametrize(
    "words", [w for caller, w in NAMED if caller == ENGINE and not elsewhere(w)]
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

"""The debugger's report: the same in Markdown and HTML, with nothing that names can break."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.cli.analyse import write_report
from engine.debugging.debug_report import MOST_ROWS, GameReport, blocks, html, markdown
from engine.debugging.findings import inbox
from engine.debugging.move_notes import Note
from tests.debugging import studied as game

EVIL = "<img src=x onerror=alert(1)>|\n# no heading"
FORCED = {
    "move": 4, "action": "Drop", "continuation": "greedy", "latency_s": 2e-6, "original_s": 1e-6,
    "keeps_action": False,
}  # fmt: skip
KIND = {"change": "Copy → Drop", "kind": "input", "size": "below", "tensors": 2, "change_us": 3.0}
DUEL = {
    "first": "a",
    "second": "b",
    "bouts": [{"program": "p", "first_s": 1e-6, "second_s": 4e-6, "fork": 2, "kinds": [KIND]}],
}


def made(found: list | None = None, model: str = "learned") -> list:
    found = game.found() if found is None else found
    notes = {inbox(found)[0].move: Note("g", inbox(found)[0].move, EVIL, True)}
    report = GameReport("a game", {"model": model}, found, 1.0, notes, [FORCED])
    return blocks(game.program().name, [report], DUEL, "http://here/?a=b&c=d")


def test_both_forms_say_the_same() -> None:
    page, text = html("title", made()), markdown(made())
    worst = inbox(game.found())[0]
    for told in (f"{worst.regret_us:.3f}", worst.tensor, "+1.000", "+3.000", "A/B: a against b"):
        assert told in page and told in text
    rows = [line for line in text.splitlines() if line.startswith("| ?")]
    assert [line.split("|")[2].strip() for line in rows] == [
        str(f.move + 1) for f in inbox(game.found())[:MOST_ROWS] if f.verdict
    ]
    assert page.count("<line") == sum(bool(f.verdict) for f in game.found()) > 0


def test_names_and_notes_cannot_break_out() -> None:
    evil = [replace(f, tensor=EVIL, instruction=EVIL) for f in game.found()]
    page, text = html(EVIL, made(evil, EVIL)), markdown(made(evil, EVIL))
    assert "<img" not in page and "<img" not in text
    assert "\n# no heading" not in text
    columns = {line.replace("\\|", "").count("|") for line in text.splitlines() if "Drop" in line}
    assert len(columns - {0}) <= 3


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_a_report_is_written_whose_names_are_no_text(tmp_path: Path, name: str) -> None:
    write_report(tmp_path / name, "caf\udce9", [*made(), "of caf\udce9"])
    assert "of caf\\udce9" in (tmp_path / name).read_text().replace("\\\\", "\\")


def test_an_empty_game_has_a_report() -> None:
    found = blocks("p", [GameReport("g", {"model": "m"}, [], 1.0)])
    assert "Nothing." in markdown(found)
    assert "<svg" in html("p", found)

"""`python -m engine learn`: searches lessons, checks a teacher's file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli import main
from engine.lessons.catalogue import FOLDER, load_catalogue
from engine.lessons.judge import Judge

LESSON = "what-fast-memory-is-worth"


def test_it_lists_all_and_finds_some(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["lessons"]
    assert [row["name"] for row in rows] == [lesson.name for lesson in load_catalogue().lessons]
    assert main(["learn", "loop", "carries"]) == 0
    out = capsys.readouterr().out
    assert "What a loop carries" in out and LESSON not in out
    assert "docs/model.md" in out and "https://" in out


def test_a_word_that_is_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "xyzzy"]) == 0
    assert "no lesson has these words" in capsys.readouterr().out


def test_a_goal_that_nobody_can_reach_is_refused_with_its_condition(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def refusal(lesson: str, goal: str) -> str:
        text = (FOLDER / f"{lesson}.toml").read_text()
        path = tmp_path / "mine.toml"
        path.write_text(text.replace('reach = "optimum"', goal))
        assert main(["learn", "--check", str(path)]) == 2
        return capsys.readouterr().err

    assert "no game meets 'Save at least 100,000 µs'" in refusal(LESSON, "save_us = 100000")
    told = refusal("a-stall-that-pays", 'reach = "optimum"\nstall_us = 0')
    assert "no plan is faster' and 'Never wait for a copy'" in told


def test_it_checks_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (FOLDER / f"{LESSON}.toml").read_text()
    optimum_us = 1e6 * Judge(load_catalogue().find(LESSON)).optimum_s
    path = tmp_path / "mine.toml"
    path.write_text(text)
    assert main(["learn", "--check", str(path)]) == 0
    assert f"mine: 5 moves, optimum {optimum_us:.3f} us" in capsys.readouterr().out
    path.write_text(text.replace('reach = "optimum"', "save_us = 1"))
    assert main(["learn", "--check", str(path)]) == 2
    assert "mine.toml: the goal is reached by greedy" in capsys.readouterr().err
    path.write_text(text.replace("order = 10", ""))
    assert main(["learn", "--check", str(path)]) == 2
    assert "mine.toml, line 1, order: 'order' is missing" in capsys.readouterr().err

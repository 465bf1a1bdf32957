"""The page about mutants counts what was killed, what is harmless, and lists the rest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.mutants import HARMLESS, Mutant, page

PLAN, RULES = "engine/plan/check.py", "engine/game/rules.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for module in (PLAN, RULES):
        (tmp_path / module).parent.mkdir(parents=True)
        (tmp_path / module).write_text(module)
    return tmp_path


def test_survivors_without_a_reason_are_listed(root: Path) -> None:
    change = "-    return a < b\n+    return a <= b"
    found = [
        Mutant("check_1", PLAN, is_killed=True),
        Mutant("check_2", PLAN, is_killed=True),
        Mutant("check_3", PLAN, is_killed=False, change=change),
        Mutant("check_4", PLAN, is_killed=False, change="x", reason=next(iter(HARMLESS.values()))),
        Mutant("check_5", PLAN, is_killed=None),
    ]
    text = page(found, "", root)
    assert f"| `{PLAN}` | 5 | 4 | 2 | 1 | 1 | 75.0% |" in text
    assert "- `check_3`: `return a < b` → `return a <= b`\n" in text
    assert "check_4" not in text
    assert "check_5" not in text
    assert "## Left" not in page(found[:2], "", root)


def test_modules_that_were_not_tried_keep_what_was_said_of_them(root: Path) -> None:
    left = Mutant("engine.game.rules.x_1", RULES, is_killed=False, change="-a\n+b")
    other = Mutant("engine.plan.check.x_2", PLAN, is_killed=False, change="-c\n+d")
    before = page([left, other], "", root)
    after = page([Mutant("engine.plan.check.x_2", PLAN, is_killed=True)], before, root)
    assert f"| `{PLAN}` | 1 | 1 | 1 | 0 | 0 | 100.0% |" in after
    assert f"| `{RULES}` | 1 | 1 | 0 | 0 | 1 | 0.0% |" in after
    assert "- `engine.game.rules.x_1`: `a` → `b`\n" in after
    assert "`c` → `d`" not in after
    assert page([Mutant("engine.plan.check.x_2", PLAN, is_killed=None)], before, root) == before


def test_what_is_gone_is_dropped_and_what_was_changed_is_told(root: Path) -> None:
    left = Mutant("engine.game.rules.x_1", RULES, is_killed=False, change="-a\n+b")
    other = Mutant("engine.plan.check.x_2", PLAN, is_killed=False, change="-c\n+d")
    before = page([left, other], "", root)
    assert "| earlier |" not in before and ", earlier |" not in before
    (root / RULES).unlink()
    (root / PLAN).write_text("changed")
    after = page([], before, root)
    assert RULES not in after and "engine.game.rules" not in after
    assert re.search(rf"^\| `{PLAN}` .* [0-9a-f]{{8}}, earlier \|$", after, re.MULTILINE)
    assert page([], after, root) == after
    (root / PLAN).write_text(PLAN)
    assert ", earlier |" not in page([], after, root)


def test_a_row_without_a_version_is_of_an_earlier_one_and_lines_without_a_row_go(
    root: Path,
) -> None:
    before = (
        f"| `{PLAN}` | 1 | 1 | 0 | 0 | 1 | 0.0% |\n\n## Left\n\n- `engine.plan.check.x_2`: `c`\n"
    )
    after = page([], before + "- `engine.plan.gone.x_1`: `a`\n", root)
    assert f"| `{PLAN}` | 1 | 1 | 0 | 0 | 1 | 0.0% | earlier |" in after
    assert re.findall(r"^- `([^`]*)`", after, re.MULTILINE) == ["engine.plan.check.x_2"]

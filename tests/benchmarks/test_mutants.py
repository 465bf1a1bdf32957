"""The page about mutants counts what was killed, what is harmless, and lists the rest."""

from benchmarks.mutants import HARMLESS, Mutant, page

PLAN = "engine/plan/check.py"


def test_survivors_without_a_reason_are_listed() -> None:
    change = "-    return a < b\n+    return a <= b"
    found = [
        Mutant("check_1", PLAN, is_killed=True),
        Mutant("check_2", PLAN, is_killed=True),
        Mutant("check_3", PLAN, is_killed=False, change=change),
        Mutant("check_4", PLAN, is_killed=False, change="x", reason=next(iter(HARMLESS.values()))),
        Mutant("check_5", PLAN, is_killed=None),
    ]
    text = page(found)
    assert f"| `{PLAN}` | 5 | 4 | 2 | 1 | 1 | 75.0% |" in text
    assert "- `check_3`: `return a < b` → `return a <= b`\n" in text
    assert "check_4" not in text
    assert "check_5" not in text
    assert "## Left" not in page(found[:2])


def test_modules_that_were_not_tried_keep_what_was_said_of_them() -> None:
    rules = "engine/game/rules.py"
    left = Mutant("engine.game.rules.x_1", rules, is_killed=False, change="-a\n+b")
    before = page([left, Mutant("engine.plan.check.x_2", PLAN, is_killed=False, change="-c\n+d")])
    after = page([Mutant("engine.plan.check.x_2", PLAN, is_killed=True)], before)
    assert f"| `{PLAN}` | 1 | 1 | 1 | 0 | 0 | 100.0% |" in after
    assert f"| `{rules}` | 1 | 1 | 0 | 0 | 1 | 0.0% |" in after
    assert "- `engine.game.rules.x_1`: `a` → `b`\n" in after
    assert "`c` → `d`" not in after
    assert page([Mutant("engine.plan.check.x_2", PLAN, is_killed=None)], before) == before

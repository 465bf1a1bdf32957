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
    assert change in text
    assert "check_3" in text
    assert "check_4" not in text
    assert "check_5" not in text
    assert "## Left" not in page(found[:2])

"""From a TOML file to a lesson (`docs/lessons.md`)."""

from __future__ import annotations

import re
from pathlib import Path

from engine.game.moves import ACTION_NAMES, PLACE_RULES, Rules
from engine.game.reference.game import ReferenceGame
from engine.lessons.board import program_of
from engine.lessons.lesson import AIDS, MODEL, SEARCH, Aid, Goal, Lesson, Reading, pass_sinks
from engine.lessons.toml_table import TomlFile, TomlTable
from engine.program.model import Program
from engine.program.teaching import KIB, MICROSECOND

OPTIMUM = "optimum"
RIVALS = ("greedy", "xla_like", "random")
"""Solvers that answer at once and need nothing but the program."""
_MOST_HINTS = 8
_DEEPEST = 8
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


def read_lesson(path: Path) -> Lesson:
    """The lesson in a file. Raises LessonError, which names the file and the line."""
    file = TomlFile(path)
    if _NAME.fullmatch(path.stem) is None:
        raise file.error("the file's name has other characters than a-z, 0-9 and -")
    root = file.root
    program = program_of(root.table("program"), path.stem)
    rules = _rules(root.table("rules"))
    lesson = Lesson(
        name=path.stem,
        title=root.text("title"),
        order=root.take("order", int),
        minutes=root.take("minutes", int, 3),
        concepts=root.texts("concepts", is_required=True),
        needs=root.texts("needs"),
        text=root.text("text"),
        after=root.take("after", str, "").strip(),
        hints=_hints(root),
        goal=_goal(root.table("goal"), rules),
        program=program,
        rules=rules,
        start=_start(root, program, rules),
        docs=root.texts("docs"),
        reading=tuple(_reading(row) for row in root.rows("reading")),
        aid=_aid(root.table("aid")) if "aid" in root else None,
    )
    root.end()
    return lesson


def _hints(root: TomlTable) -> tuple[str, ...]:
    hints = root.texts("hints", is_required=True)
    if len(hints) > _MOST_HINTS:
        raise root.error(f"at most {_MOST_HINTS} hints", "hints")
    return hints


def _rules(table: TomlTable) -> Rules:
    given = Rules()
    place = table.take("place", str, given.place)
    if place not in PLACE_RULES:
        raise table.error(f"{place!r} is none of {', '.join(PLACE_RULES)}", "place")
    rules = Rules(strict=table.take("strict", bool, given.strict), place=place)
    table.end()
    return rules


def _goal(table: TomlTable, rules: Rules) -> Goal:
    """The goal, with at least one condition. Times stand in microseconds, shares in percent."""
    reach = table.take("reach", str, "")
    if reach not in ("", OPTIMUM):
        raise table.error(f"{reach!r} is not {OPTIMUM!r}", "reach")
    within = table.take("within_percent", float) / 100 if "within_percent" in table else None
    save = table.take("save_us", float) * MICROSECOND if "save_us" in table else None
    stall = table.take("stall_us", float) * MICROSECOND if "stall_us" in table else None
    ends = table.take("dead_ends", int) if "dead_ends" in table else None
    if ends is not None and not rules.strict:
        raise table.error("there are no dead ends without strict = true in [rules]", "dead_ends")
    beat = table.take("beat", str, "")
    if beat and beat not in RIVALS:
        raise table.error(f"{beat!r} is none of {', '.join(RIVALS)}", "beat")
    table.end()
    goal = Goal(bool(reach), within, save, stall, ends, beat)
    if not (reach or beat) and (within, save) == (None, None):
        raise table.error("needs reach, within_percent, save_us or beat")
    return goal


def _aid(table: TomlTable) -> Aid:
    kind = table.text("kind")
    if kind not in AIDS:
        raise table.error(f"{kind!r} is none of {', '.join(AIDS)}", "kind")
    depth = table.take("depth", int) if kind == SEARCH else 0
    fast_kib = table.take("fast_kib", int) if kind == MODEL else 0
    if kind == SEARCH and not 1 <= depth <= _DEEPEST:
        raise table.error(f"1 to {_DEEPEST} moves", "depth")
    if kind == MODEL and fast_kib < 1:
        raise table.error("at least 1 KiB", "fast_kib")
    table.end()
    return Aid(kind, depth, fast_kib * KIB)


def _reading(table: TomlTable) -> Reading:
    reading = Reading(table.text("title"), table.text("source"), table.take("url", str, ""))
    if reading.url and not reading.url.startswith("https://"):
        raise table.error("must begin with https://", "url")
    table.end()
    return reading


def _start(root: TomlTable, program: Program, rules: Rules) -> tuple[int, ...]:
    """The actions of `start`, each legal where it is played."""
    game, actions = ReferenceGame(program, rules), []
    for number, name in enumerate(root.texts("start")):
        action = action_named(name)
        if action is None:
            raise root.error(f"{name!r} is none of {', '.join(ACTION_NAMES)}", "start")
        if game.is_over or not game.legal()[action]:
            raise root.error(f"move {number + 1}, {name}, is not allowed there", "start")
        game.step(action)
        actions.append(action)
    pass_sinks(game)
    if game.is_over:
        raise root.error("no move is left to the learner", "start")
    return tuple(actions)


def action_named(name: str) -> int | None:
    """The action of that name, or the first whose name begins with it; None if there is none."""
    names = [known.lower() for known in ACTION_NAMES]
    wanted = name.strip().lower()
    matches = (n for n, known in enumerate(names) if known == wanted or known.startswith(wanted))
    return names.index(wanted) if wanted in names else next(matches, None)

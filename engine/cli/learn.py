"""`learn`: the lessons, searched; or one lesson file, checked before a class sees it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from engine.cli.arguments import add_command
from engine.cli.output import note, show
from engine.errors import LessonError, UsageError
from engine.lessons.lesson import Lesson


def add_parser(commands: Any) -> None:
    """Add the command."""
    about = "the lessons in which words occur, or a lesson file checked (docs/lessons.md)"
    parser = add_command(commands, "learn", run, about)
    parser.add_argument("search", nargs="*", metavar="SEARCH", help="words; none: all lessons")
    parser.add_argument("--check", type=Path, metavar="FILE.toml", help="read and judge one file")


def run(options: argparse.Namespace) -> int:
    """List lessons, or check a file."""
    if options.check is not None:
        if options.search:
            raise UsageError("learn: give words to search for, or --check with a file, not both")
        return _check(options)
    from engine.lessons.catalogue import load_catalogue

    lessons = load_catalogue()
    for complaint in lessons.broken:
        note(f"warning: {complaint}")
    matches = lessons.search(" ".join(options.search))
    body = {"lessons": [_row(lesson) for lesson in matches]}
    lines = [line for lesson in matches for line in _lines(lesson)]
    show(options, body, lines or ["no lesson has these words; try fewer"])
    return 0


def _check(options: argparse.Namespace) -> int:
    from engine.lessons.judge import Judge, trivial_wins
    from engine.lessons.reading import read_lesson

    lesson = read_lesson(options.check)
    judge = Judge(lesson)
    easy = trivial_wins(lesson, judge)
    if easy:
        raise LessonError(f"{options.check.name}: the goal is reached by {' and by '.join(easy)}")
    beyond = judge.out_of_reach()
    if beyond:
        told = " and ".join(f"'{text}'" for text in beyond)
        raise LessonError(f"{options.check.name}: goal: no game meets {told}; ask for less")
    goals = [condition.text for condition in judge.conditions(0.0, 0.0)]
    body = {
        "lesson": lesson.name,
        "moves": lesson.begin().num_moves,
        "goal": goals,
        "all_slow_s": lesson.program.all_slow_s,
        "optimum_s": judge.optimum_s,
    }
    text = f"{lesson.name}: {body['moves']} moves, optimum {judge.optimum_s * 1e6:.3f} us"
    show(options, body, [text, *(f"  goal: {goal}" for goal in goals)])
    return 0


def _row(lesson: Lesson) -> dict[str, Any]:
    return {
        "name": lesson.name,
        "title": lesson.title,
        "minutes": lesson.minutes,
        "concepts": list(lesson.concepts),
        "needs": list(lesson.needs),
        "docs": list(lesson.docs),
        "reading": [[r.title, r.source, r.url] for r in lesson.reading],
    }


def _lines(lesson: Lesson) -> list[str]:
    lines = [f"{lesson.name}: {lesson.title} ({lesson.minutes} minutes)"]
    lines.append(f"  about  {', '.join(lesson.concepts)}")
    if lesson.needs:
        lines.append(f"  after  {', '.join(lesson.needs)}")
    lines += [f"  docs   {page}" for page in lesson.docs]
    return lines + [f"  read   {r.title}; {r.source} {r.url}".rstrip() for r in lesson.reading]

"""Lesson files: TOML read key by key, so that every complaint names the file and the line."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import EngineError, LessonError, ProgramFormatError
from engine.files import read_bytes
from engine.game.move_list import moves
from engine.game.moves import ACTION_NAMES, PLACE_RULES, Rules
from engine.game.reference.game import ReferenceGame
from engine.lessons.lesson import (
    AGENT_VIEWS,
    MODEL,
    SEARCH,
    AgentView,
    Goal,
    Lesson,
    Reading,
    pass_sinks,
)
from engine.program.counts import MAX_TRIP_COUNT
from engine.program.library import load_sample
from engine.program.model import Program
from engine.program.teaching import KIB, MICROSECOND, Draft
from engine.program.validate import validate

_T = TypeVar("_T")
_MOST_BYTES = 2**18
_REQUIRED: Any = object()
_HEADER = re.compile(r"^\s*\[+\s*([\w.-]+)\s*\]+")
_NAMES: dict[type, str] = {
    str: "a text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
Key = str | int


class TomlFile:
    """A file's text, to find the lines that its keys stand in."""

    def __init__(self, path: Path) -> None:
        """Read it. Raises LessonError for what is no TOML, no text, or too large."""
        self.path = path
        try:
            text = read_bytes(path, _MOST_BYTES).decode()
            self._data = tomllib.loads(text)
        except ProgramFormatError as error:
            raise LessonError(str(error)) from error
        except UnicodeDecodeError as error:
            raise LessonError(f"{path.name}: not a UTF-8 text ({error.reason})") from error
        # Of numbers of many digits, and brackets in brackets, the reader says less.
        except (ValueError, RecursionError) as error:
            raise LessonError(f"{path.name}: not TOML: {error}") from error
        self._lines = _without_long_texts(text)

    @property
    def root(self) -> TomlTable:
        """The whole file as a table."""
        return TomlTable(self, (), self._data)

    def error(self, message: str, *keys: Key) -> LessonError:
        """What is wrong with the value under `keys`, with file and line."""
        name = ".".join(str(k + 1) if isinstance(k, int) else k for k in keys)
        where = f", {name}" if name else ""
        return LessonError(f"{self.path.name}, line {self.line_of(*keys)}{where}: {message}")

    def line_of(self, *keys: Key) -> int:
        """The line of a key, from 1: of the row of a list where one is meant, as near as it goes.

        A key that is not there has the line of the table in which it is missing.
        """
        line, end = 0, len(self._lines)
        names = [k for k in keys if isinstance(k, str)]
        header = next((n for n in range(len(names), 0, -1) if self._header(names[:n], 0)), 0)
        for count, key in enumerate(keys):
            if isinstance(key, int):
                before = [k for k in keys[:count] if isinstance(k, str)]
                line = self._row(before, line, key)
                if not self._header(before, 0):
                    end = line  # A row in braces stands on one line.
            elif count < header:
                line = self._header(names[: count + 1], 0) or line
            else:
                line = self._assignment(key, line, end) or line
        return max(line, 1)

    def _header(self, names: Sequence[str], begin: int) -> int:
        """The line of the first `[a.b]` after line `begin`; 0 if there is none."""
        for number, text in enumerate(self._lines[begin:], begin + 1):
            match = _HEADER.match(text)
            if match and match[1] == ".".join(names):
                return number
        return 0

    def _row(self, names: Sequence[str], line: int, row: int) -> int:
        """The line of the row with that number (from 0), of `[[a.b]]` tables or in a list."""
        at = self._header(names, 0)
        if at:
            for _ in range(row):
                at = self._header(names, at) or at
            return at
        return self._braces(line, row)

    def _braces(self, line: int, row: int) -> int:
        """The line of a list's row in braces; rows may hold braces, too."""
        depth, seen = 0, -1
        for number, text in enumerate(self._lines[line - 1 :], line):
            for brace in re.findall(r"[{}]", text):
                seen += brace == "{" and depth == 0
                depth += 1 if brace == "{" else -1
                if seen == row:
                    return number
        return line

    def _assignment(self, key: str, line: int, end: int) -> int:
        pattern = re.compile(rf"(^|[\s{{,\"']){re.escape(key)}[\"']?\s*=")
        for number, text in enumerate(self._lines[max(0, line - 1) : end], max(1, line)):
            if number > line and line and _HEADER.match(text):
                return 0
            if pattern.search(text):
                return number
        return 0


class TomlTable:
    """One table of a file: values are taken by key and type; what is left over is an error."""

    def __init__(self, file: TomlFile, keys: tuple[Key, ...], data: dict[str, Any]) -> None:
        """The table under `keys`."""
        self.file, self.keys, self._data = file, keys, dict(data)

    def __contains__(self, key: str) -> bool:
        """Whether the key stands there and was not taken yet."""
        return key in self._data

    def error(self, message: str, *keys: Key) -> LessonError:
        """What is wrong with the table, or with a value in it."""
        return self.file.error(message, *self.keys, *keys)

    def take(self, key: str, kind: type[_T], default: _T = _REQUIRED) -> _T:
        """The value of a key. Raises LessonError if it is missing or of another type."""
        if key not in self._data:
            if default is _REQUIRED:
                raise self.error(f"{key!r} is missing; give it {_NAMES[kind]}", key)
            return default
        value = self._data.pop(key)
        if kind is float and type(value) is int:
            value = _real(value)
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise self.error(f"must be {_NAMES[kind]}, not {value!r:.60}", key)
        if isinstance(value, float) and not (math.isfinite(value) and value >= 0):
            raise self.error(f"must be a finite number from 0 on, not {value!r}", key)
        return value

    def text(self, key: str) -> str:
        """A text that is not empty."""
        value = self.take(key, str).strip()
        if not value:
            raise self.error("must not be empty", key)
        return value

    def texts(self, key: str, is_required: bool = False) -> tuple[str, ...]:
        """A list of texts; empty if it may be missing and is."""
        values = self.take(key, list) if is_required else self.take(key, list, [])
        for value in values:
            if not isinstance(value, str) or not value.strip():
                raise self.error(f"must be a list of texts, not with {value!r:.60}", key)
        if is_required and not values:
            raise self.error("needs at least one entry", key)
        return tuple(value.strip() for value in values)

    def table(self, key: str) -> TomlTable:
        """A table in this one; empty if it is missing."""
        return TomlTable(self.file, (*self.keys, key), self.take(key, dict, {}))

    def rows(self, key: str) -> list[TomlTable]:
        """A list of tables; empty if it is missing."""
        rows = self.take(key, list, [])
        for number, row in enumerate(rows):
            if not isinstance(row, dict):
                raise self.error(f"must be a table in braces, not {row!r:.60}", key, number)
        return [TomlTable(self.file, (*self.keys, key, n), row) for n, row in enumerate(rows)]

    def numbers(self, key: str) -> dict[str, float]:
        """A table of names and numbers above 0; empty if it is missing."""
        numbers = {}
        for name, value in self.take(key, dict, {}).items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise self.error(f"{name} must be a number above 0, not {value!r:.60}", key)
            numbers[name] = _real(value)
            if not math.isfinite(numbers[name]):
                raise self.error(f"{name} must be finite", key)
        return numbers

    def end(self) -> None:
        """Raises LessonError if a key was not taken: nobody would read it."""
        for key in self._data:
            raise self.error(f"{key!r} is no key that is known here", key)


def _without_long_texts(text: str) -> list[str]:
    """The lines, those inside of texts in triple quotes emptied: keys do not stand there."""
    lines, quote = [], ""
    for line in text.splitlines():
        marks = re.findall(r"\"\"\"|'''", line)
        lines.append("" if quote else line)
        for mark in marks:
            quote = "" if quote == mark else quote or mark
    return lines


def _real(value: float) -> float:
    """The number as a float; of a whole one that none can hold, infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


MOST_STEPS = 40
_MOST_KIB = 2**20
_MOST_US = 1e9


def program_of(table: TomlTable, name: str) -> Program:
    """The program that the table `[program]` describes. Raises LessonError."""
    if "sample" in table:
        sample = table.text("sample")
        try:
            program = load_sample(sample)
        except EngineError as error:
            raise table.error(str(error), "sample") from error
    else:
        program = _Writer(table).program(name)
    hardware = program.hardware
    fast_kib = _kib(table, "fast_kib", hardware.fast_bytes // KIB)
    most = max(program.instructions, key=lambda i: i.reserved_bytes)
    if most.reserved_bytes > fast_kib * KIB:
        needed = -(-most.reserved_bytes // KIB)
        raise table.error(f"the scratch of {most.name!r} needs {needed} KiB of it", "fast_kib")
    kept = table.take("kept_between_runs", int, hardware.max_cross_program_prefetches)
    table.end()
    hardware = replace(
        hardware, fast_bytes=fast_kib * KIB, max_cross_program_prefetches=max(0, kept)
    )
    return replace(program, hardware=hardware)


def _kib(table: TomlTable, key: str, default: int) -> int:
    value = table.take(key, int, default)
    if not 1 <= value <= _MOST_KIB:
        raise table.error(f"must be 1 to {_MOST_KIB} KiB, not {value}", key)
    return value


class _Writer:
    """Writes the steps of a `[program]` table into a draft."""

    def __init__(self, table: TomlTable) -> None:
        self._table = table
        self._draft = Draft()
        self._numbers: dict[str, int] = {}
        self._saved: dict[tuple[int, int], float] = {}

    def program(self, name: str) -> Program:
        for tensor, kib in self._table.numbers("inputs").items():
            self._numbers[tensor] = self._draft.input(tensor, self._size(self._table, kib))
        outputs = set(self._table.texts("outputs"))
        steps = self._table.rows("steps")
        if not 1 <= len(steps) <= MOST_STEPS:
            raise self._table.error(f"needs 1 to {MOST_STEPS} steps, or a sample", "steps")
        loops = self._loops(steps)
        for slot, step in enumerate(steps):
            if slot in loops:
                self._draft.loop(*loops[slot])
            self._step(step, slot, outputs)
        if outputs:
            raise self._table.error(f"no step makes {', '.join(sorted(outputs))}", "outputs")
        return self._finished(name)

    def _loops(self, steps: list[TomlTable]) -> dict[int, tuple[int, int]]:
        """Loops by their first slot: how many steps they hold and how often they run."""
        names = [step.take("name", str) for step in steps]
        twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
        if twice is not None:
            raise steps[len(names) - 1 - names[::-1].index(twice)].error(
                f"{twice!r} is there twice"
            )
        self._names = names
        loops: dict[int, tuple[int, int]] = {}
        end = 0
        for loop in self._table.rows("loops"):
            first, last = (self._slot(loop, key) for key in ("first", "last"))
            times = loop.take("times", int)
            if not end <= first <= last or times < 2:
                raise loop.error("loops follow one another, and run at least twice")
            if times > MAX_TRIP_COUNT:
                raise loop.error(f"must be 2 to {MAX_TRIP_COUNT}, not {_real(times):g}", "times")
            loops[first], end = (last - first + 1, times), last + 1
            loop.end()
        return loops

    def _slot(self, loop: TomlTable, key: str) -> int:
        name = loop.text(key)
        if name not in self._names:
            raise loop.error(f"no step is called {name!r}", key)
        return self._names.index(name)

    def _step(self, step: TomlTable, slot: int, outputs: set[str]) -> None:
        reads = step.texts("reads")
        for tensor in reads:
            self._known(step, "reads", tensor)
        compute_us = step.take("us", float)
        if compute_us > _MOST_US:
            raise step.error(f"at most {_MOST_US:g}", "us")
        scratch = _kib(step, "scratch", 0) if "scratch" in step else 0
        numbers = [self._numbers[tensor] for tensor in reads]
        self._draft.step(self._names[slot], compute_us, numbers, scratch_kib=scratch)
        for tensor, kib in step.numbers("makes").items():
            self._unknown(step, "makes", tensor)
            size, is_output = self._size(step, kib), tensor in outputs
            self._numbers[tensor] = self._draft.write(tensor, size, is_live_out=is_output)
            outputs.discard(tensor)
        self._updates(step, outputs)
        touched = {access.value for access in self._draft.accesses if access.time == slot}
        for tensor, saved_us in step.numbers("saves").items():
            self._known(step, "saves", tensor)
            if self._numbers[tensor] not in touched:
                raise step.error(f"this step does not touch the tensor {tensor!r}", "saves")
            self._saved[slot, self._numbers[tensor]] = saved_us * MICROSECOND
        step.end()

    def _updates(self, step: TomlTable, outputs: set[str]) -> None:
        for new, old in step.take("updates", dict, {}).items():
            self._unknown(step, "updates", new)
            self._known(step, "updates", old)
            is_output = new in outputs
            self._numbers[new] = self._draft.update(self._numbers[old], new, is_live_out=is_output)
            outputs.discard(new)

    def _known(self, step: TomlTable, key: str, tensor: object) -> None:
        if tensor not in self._numbers:
            raise step.error(f"there is no tensor {tensor!r} before this step", key)

    def _unknown(self, step: TomlTable, key: str, tensor: str) -> None:
        if tensor in self._numbers:
            raise step.error(f"the tensor {tensor!r} is there already; give it another name", key)

    def _size(self, table: TomlTable, kib: float) -> int:
        if kib != int(kib) or kib > _MOST_KIB:
            raise table.error(f"sizes are whole KiB up to {_MOST_KIB}, not {kib:g}")
        return int(kib)

    def _finished(self, name: str) -> Program:
        """Savings that the file gives take the place of those of memory-bound accesses."""
        draft = self._draft
        for index, access in enumerate(draft.accesses):
            saved_s = self._saved.get((access.time, access.value))
            if saved_s is not None:
                level = draft.instructions[access.time].level
                trips = 1.0 if level < 0 else draft.regions[level].multiplicity
                draft.accesses[index] = replace(access, saving_s=saved_s * trips)
        try:
            program = draft.program(name, name, "")
            validate(program, name)
        except EngineError as error:
            raise LessonError(f"{self._table.file.path.name}: the program: {error}") from error
        return program


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
        agent_view=_agent_view(root.table("agent_view"), program) if "agent_view" in root else None,
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


def _agent_view(table: TomlTable, program: Program) -> AgentView:
    """The help. The memory that a model believes in must leave the game its moves."""
    kind = table.text("kind")
    if kind not in AGENT_VIEWS:
        raise table.error(f"{kind!r} is none of {', '.join(AGENT_VIEWS)}", "kind")
    depth = table.take("depth", int) if kind == SEARCH else 0
    fast_kib = _kib(table, "fast_kib", _REQUIRED) if kind == MODEL else 0
    if kind == SEARCH and not 1 <= depth <= _DEEPEST:
        raise table.error(f"1 to {_DEEPEST} moves", "depth")
    hardware = replace(program.hardware, fast_bytes=fast_kib * KIB)
    mind = replace(program, hardware=hardware)
    if kind == MODEL and {m.group for m in moves(mind)} != {m.group for m in moves(program)}:
        raise table.error(
            "must leave the game the moves that it has: a tensor that fits in one of the two"
            " memories must fit in the other",
            "fast_kib",
        )
    table.end()
    return AgentView(kind, depth, fast_kib * KIB)


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

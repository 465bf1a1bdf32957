"""TOML read key by key, so that every complaint names the file and the line."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import LessonError

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
        if path.stat().st_size > _MOST_BYTES:
            raise LessonError(f"{path.name}: larger than {_MOST_BYTES // 1024} KiB")
        try:
            text = path.read_text(encoding="utf-8")
            self._data = tomllib.loads(text)
        except UnicodeDecodeError as error:
            raise LessonError(f"{path.name}: not a UTF-8 text ({error.reason})") from error
        except tomllib.TOMLDecodeError as error:
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

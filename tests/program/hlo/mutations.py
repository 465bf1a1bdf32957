"""Damaged copies of files and messages, the same for the same seed."""

from __future__ import annotations

import gzip
import random
import re
from typing import Any

HUGE = [0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63), 10**30]


def damaged(chance: random.Random, data: bytes) -> bytes:
    """One to three random injuries."""
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        data = chance.choice(INJURIES)(chance, data)
    return data


def _truncated(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _random_bytes(chance: random.Random, data: bytes) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(chance.choice([1, 3, 30])):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _piece(chance: random.Random, data: bytes) -> tuple[int, int]:
    begin = chance.randrange(len(data) + 1)
    return begin, min(len(data), begin + chance.choice([1, 2, 8, 64, 1000]))


def _characters_deleted(chance: random.Random, data: bytes) -> bytes:
    begin, end = _piece(chance, data)
    return data[:begin] + data[end:]


def _characters_doubled(chance: random.Random, data: bytes) -> bytes:
    begin, end = _piece(chance, data)
    return data[:end] + data[begin:end] * chance.choice([1, 1, 20]) + data[end:]


def _lines(chance: random.Random, data: bytes) -> bytes:
    """A line deleted, doubled, or exchanged with another."""
    lines = data.split(b"\n")
    one, other = (chance.randrange(len(lines)) for _ in range(2))
    deed = chance.randrange(3)
    if deed == 0:
        del lines[one]
    elif deed == 1:
        lines.insert(other, lines[one])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _number(chance: random.Random, data: bytes) -> bytes:
    """A number exchanged with another of the file, or with an extreme one."""
    numbers = list(re.finditer(rb"\d+", data))
    if not numbers:
        return data
    place = chance.choice(numbers)
    new = chance.choice([chance.choice(numbers)[0], str(chance.choice(HUGE)).encode()])
    return data[: place.start()] + new + data[place.end() :]


def _word(chance: random.Random, data: bytes) -> bytes:
    """A word exchanged with another of the file: opcodes, types, names."""
    words = list(re.finditer(rb"[A-Za-z_][\w.-]*", data))
    if not words:
        return data
    place = chance.choice(words)
    return data[: place.start()] + chance.choice(words)[0] + data[place.end() :]


def _deep(chance: random.Random, data: bytes) -> bytes:
    begin = chance.randrange(len(data) + 1)
    mark = chance.choice([b"(", b"{", b"[", b'{"a":', b"%", b"-"])
    return data[:begin] + mark * chance.choice([50, 5000, 200_000]) + data[begin:]


def _other_file(chance: random.Random, data: bytes) -> bytes:
    kinds = [
        b"",
        b"\x00" * 100,
        bytes(chance.randrange(256) for _ in range(500)),
        data.decode("latin-1").encode("utf-16"),
        b"\xff\xfe" + data,
        data.replace(b"\n", b"\r\n"),
        gzip.compress(data)[: chance.randrange(1, 60)],
        gzip.compress(b"HloModule " + b" " * 10**7),
        data[::-1],
    ]
    return chance.choice(kinds)


INJURIES = (
    _truncated,
    _random_bytes,
    _characters_deleted,
    _characters_doubled,
    _lines,
    _lines,
    _number,
    _number,
    _number,
    _word,
    _word,
    _word,
    _deep,
    _other_file,
)


def damaged_message(chance: random.Random, message: Any) -> Any:
    """A copy of a protobuf message with a few fields changed, dropped, or taken from elsewhere."""
    changed = type(message)()
    changed.CopyFrom(message)
    for _ in range(chance.choice([1, 2, 5, 20])):
        _injure(chance, _somewhere(chance, changed))
    return changed


def _somewhere(chance: random.Random, message: Any) -> Any:
    """A random message inside, biased to deep ones."""
    while True:
        inner = []
        for field, content in message.ListFields():
            if field.message_type is not None:
                inner += list(content) if field.is_repeated else [content]
        if not inner or chance.random() < 0.12:
            return message
        message = chance.choice(inner)


def _injure(chance: random.Random, message: Any) -> None:
    fields = message.ListFields()
    if not fields:
        return
    field, content = chance.choice(fields)
    if chance.random() < 0.15:
        message.ClearField(field.name)
    elif field.is_repeated:
        _injure_list(chance, field, content)
    elif field.message_type is None:
        _assign(chance, message, field, content)


def _injure_list(chance: random.Random, field: Any, content: Any) -> None:
    place = chance.randrange(len(content))
    deed = chance.randrange(4)
    if deed == 0:
        del content[place]
    elif field.message_type is not None:
        content.add().CopyFrom(content[place])
    elif deed == 1:
        content.append(content[place])
    elif deed == 2:
        other = chance.randrange(len(content))
        content[place], content[other] = content[other], content[place]
    else:
        content[place] = _fitting(chance, field, content[place])


def _assign(chance: random.Random, message: Any, field: Any, content: Any) -> None:
    setattr(message, field.name, _fitting(chance, field, content))


def _fitting(chance: random.Random, field: Any, content: Any) -> Any:
    if isinstance(content, int):
        bits = 31 if "32" in _KINDS[field.type] else 63
        low = 0 if _KINDS[field.type].startswith("u") else -(2**bits)
        near = content + chance.choice([-2, -1, 1, 2])
        return max(low, min(2**bits - 1, chance.choice([near, near, chance.choice(HUGE)])))
    if isinstance(content, bytes):
        return damaged(chance, content)[:2000]
    return chance.choice(["", "x", *OPCODES])


_KINDS = {3: "int64", 4: "uint64", 5: "int32", 13: "uint32"}

OPCODES = [
    *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while", "conditional"),
    *("call", "fusion", "copy", "copy-start", "copy-done", "async-start", "async-done", "slice"),
    *("dynamic-update-slice", "scatter", "dot", "convolution", "custom-call", "compare", "reduce"),
    *("all-gather-start", "all-gather-done", "send", "recv", "recv-done", "after-all", "add"),
]

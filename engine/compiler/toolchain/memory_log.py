"""The log of the compiler's memory pass: its limits, and what it refused and why.

XLA's memory-space assignment logs every segment of a value's life that it tries to place
(`xla/service/memory_space_assignment/algorithm.cc`), at the verbosity that `compile` asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

REASONS: Mapping[str, str] = {
    "FailOutOfMemory": "out of memory",
    "FailLiveRangeTooShort": "live range too short",
    "FailLiveRangeTooLong": "live range too long",
    "FailViolatesAsyncCopyResource": "copy resource",
    "FailOutOfAsyncCopies": "out of asynchronous copies",
    "FailPrevAllocationNotInAlternateMem": "not in fast memory before",
    "FailRequiresUncommit": "would displace others",
    "FailResultsAreNotSatisfying": "not satisfying",
    "AllSlicesHaveTheSameStartTime": "slices start together",
    "FailConflictingPreferredOffsets": "conflicting offsets",
    "InefficientSite": "inefficient site",
}
"""The compiler's reasons in words."""

SCOPED_BYTES = "scoped_bytes"
"""Our name, among the limits, for the size of the region for the scratch of single instructions."""

_SCOPED = re.compile(r"default scoped vmem \(from flag\): (\d+)")
_OPTION = re.compile(r"memory_space_assignment\.cc:\d+\] (\w+): (\S+)$")
_WORKING = re.compile(
    r"Working on use: (?P<use>\S+?), operand (?P<operand>\d+).*?"
    r" position = (?P<position>[^,{]+?)(?: (?P<index>\{[\d,]*\}))?, value ="
)
_RESULT = re.compile(r"AllocateSegment result: (.+)$")
_INEFFICIENT = re.compile(
    r"equired assignment.*?<\d+ (?P<position>[^ >{]+)(?P<index>\{[\d,]*\})?"
    r".*memory_space=def.*message=Inefficient site"
)


@dataclass(frozen=True)
class Refusal:
    """A value that was not placed for one use.

    `position`: XLA's name of the value, like `fusion.3{1}`. `use`: the instruction that would have
    read it from fast memory (empty where the whole value is refused). `reason`: in words.
    """

    position: str
    use: str
    reason: str


@dataclass(frozen=True)
class MemoryLog:
    """One log: `limits`, the pass's options by name, and `refusals`, the last one for each use."""

    limits: Mapping[str, str]
    refusals: tuple[Refusal, ...]


def read_log(path: Path) -> MemoryLog:
    """The limits and refusals in a log file of any size, read line by line."""
    with path.open(errors="replace") as lines:
        return parse_log(lines)


def parse_log(lines: Iterable[str]) -> MemoryLog:
    """The limits and refusals in a log.

    The pass tries a value again after repacking, so a later success takes a refusal back.
    """
    limits: dict[str, str] = {}
    refused: dict[tuple[str, str], Refusal] = {}
    working = ("", "")
    for line in lines:
        if match := _OPTION.search(line):
            limits.setdefault(match[1], match[2])
        elif match := _SCOPED.search(line):
            limits.setdefault(SCOPED_BYTES, match[1])
        elif match := _WORKING.search(line):
            working = (match["position"] + (match["index"] or ""), match["use"])
        elif match := _RESULT.search(line):
            refused.pop(working, None)
            if "Success" not in match[1]:
                refused[working] = Refusal(*working, _in_words(match[1]))
        elif match := _INEFFICIENT.search(line):
            position = match["position"] + (match["index"] or "")
            refused[position, ""] = Refusal(position, "", REASONS["InefficientSite"])
    return MemoryLog(limits, tuple(refused.values()))


def _in_words(result: str) -> str:
    """`FailOutOfMemory | FailOther` as a list in words."""
    return ", ".join(REASONS.get(part.strip(), part.strip()) for part in result.split("|"))

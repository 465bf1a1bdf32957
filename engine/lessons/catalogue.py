"""All lessons of a folder: in their order, what each needs and opens, and a search."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from engine.errors import LessonError, UnknownNameError
from engine.lessons.lesson import Lesson
from engine.lessons.reading import read_lesson
from engine.program.library import SAMPLES_FOLDER

FOLDER = SAMPLES_FOLDER / "lessons"


@dataclass(frozen=True)
class Catalogue:
    """Lessons in order. `broken`: what is wrong with files that hold none, one line each."""

    lessons: tuple[Lesson, ...]
    broken: tuple[str, ...] = ()

    def find(self, name: str) -> Lesson:
        """The lesson of that name. Raises UnknownNameError with the nearest names."""
        names = {lesson.name: lesson for lesson in self.lessons}
        if name not in names:
            near = get_close_matches(name, names, n=3) or list(names)
            raise UnknownNameError(f"no lesson is called {name[:80]!r}; try {', '.join(near)}")
        return names[name]

    def opens(self, name: str) -> tuple[Lesson, ...]:
        """The lessons that need this one."""
        return tuple(lesson for lesson in self.lessons if name in lesson.needs)

    def is_open(self, lesson: Lesson, done: Collection[str]) -> bool:
        """Whether all that a lesson needs is done."""
        return all(need in done for need in lesson.needs)

    def next_after(self, done: Collection[str]) -> Lesson | None:
        """The first lesson that is open and not done; None if all are done."""
        waiting = [lesson for lesson in self.lessons if lesson.name not in done]
        opened = (lesson for lesson in waiting if self.is_open(lesson, done))
        return next(opened, None)

    def depth(self, lesson: Lesson) -> int:
        """How many lessons stand before this one on the longest way to it."""
        return 1 + max((self.depth(self.find(n)) for n in lesson.needs), default=-1)

    def search(self, text: str) -> tuple[Lesson, ...]:
        """The lessons in which every word of `text` occurs; titles and concepts come first.

        Words of other fields stand for ours (`SYNONYMS`).
        """
        wanted = terms_of(text)
        matches = [
            x for x in self.lessons if all(any(w in x.words for w in words) for words in wanted)
        ]
        return tuple(
            sorted(matches, key=lambda x: -sum(any(w in _head(x) for w in t) for t in wanted))
        )


SYNONYMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "mcts": ("search",),
        "monte carlo": ("search",),
        "tree search": ("search",),
        "lookahead": ("search",),
        "planning": ("search", "learned model"),
        "alphazero": ("search",),
        "muzero": ("search", "learned model"),
        "policy gradient": ("reinforcement", "search"),
        "reinforcement learning": ("reinforcement", "search"),
        "rl": ("reinforcement", "search"),
        "world model": ("model imagines", "imagine"),
        "hallucination": ("imagine",),
        "knapsack": ("fast memory", "worth"),
        "bin packing": ("address", "fragmentation"),
        "allocator": ("address", "fragmentation"),
        "malloc": ("address", "fragmentation"),
        "register allocation": ("stay", "keeps the place"),
        "spill": ("write-back", "write back"),
        "spilling": ("write-back", "write back"),
        "eviction": ("takes the place", "take its place", "keeps the place"),
        "cache": ("fast memory",),
        "caching": ("keeps the place", "stay"),
        "lru": ("belady", "keeps the place"),
        "scratchpad": ("fast memory",),
        "vmem": ("fast memory",),
        "cmem": ("fast memory",),
        "sram": ("fast memory",),
        "hbm": ("slow memory",),
        "dram": ("slow memory",),
        "dma": ("copy",),
        "latency hiding": ("stall", "prefetch"),
        "double buffering": ("prefetch",),
        "roofline": ("bandwidth", "roofline"),
        "while": ("loop",),
        "scan": ("loop",),
        "donation": ("alias", "share a place"),
        "in place": ("alias", "share a place"),
        "backtracking": ("dead end", "drop-backup"),
        "heuristic": ("greedy",),
        "defragmentation": ("fragmentation", "address"),
        "xla": ("compiler", "xla"),
    }
)
"""Words that people from other fields look for, and those of ours that they find."""


def terms_of(text: str) -> list[tuple[str, ...]]:
    """The words of a search, each with what may stand for it; phrases that are known come first."""
    rest, terms = f" {' '.join(text.lower().split())} ", []
    for phrase in sorted(SYNONYMS, key=len, reverse=True):
        if f" {phrase} " in rest:
            rest = rest.replace(f" {phrase} ", " ")
            terms.append((phrase, *SYNONYMS[phrase]))
    return [*terms, *((word,) for word in rest.split())]


def _head(lesson: Lesson) -> str:
    return " ".join((lesson.title, *lesson.concepts)).lower()


def load_catalogue(folder: Path = FOLDER) -> Catalogue:
    """The lessons of a folder; a broken file does not keep the others from being read."""
    lessons, broken = [], []
    for path in sorted(folder.glob("*.toml")):
        try:
            lessons.append(read_lesson(path))
        except LessonError as error:
            broken.append(str(error))
    lessons.sort(key=lambda lesson: (lesson.order, lesson.name))
    kept, lost = _with_known_needs(lessons)
    return Catalogue(tuple(kept), (*broken, *lost))


def _with_known_needs(lessons: Sequence[Lesson]) -> tuple[list[Lesson], list[str]]:
    """Lessons whose needs are there and come before them, and complaints about the others."""
    kept: list[Lesson] = []
    lost = []
    for lesson in lessons:
        before = {other.name for other in kept}
        missing = [need for need in lesson.needs if need not in before]
        if missing:
            lost.append(
                f"{lesson.name}.toml, needs: no lesson before this one (by order) is called"
                f" {', '.join(missing)}"
            )
        else:
            kept.append(lesson)
    return kept, lost

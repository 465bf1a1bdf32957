"""Five small programs that each show one idea of the game, built by hand.

All run on the `generic` hardware: 1 MiB of fast memory, and one KiB is copied in one microsecond.
Savings are those of memory-bound accesses: one microsecond per KiB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.program.io import save
from engine.program.library import INDEX_NAME, SampleEntry, describe, write_index
from engine.program.model import (
    INPUT_TIME,
    TOP_LEVEL,
    Access,
    Hardware,
    Instruction,
    Program,
    Region,
    Value,
)
from engine.program.validate import validate

KIB = 2**10
MICROSECOND = 1e-6
HARDWARE = Hardware(
    name="generic",
    fast_bytes=2**20,
    alignment=KIB,
    bandwidth=KIB / MICROSECOND,
    clock_hz=1e9,
    fast_name="fast memory",
    max_cross_program_prefetches=0,
)
"""The `generic` preset of `engine.hardware.presets`, which this room may not import."""


@dataclass
class Draft:
    """A program under construction: values, then steps in schedule order."""

    values: list[Value] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)

    def input(self, name: str, kib: int) -> int:
        """A program input; returns the value's number."""
        return self._value(name, kib, INPUT_TIME, len({v.group for v in self.values}), False)

    def loop(self, num_steps: int, trips: int) -> None:
        """The next `num_steps` steps run `trips` times."""
        start = len(self.instructions)
        self.regions.append(Region(f"while.{start}", start, start + num_steps, float(trips)))

    def step(
        self, name: str, compute_us: float, reads: Sequence[int] = (), *, scratch_kib: int = 0
    ) -> None:
        """An instruction that computes for `compute_us` each time it runs and reads values."""
        slot = len(self.instructions)
        inside = [i for i, r in enumerate(self.regions) if r.start <= slot < r.end]
        level = inside[-1] if inside else TOP_LEVEL
        seconds = compute_us * MICROSECOND * self._trips(level)
        scratch = scratch_kib * KIB
        self.instructions.append(
            Instruction(name, "fusion", seconds, level, scratch, scratch, f"teaching/{name}")
        )
        for operand, value in enumerate(reads):
            self._access(value, False, operand)

    def write(self, name: str, kib: int, *, is_live_out: bool = False) -> int:
        """The last step writes a new value; returns its number."""
        return self._write(name, kib, len({v.group for v in self.values}), is_live_out)

    def update(self, old: int, name: str, *, is_live_out: bool = False) -> int:
        """The last step writes a new value into the place of `old`."""
        kib = self.values[old].size_bytes // KIB
        return self._write(name, kib, self.values[old].group, is_live_out)

    def program(self, name: str, title: str, lesson: str) -> Program:
        """The finished program, with title and lesson in its provenance."""
        program = Program(
            name=name,
            hardware=HARDWARE,
            instructions=tuple(self.instructions),
            values=tuple(self.values),
            accesses=tuple(self.accesses),
            regions=tuple(self.regions),
            provenance={"kind": "teaching", "title": title, "lesson": lesson},
        )
        validate(program, name)
        return program

    def _trips(self, level: int) -> float:
        return 1.0 if level == TOP_LEVEL else self.regions[level].multiplicity

    def _write(self, name: str, kib: int, group: int, is_live_out: bool) -> int:
        value = self._value(name, kib, len(self.instructions) - 1, group, is_live_out)
        self._access(value, True, 0)
        return value

    def _value(self, name: str, kib: int, defined: int, group: int, is_live_out: bool) -> int:
        shape = f"u8[{kib},1024]"
        self.values.append(Value(name, shape, kib * KIB, defined, group, is_live_out))
        return len(self.values) - 1

    def _access(self, value: int, is_write: bool, operand: int) -> None:
        slot = len(self.instructions) - 1
        trips = self._trips(self.instructions[slot].level)
        moved = self.values[value].size_bytes * trips
        seconds = moved / HARDWARE.bandwidth
        self.accesses.append(Access(slot, value, is_write, seconds, round(moved), operand))


@dataclass(frozen=True)
class Lesson:
    """A teaching program and what is known of it.

    `optimum_us`: latency of the best plan of the game, found by playing all action sequences. A
    plan that chooses its own places may be better, down to the bound.
    `bound_us`: the lower bound of `engine.plan.bounds`.
    """

    name: str
    title: str
    text: str
    optimum_us: float
    bound_us: float
    build: Callable[[Draft], None]

    def program(self) -> Program:
        """The program; the same on every call."""
        draft = Draft()
        self.build(draft)
        return draft.program(self.name, self.title, self.text)


def _keep_or_drop(draft: Draft) -> None:
    draft.step("make_a", 40)
    a = draft.write("a", 600)
    draft.step("make_b", 40)
    b = draft.write("b", 600)
    draft.step("use_a", 40, [a])
    draft.step("use_b", 40, [b])
    draft.step("use_a_again", 40, [a])


def _prefetch_hides(draft: Draft) -> None:
    first = draft.input("first_weight", 384)
    second = draft.input("second_weight", 384)
    draft.step("first_layer", 100, [first])
    hidden = draft.write("hidden", 64)
    draft.step("attention", 500, [hidden])
    mixed = draft.write("mixed", 64)
    draft.step("second_layer", 100, [mixed, second])


def _fragmentation(draft: Draft) -> None:
    draft.step("make_left", 20)
    left = draft.write("left", 384)
    draft.step("make_middle", 20)
    middle = draft.write("middle", 192)
    draft.step("use_left", 20, [left])
    draft.step("make_wide", 20)
    wide = draft.write("wide", 576)
    draft.step("use_wide", 20, [wide])
    draft.step("use_middle", 20, [middle])


def _evict_and_return(draft: Draft) -> None:
    draft.step("make_state", 50)
    state = draft.write("state", 512, is_live_out=True)
    draft.step("use_state", 50, [state])
    draft.step("long_compute", 600)
    draft.step("make_burst", 50)
    burst = draft.write("burst", 768)
    draft.step("use_burst", 50, [burst])
    draft.step("second_compute", 600)
    draft.step("use_state_again", 50, [state])


def _loop_carry(draft: Draft) -> None:
    weight = draft.input("weight", 448)
    draft.step("start", 500)
    state = draft.write("state", 256)
    draft.step("warm_up", 30, [state, weight])
    draft.loop(num_steps=2, trips=8)
    draft.step("multiply", 30, [state, weight])
    product = draft.write("product", 256)
    draft.step("accumulate", 30, [product, state])
    final = draft.update(state, "next_state")
    draft.step("finish", 30, [final])


LESSONS: tuple[Lesson, ...] = (
    Lesson(
        "teach-keep-or-drop",
        "Keep or drop",
        "Two tensors do not fit together, and one of them is read twice."
        " Keeping that one pays more than keeping the other.",
        1400.0,
        1333.333,
        _keep_or_drop,
    ),
    Lesson(
        "teach-prefetch",
        "A prefetch hides behind compute",
        "The second weight is copied while other instructions compute, so it costs nothing."
        " The first weight is needed at once: its copy would stall for as long as it saves.",
        1084.0,
        1084.0,
        _prefetch_hides,
    ),
    Lesson(
        "teach-fragmentation",
        "Free bytes that are not in one piece",
        "After the left tensor has gone, more than enough bytes are free for the wide one."
        " Whether they are in one piece depends on where the tensor in the middle was put.",
        120.0,
        120.0,
        _fragmentation,
    ),
    Lesson(
        "teach-evict-and-return",
        "Out to slow memory and back",
        "A tensor that the program returns must be written back at some time anyway."
        " Written back early, it makes room for a burst, and a prefetch brings it in again.",
        1450.0,
        1450.0,
        _evict_and_return,
    ),
    Lesson(
        "teach-loop-carry",
        "What a loop carries",
        "A state that every iteration updates in place stays in fast memory across the loop."
        " The weight, copied in before the loop, serves all iterations instead of one.",
        1040.0,
        1040.0,
        _loop_carry,
    ),
)


def write_teaching(folder: Path) -> list[SampleEntry]:
    """Write the teaching programs and their index to `folder`; returns the entries."""
    entries = []
    for lesson in LESSONS:
        program = lesson.program()
        file = f"{lesson.name}.json"
        save(program, folder / file)
        entry = describe(
            program,
            file,
            lesson.title,
            model="teaching",
            bound_s=lesson.bound_us * MICROSECOND,
            best_s=lesson.optimum_us * MICROSECOND,
            best_solver="exhaustive",
        )
        entries.append(replace(entry, folder=folder))
    write_index(entries, folder / INDEX_NAME)
    return entries

"""The program of a lesson: a sample by name, or written out in the lesson's own file."""

from __future__ import annotations

from dataclasses import replace

from engine.errors import EngineError, LessonError
from engine.lessons.toml_table import TomlTable
from engine.program.library import load_sample
from engine.program.model import Program
from engine.program.teaching import KIB, MICROSECOND, Draft
from engine.program.validate import validate

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
        for tensor, saved_us in step.numbers("saves").items():
            self._known(step, "saves", tensor)
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

"""The teaching programs: small, in the library, and unchanged since they were written."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.program import library
from engine.program.io import load
from engine.program.teaching import LESSONS, MICROSECOND, Lesson, write_teaching


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_each_shows_one_idea_on_a_small_board(lesson: Lesson) -> None:
    program = lesson.program()
    assert 4 <= len(program.accesses) <= 12
    assert program.provenance["title"] == lesson.title
    assert program.provenance["lesson"].count(".") == 2
    assert all(group.may_be_fast for group in program.groups)
    assert program.all_fast_s / MICROSECOND <= lesson.bound_us * (1 + 1e-9)
    assert lesson.optimum_us < 0.75 * program.all_slow_s / MICROSECOND


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_the_shipped_files_are_the_generated_ones(lesson: Lesson) -> None:
    program = library.load_sample(lesson.name)
    assert program == lesson.program()
    assert program.provenance == lesson.program().provenance
    entry = library.find_sample(lesson.name)
    assert entry.best_s == lesson.optimum_us * MICROSECOND
    assert entry.bound_s == lesson.bound_us * MICROSECOND


def test_writing_them_gives_the_same_files_again(tmp_path: Path) -> None:
    entries = write_teaching(tmp_path)
    shipped = library.SAMPLES_FOLDER / "teaching"
    for name in [*(entry.file for entry in entries), "index.json"]:
        assert (tmp_path / name).read_bytes() == (shipped / name).read_bytes()
    assert [load(entry.path).name for entry in entries] == [lesson.name for lesson in LESSONS]


def test_the_loop_lesson_has_a_loop_and_a_carried_state() -> None:
    program = LESSONS[-1].program()
    (region,) = program.regions
    assert region.multiplicity == 8
    carried = {sink.group for sink in program.sinks}
    (state,) = carried
    assert program.groups[state].is_written
    # Eight runs of an instruction: eight times its seconds and its bytes.
    inside = [a for a in program.accesses if region.start <= a.time < region.end]
    assert inside
    assert all(a.slow_bytes == 8 * program.values[a.value].size_bytes for a in inside)

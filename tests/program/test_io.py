"""The program file: exact round trips, and clear refusals of what is malformed or hostile."""

from __future__ import annotations

import copy
import gzip
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ProgramFormatError
from engine.files import read_bytes
from engine.program import io
from engine.program.model import Program
from engine.program.validate import validate
from tests.strategies import programs, random_program

Body = dict[str, Any]


@settings(max_examples=40)
@given(program=programs(12), extra=st.dictionaries(st.text(), st.floats(allow_nan=False)))
def test_round_trips_are_exact(program: Program, extra: dict[str, float]) -> None:
    program = replace(program, provenance=extra)
    again = io.from_json(json.loads(json.dumps(io.to_json(program))), "test")
    assert again == program
    assert again.provenance == program.provenance
    assert io.content_hash(again) == io.content_hash(program)


@given(seconds=st.floats(0, 1e199))
def test_every_float_survives(seconds: float) -> None:
    program = random_program(1, 3)
    first = replace(program.instructions[0], fast_s=seconds)
    program = replace(program, instructions=(first, *program.instructions[1:]))
    text = json.dumps(io.to_json(program))
    assert io.from_json(json.loads(text), "test").instructions[0].fast_s == seconds


@pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
def test_files_round_trip_and_do_not_depend_on_the_time(tmp_path: Path, name: str) -> None:
    program = random_program(2, 40)
    io.save(program, tmp_path / name)
    assert io.load(tmp_path / name) == program
    before = (tmp_path / name).read_bytes()
    io.save(program, tmp_path / name)
    assert (tmp_path / name).read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert (before[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_the_hash_covers_all_but_name_and_provenance() -> None:
    program = random_program(3, 12)
    code = io.content_hash(program)
    assert len(code) == 16
    assert io.content_hash(replace(program, name="x", provenance={"a": 1})) == code
    tables = {"instructions": "fast_s", "values": "size_bytes", "accesses": "slow_bytes"}
    for table, column in tables.items():
        rows = list(getattr(program, table))
        rows[0] = replace(rows[0], **{column: getattr(rows[0], column) + 1})
        assert io.content_hash(replace(program, **{table: tuple(rows)})) != code
    faster = replace(program.hardware, bandwidth=2e9)
    assert io.content_hash(replace(program, hardware=faster)) != code


def counted(program: Program) -> Program:
    """The program with a count of operations in every instruction but the first."""
    return replace(
        program,
        instructions=tuple(replace(i, flops=7.5 * t) for t, i in enumerate(program.instructions)),
    )


def test_counts_of_operations_are_optional_and_no_part_of_the_identity() -> None:
    program = random_program(3, 12)
    body, with_counts = io.to_json(program), io.to_json(counted(program))
    assert "flops" not in body["instructions"]
    assert with_counts["instructions"]["flops"] == [7.5 * t for t in range(12)]
    assert io.from_json(with_counts, "test") == counted(program)
    assert io.content_hash(counted(program)) == io.content_hash(program)
    for table in ("values", "accesses", "regions"):
        extra = [0.0] * len(getattr(program, table))
        assert f"{table}: object contains unknown field flops" in refusal(
            changed(put(table, "flops", extra))
        )
    with_counts["instructions"]["flops"][1] = -1.0
    assert "negative" in refusal(with_counts)


def test_uncertainty_is_optional_and_no_part_of_the_identity() -> None:
    program = random_program(3, 12)
    assert "uncertainty_s" not in io.to_json(program)["accesses"]
    accesses = tuple(
        replace(a, uncertainty_s=1e-6 * (n % 3)) for n, a in enumerate(program.accesses)
    )
    unsure = replace(program, accesses=accesses)
    body = io.to_json(unsure)
    assert io.from_json(body, "test") == unsure
    assert io.content_hash(unsure) == io.content_hash(program)
    body["accesses"]["uncertainty_s"][1] = -1e-9
    assert "negative" in refusal(body)


def test_accesses_that_must_be_slow_are_part_of_the_identity_and_save_nothing() -> None:
    program = random_program(4, 12)
    free = replace(
        program, accesses=tuple(replace(a, must_be_slow=False) for a in program.accesses)
    )
    assert "must_be_slow" not in io.to_json(free)["accesses"]
    slow = replace(free.accesses[0], must_be_slow=True, saving_s=0.0)
    barred = replace(free, accesses=(slow, *free.accesses[1:]))
    assert io.from_json(io.to_json(barred), "test") == barred
    idle = replace(barred, accesses=(replace(slow, must_be_slow=False), *free.accesses[1:]))
    assert io.content_hash(barred) != io.content_hash(idle)
    paid = replace(free, accesses=(replace(slow, saving_s=1.0), *free.accesses[1:]))
    with pytest.raises(ProgramFormatError, match="must be slow"):
        validate(paid, "test")


def test_a_value_that_nobody_writes_is_refused() -> None:
    program = random_program(6, 30)
    value = next(i for i, v in enumerate(program.values) if not v.is_input)
    kept = tuple(a for a in program.accesses if not (a.is_write and a.value == value))
    body = io.to_json(replace(program, accesses=kept))
    assert f"value {value} is no input, and no access writes it" in refusal(body)


def changed(change: Callable[[Body], Any]) -> Body:
    body = copy.deepcopy(io.to_json(random_program(6, 30)))
    change(body)
    return body


def refusal(body: Any) -> str:
    with pytest.raises(ProgramFormatError) as caught:
        io.from_json(body, "file.json")
    message = str(caught.value)
    assert message.startswith("file.json: ")
    assert "\n" not in message
    assert len(message) < 400
    return message


def put(*path: Any) -> Callable[[Body], Any]:
    """A change: set the item that the keys before the last lead to."""

    def change(body: Body) -> None:
        target: Any = body
        for key in path[:-2]:
            target = target[key]
        target[path[-2]] = path[-1]

    return change


def test_the_unchanged_program_is_accepted() -> None:
    """Else the refusals below would show nothing."""
    program = io.from_json(changed(lambda body: None), "file.json")
    assert min(len(program.regions), len(program.accesses), len(program.values)) >= 2


@pytest.mark.parametrize("body", [None, 3, "x", [], {}, {"format": "mallocmuzero-plan"}])
def test_other_files_are_refused(body: Any) -> None:
    assert "not a mallocmuzero-program file" in refusal(body)


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.5])
def test_other_versions_are_refused(version: Any) -> None:
    assert "version" in refusal(changed(put("version", version)))


@pytest.mark.parametrize("table", ["instructions", "values", "accesses", "regions"])
def test_tables_must_be_whole(table: str) -> None:
    first = next(iter(changed(lambda b: None)[table]))
    lacking = refusal(changed(lambda b: b[table].pop(first)))
    assert f"{table}: object missing required field {first}" in lacking
    unknown = refusal(changed(put(table, "surprise", [])))
    assert f"{table}: object contains unknown field surprise" in unknown
    longer = changed(lambda b: None)
    column = next(iter(longer[table].values()))
    column.append(column[-1])
    assert "length" in refusal(longer)
    objects = refusal(changed(lambda b: b[table].update({k: {} for k in b[table]})))
    assert f"{table}.{first}: expected array, got object" in objects
    assert refusal(changed(lambda b: b.pop(table)))
    assert refusal(changed(put(table, None)))


@pytest.mark.parametrize(
    "change",
    [
        put("instructions", "fast_s", 0, "1.0"),
        put("instructions", "fast_s", 0, None),
        put("instructions", "level", 0, 0.5),
        put("values", "size_bytes", 0, True),
        put("values", "is_live_out", 0, 1),
        put("values", "name", 0, 7),
        put("accesses", "time", 0, "0"),
        put("hardware", "fast_bytes", 1e6),
        put("hardware", "surprise", 1),
        put("hardware", 5),
        put("name", 5),
        put("provenance", []),
        lambda body: body["hardware"].pop("alignment"),
        lambda body: body.pop("name"),
    ],
)
def test_wrong_types_are_refused(change: Callable[[Body], Any]) -> None:
    place = refusal(changed(put("accesses", "saving_s", 1, None)))
    assert "accesses.saving_s[1]: expected float, got null" in place
    assert "not a valid program file" in refusal(changed(change))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "path", [("instructions", "fast_s", 0), ("accesses", "saving_s", 0), ("hardware", "bandwidth")]
)
def test_numbers_must_be_finite(path: tuple[Any, ...], number: float) -> None:
    assert "finite" in refusal(changed(put(*path, number)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("hardware", "alignment", 0), "alignment"),
        (put("hardware", "alignment", 2**25), "alignment"),
        (put("hardware", "fast_bytes", 0), "fast_bytes"),
        (put("hardware", "fast_bytes", 2**41), "fast_bytes"),
        (put("hardware", "bandwidth", 0.0), "bandwidth"),
        (put("hardware", "bandwidth", 1e-300), "bandwidth"),
        (put("hardware", "clock_hz", -1.0), "clock"),
        (put("hardware", "max_cross_program_prefetches", -1), "max_cross_program"),
        (put("hardware", "max_cross_program_prefetches", 1001), "max_cross_program"),
        (put("regions", "start", 0, -1), "region 0"),
        (put("regions", "end", 0, 1000), "region 0"),
        (put("regions", "multiplicity", 0, 0.0), "region 0"),
        (put("regions", "multiplicity", 0, 1e15), "region 0"),
        (put("regions", "multiplicity", 0, 1e-15), "region 0"),
        (put("regions", "parent", 0, 0), "region 0"),
        (put("instructions", "fast_s", 1, -1.0), "instruction 1"),
        (put("instructions", "reserved_bytes", 1, -1), "instruction 1"),
        (put("instructions", "level", 0, 99), "instruction 0"),
        (put("values", "size_bytes", 0, -1), "value 0"),
        (put("values", "size_bytes", 0, 2**51), "value 0"),
        (put("values", "defined", 0, -2), "value 0"),
        (put("values", "defined", 0, 1000), "value 0"),
        (put("values", "group", 0, 1000), "alias groups"),
        (put("accesses", "value", 0, 1000), "access 0"),
        (put("accesses", "value", 0, -1), "access 0"),
        (put("accesses", "time", 0, 29), "access"),
        (put("accesses", "time", -1, 1000), "access"),
        (put("accesses", "saving_s", 0, -1e-9), "access 0"),
        (put("accesses", "slow_bytes", 0, -1), "access 0"),
    ],
)
def test_impossible_programs_are_refused(change: Callable[[Body], Any], message: str) -> None:
    assert message in refusal(changed(change))


@pytest.mark.parametrize("seconds", [1e308, 1e200, 1e-320])
def test_times_whose_sum_is_no_time_of_a_run_are_refused(seconds: float) -> None:
    def change(body: Body) -> None:
        instructions, accesses = body["instructions"], body["accesses"]
        instructions["fast_s"] = [seconds] * len(instructions["fast_s"])
        accesses["saving_s"] = [0.0] * len(accesses["saving_s"])

    assert "seconds in one run" in refusal(changed(change))


def test_a_region_may_not_leave_its_parent_or_cross_another() -> None:
    program = random_program(6, 30)
    one = replace(program.regions[0], start=2, end=8, parent=-1)
    body = io.to_json(replace(program, regions=(one, replace(one, start=5, end=10))))
    assert "region 1 overlaps" in refusal(body)
    body = io.to_json(replace(program, regions=(one, replace(one, start=5, end=10, parent=0))))
    assert "region 1 overlaps" in refusal(body)
    inside = replace(one, start=3, end=5, parent=-1)
    body = io.to_json(replace(program, regions=(one, inside)))
    assert "region 1 names a parent that is not the innermost region around it" in refusal(body)


def test_more_bytes_than_a_file_can_say_are_refused_before_they_are_saved() -> None:
    program = random_program(6, 30)
    first, *others = program.accesses
    many = replace(program, accesses=(replace(first, slow_bytes=2**53 + 1), *others))
    with pytest.raises(ProgramFormatError, match="absurd"):
        validate(many, "many")


def test_writes_belong_to_the_defining_instruction_and_follow_the_reads() -> None:
    program = random_program(6, 30)
    accesses = list(program.accesses)
    write = next(i for i, a in enumerate(accesses) if a.is_write and a.time > 0)
    read = next(i for i, a in enumerate(accesses) if not a.is_write)
    wrong = accesses.copy()
    wrong[read] = replace(accesses[read], is_write=True)
    assert f"access {read} writes" in refusal(io.to_json(replace(program, accesses=tuple(wrong))))
    late = replace(accesses[0], time=29)
    assert "out of order" in refusal(io.to_json(replace(program, accesses=(late, *accesses))))
    value = accesses[write].value
    early = replace(accesses[write], time=program.values[value].defined - 1, is_write=False)
    assert "access 0 is before" in refusal(
        io.to_json(replace(program, accesses=(early, *accesses)))
    )


# Files


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "p.json.gz"
    path.write_bytes(data)
    return path


def packed() -> bytes:
    return gzip.compress(json.dumps(io.to_json(random_program(2, 40))).encode())


@pytest.mark.parametrize("kept", [2, 9, 12, 200, -9, -1])
def test_truncated_gzip_is_refused(tmp_path: Path, kept: int) -> None:
    with pytest.raises(ProgramFormatError, match=r"p\.json\.gz: "):
        io.load(written(tmp_path, packed()[:kept]))


@given(position=st.integers(0, 10_000), bits=st.integers(1, 255))
def test_damaged_gzip_never_gives_another_program(
    tmp_path_factory: pytest.TempPathFactory, position: int, bits: int
) -> None:
    data = bytearray(packed())
    data[position % len(data)] ^= bits
    path = written(tmp_path_factory.mktemp("damaged"), bytes(data))
    try:
        program = io.load(path)
    except ProgramFormatError:
        return
    # Some bytes of the header say nothing about the data.
    assert program == random_program(2, 40)


def test_more_than_the_limit_is_refused_without_unpacking_it(tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * 2**20)
    with pytest.raises(ProgramFormatError, match="larger than 512 KiB"):
        read_bytes(written(tmp_path, bomb), 2**19)
    assert len(read_bytes(written(tmp_path, bomb), 2**20)) == 2**20


HUGE = b"1" + 400 * b"0"
"""More than any float holds: `float` of it raises, and so does a comparison of sums."""


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff\xff", b"[" * 100_000, b"NaN,", HUGE, b"-" + HUGE]
)
def test_what_is_not_json_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ProgramFormatError, match="not JSON"):
        io.load(written(tmp_path, data))


def test_a_provenance_that_is_no_json_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    for odd in (float("nan"), {1}):
        program = replace(random_program(1, 4), provenance={"odd": odd})
        with pytest.raises(ProgramFormatError, match=r"p\.json: cannot be written as JSON"):
            io.save(program, path)
    assert not path.exists()


def test_a_missing_file_and_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ProgramFormatError, match="cannot be read"):
        io.load(tmp_path / "missing.json")
    with pytest.raises(ProgramFormatError, match="cannot be written"):
        io.save(random_program(1, 3), tmp_path / "missing" / "p.json")


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.json"
    io.save(random_program(1, 3), path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ProgramFormatError, match="No space left"):
        io.save(random_program(2, 3), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["p.json"]

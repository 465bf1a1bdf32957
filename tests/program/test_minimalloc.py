"""minimalloc tables: what is read, what is refused, and that only placing everything is best."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cli import main
from engine.errors import ProgramFormatError
from engine.plan.check import check
from engine.plan.model import Copy, Plan, Stay
from engine.plan.simulate import simulate
from engine.program import minimalloc
from engine.program.io import content_hash, load
from engine.program.minimalloc import import_minimalloc, minimalloc_program, read_buffers
from engine.program.model import Program
from engine.program.provenance import import_remarks

EXAMPLE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
OFFSETS = (8, 8, 4, 4, 0)
"""The solution for a capacity of 12 that minimalloc's own page shows."""


def example(capacity: int = 12) -> Program:
    return minimalloc_program(EXAMPLE, "example.csv", "example", capacity)


def placed(program: Program, offsets: tuple[int, ...]) -> Plan:
    """Every buffer from its first touch to its last."""
    stays = []
    for group, indices in enumerate(program.touches_of_group):
        times = [program.touches[i].time for i in indices]
        stays.append(Stay(group, offsets[group], times[0], times[-1] + 1))
    fast = (True,) * len(program.accesses)
    return Plan(content_hash(program), "placed", fast, tuple(stays), ())


def test_a_table_becomes_slots_between_its_moments() -> None:
    program = example()
    assert [i.name for i in program.instructions] == ["t0", "t3", "t9"]
    assert [(v.name, v.size_bytes, v.defined) for v in program.values] == [
        ("b1", 4, 0),
        ("b2", 4, 1),
        ("b3", 4, 0),
        ("b4", 4, 2),
        ("b5", 4, 0),
    ]
    times = [[program.touches[i].time for i in ids] for ids in program.touches_of_group]
    assert times == [[0], [1], [0, 1], [2], [0, 2]]
    per_byte = {
        sum(program.touches[i].saving_s for i in ids) / program.groups[g].size_bytes
        for g, ids in enumerate(program.touches_of_group)
    }
    assert per_byte == {2 / minimalloc.BANDWIDTH}


def test_minimallocs_own_solution_is_valid_and_best() -> None:
    program = example()
    plan = placed(program, OFFSETS)
    assert check(program, plan) is None
    assert simulate(program, plan).latency_s == program.all_fast_s == 0
    violation = check(program, placed(program, (8, 8, 4, 4, 6)))
    assert violation is not None
    assert violation.rule == "overlap"


def test_a_copy_does_not_pay() -> None:
    program = example()
    plan = placed(program, OFFSETS)
    slow_write = [not (a.value == 2 and a.is_write) for a in program.accesses]
    stays = tuple(s if s.group != 2 else Stay(2, 4, 1, 2) for s in plan.stays)
    copied = Plan(plan.program_hash, "", tuple(slow_write), stays, (Copy(2, True, 1, 1),))
    assert check(program, copied) is None
    slow = [a.value != 2 for a in program.accesses]
    left_out = Plan(plan.program_hash, "", tuple(slow), plan.stays, ())
    assert simulate(program, copied).latency_s >= simulate(program, left_out).latency_s > 0


@pytest.mark.parametrize(
    "header",
    [
        "buffer,start,upper,size",
        "buffer_id,begin,upper,size",
        "\ufeffid , lower,upper,size",
    ],
)
def test_other_names_of_columns(tmp_path: Path, header: str) -> None:
    path = tmp_path / "example.csv"
    path.write_text(EXAMPLE.replace("id,lower,upper,size", header).replace("\n", "\r\n"))
    assert import_minimalloc(path, 12) == example()


def test_an_end_is_included() -> None:
    lines = "size,end,start,buffer\n4,2,0,b1\n4,8,3,b2\n4,8,0,b3\n4,20,9,b4\n4,20,0,b5\n"
    assert minimalloc_program(lines, "", "example", 12) == example()


def test_gzip_and_given_offsets(tmp_path: Path) -> None:
    lines = EXAMPLE.strip().split("\n")
    solved = [lines[0] + ",offset"] + [
        f"{row},{o}" for row, o in zip(lines[1:], OFFSETS, strict=True)
    ]
    path = tmp_path / "solved.csv.gz"
    path.write_bytes(gzip.compress("\n".join(solved).encode()))
    program = import_minimalloc(path, 12)
    assert program.name == "solved"
    assert program.provenance["offsets"] == list(OFFSETS)
    assert content_hash(program) == content_hash(example())


def test_one_alignment_is_kept() -> None:
    text = "id,lower,upper,size,alignment\na,0,1,5,4\nb,0,1,5,4\n"
    assert minimalloc_program(text, "", "", 16).hardware.alignment == 4


def test_a_common_alignment_of_many_digits_is_not_worked_out() -> None:
    alignments = [10**18 + n for n in range(1, 600, 2)]
    lines = [f"b{n},0,1,4,{alignment}" for n, alignment in enumerate(alignments)]
    with pytest.raises(ProgramFormatError, match="give a larger one"):
        minimalloc_program("\n".join(["id,lower,upper,size,alignment", *lines]), "", "", 64)


def test_buffers_of_several_alignments_are_aligned_to_all_of_them() -> None:
    text = "id,lower,upper,size,alignment\na,0,1,5,4\nb,0,1,5,6\n"
    program = minimalloc_program(text, "", "", 24)
    assert program.hardware.alignment == 12
    assert any("aligned to 12 bytes" in remark for remark in import_remarks(program))
    assert check(program, placed(program, (0, 12))) is None
    assert import_remarks(example()) == []


def test_columns_that_minimalloc_writes_are_read() -> None:
    """A hint is for its solver, and a buffer may have no gaps."""
    header, *rows = EXAMPLE.strip().split("\n")
    text = "\n".join([f"{header},hint,gaps", *(f"{row},{n - 1}," for n, row in enumerate(rows))])
    program = minimalloc_program(text, "example.csv", "example", 12)
    assert content_hash(program) == content_hash(example())
    assert import_remarks(program) == ["the column 'hint' is passed over"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("id,lower,upper,size\n", "no buffer"),
        ("id,lower,upper\na,0,1\n", "no column 'size'"),
        ("id,lower,upper,size,colour\na,0,1,4,red\n", "unknown column 'colour'"),
        ("id,lower,start,upper,size\na,0,0,1,4\n", "two columns mean the same"),
        ("id,lower,upper,size\na,0,1\n", "line 2: 3 fields instead of 4"),
        ("id,lower,upper,size\na,0,1,4,5\n", "line 2: 5 fields instead of 4"),
        ("id,lower,upper,size\na,0,1,4\n\nb,0,x,4\n", "line 4: upper is 'x'"),
        ("id,lower,upper,size\na,0,1,4.0\n", "size is '4.0'"),
        ("id,lower,upper,size\na,0,1,1e9\n", "size is '1e9'"),
        ("id,lower,upper,size\na,0,1,٤\n", "size is"),
        ("id,lower,upper,size\na,0,1,1_0\n", "size is '1_0'"),
        ("id,lower,upper,size\na,0,1,--4\n", "size is '--4'"),
        ("id,lower,upper,size\na,0,1,nan\n", "size is 'nan'"),
        ("id,lower,upper,size\na,0,1," + "9" * 5000 + "\n", "size is '999"),
        ("id,lower,upper,size\na,0,1,9999999999999\n", "impossible"),
        ("id,lower,upper,size\na,0,1,0\n", "size of 0 bytes"),
        ("id,lower,upper,size\na,0,1,-4\n", "size of -4 bytes"),
        ("id,lower,upper,size\na,3,3,4\n", "empty or too far"),
        ("id,lower,upper,size\na,4,3,4\n", "empty or too far"),
        ("id,lower,upper,size\na,0,9999999999999999999,4\n", "empty or too far"),
        ("id,lower,upper,size\n,0,1,4\n", "no id"),
        ("id,lower,upper,size\na,0,1,4\na,1,2,4\n", "two buffers have one id"),
        ("id,lower,upper,size\na,0,1,13\n", "more than the capacity of 12"),
        ("id,lower,upper,size,offset\na,0,1,4,-1\n", "impossible alignment or offset"),
        ("id,lower,upper,size,alignment\na,0,1,4,0\n", "impossible alignment or offset"),
        (
            "id,lower,upper,size,alignment\na,0,1,4,4\nb,0,1,4,10\n",
            "aligned alike, here to a multiple of 20",
        ),
        ("id,lower,upper,size,gaps\na,0,9,4,2-3\n", "line 2: gaps .* stricter"),
        ('id,lower,upper,size\n"a,0,1,4\n', "line 2"),
        ("id,lower,upper,size,alignment\na,0,1,4,99999999\n", "aligned alike"),
    ],
)
def test_bad_tables_are_refused(text: str, message: str) -> None:
    with pytest.raises(ProgramFormatError, match=message) as caught:
        minimalloc_program(text, "bad.csv", "bad", 12)
    assert str(caught.value).startswith("bad.csv")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("capacity", [0, -1, 2**41])
def test_impossible_capacities_are_refused(capacity: int) -> None:
    with pytest.raises(ProgramFormatError, match="capacity"):
        example(capacity)


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimalloc, "MAX_BUFFERS", 4)
    with pytest.raises(ProgramFormatError, match="more than 4 buffers"):
        example()
    monkeypatch.setattr(minimalloc, "MAX_FILE_BYTES", 10)
    path = tmp_path / "long.csv"
    path.write_text(EXAMPLE)
    with pytest.raises(ProgramFormatError, match="larger than"):
        import_minimalloc(path, 12)
    with pytest.raises(ProgramFormatError, match="cannot be read"):
        import_minimalloc(tmp_path / "missing.csv", 12)
    path.write_bytes(b"id,lower,upper,size\n\xff\xfe,0,1,4\n")
    monkeypatch.setattr(minimalloc, "MAX_FILE_BYTES", 1000)
    with pytest.raises(ProgramFormatError, match="not a text file"):
        import_minimalloc(path, 12)


ROWS = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(1, 40), st.integers(1, 1000)), min_size=1
)


@given(rows=ROWS)
def test_lifetimes_overlap_as_in_the_table(rows: list[tuple[int, int, int]]) -> None:
    lines = [f"b{n},{low},{low + span},{size}" for n, (low, span, size) in enumerate(rows)]
    text = "\n".join(["id,lower,upper,size", *lines])
    buffers = read_buffers(text, "test")
    program = minimalloc_program(text, "test", "test", 1000)
    stays = placed(program, (0,) * len(rows)).stays
    for one, first in zip(buffers, stays, strict=True):
        for two, second in zip(buffers, stays, strict=True):
            alive_together = one.lower < two.upper and two.lower < one.upper
            assert alive_together == (first.start < second.end and second.start < first.end)


def test_a_table_is_imported_on_the_command_line(tmp_path: Path) -> None:
    table, program = tmp_path / "table.csv", tmp_path / "table.json.gz"
    table.write_text(EXAMPLE)
    arguments = ["--minimalloc", str(table), "--capacity", "12", "-o", str(program)]
    assert main(["import", *arguments]) == 0
    assert content_hash(load(program)) == content_hash(import_minimalloc(table, 12))

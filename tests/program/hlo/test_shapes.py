"""Padded sizes and memory spaces."""

from __future__ import annotations

import re

import pytest

from engine.errors import ProgramFormatError
from engine.program.hlo.shape import layout_text, size_bytes
from tests.program.hlo.modules import FIXTURES, decoded, flow, module, program, value


def size(shape: str) -> int:
    """Bytes of one parameter of that shape."""
    made = program(module(f"  a = {shape} parameter(0)\n  ROOT t = {shape} copy(a)"))
    return int(value(made, "a").size_bytes)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("f32[3,5]{1,0}", 60),
        ("f32[3,5]{1,0:T(8,128)}", 8 * 128 * 4),
        ("bf16[9,129]{1,0:T(8,128)(2,1)}", 16 * 256 * 2),
        ("bf16[9,129]{0,1:T(8,128)(2,1)}", 128 * 136 * 2),
        ("bf16[4,9,129]{2,1,0:T(8,128)(2,1)}", 4 * 16 * 256 * 2),
        ("bf16[4,9,129]{1,0,2:T(8,128)(2,1)}", 129 * 8 * 128 * 2),
        ("bf16[1,1000]{1,0:T(1,128)(2,1)}", 2 * 1024 * 2),
        ("bf16[2,1000]{1,0:T(2,128)(2,1)}", 2 * 1024 * 2),
        ("f32[1000]{0:T(1024)}", 4096),
        ("pred[1000]{0:T(1024)(128)(4,1)}", 1024),
        ("bf16[10]{0:T(256)(128)(2,1)}", 512),
        ("s8[77,130]{1,0:T(8,128)(4,1)}", 80 * 256),
        ("s4[77,130]{1,0:T(8,128)(8,1)E(4)}", 80 * 256 // 2),
        ("s4[7,3]{1,0}", 21),
        ("u2[9]{0:E(2)}", 3),
        ("pred[5,3]{1,0}", 15),
        ("c64[4,4]{1,0}", 128),
        ("f32[6,10,128]{2,1,0:T(*,8,128)}", 64 * 128 * 4),
        ("f32[4,4096]{1,0:T(4,128)S(1)SC(1:2048)}", 4 * 2048 * 4),
        ("f32[0,5]{1,0}", 0),
    ],
)
def test_padded_sizes(shape: str, expected: int) -> None:
    if expected:
        assert size(shape) == expected
    else:
        text = module(
            f"  a = f32[8] parameter(0)\n  b = {shape} custom-call(a), "
            'custom_call_target="x"\n  ROOT c = f32[8] negate(a)'
        )
        assert value(program(text), "b").size_bytes == expected


_SMALL = "s2 u2 s1 u1 s4 u4 f4e2m1fn f8e8m0fnu f8e3m4 f8e4m3 f8e4m3fn f8e4m3fnuz f8e4m3b11fnuz"


@pytest.mark.parametrize("kind", [*_SMALL.split(), "f8e5m2", "f8e5m2fnuz"])
def test_types_are_called_as_xla_calls_them(kind: str) -> None:
    text = module(
        f"""  a = f32[8] parameter(0)
  b = {kind}[9] custom-call(a), custom_call_target="x"
  ROOT c = f32[8] negate(a)"""
    )
    assert value(program(text), "b").shape == f"{kind}[9]"


@pytest.mark.parametrize("shape", ["f32[]{:T(128)}", "s32[]", "f32[1,1]{1,0:T(8,128)}"])
def test_single_elements_stay_in_slow_memory(shape: str) -> None:
    made = program(
        module(
            f"""  a = {shape} parameter(0)
  c = f32[64] parameter(1)
  ROOT r = f32[64] custom-call(a, c), custom_call_target="x\""""
        )
    )
    assert not value(made, "a").may_be_fast
    assert value(made, "c").may_be_fast
    assert value(made, "a").size_bytes == {"f32[]{:T(128)}": 512, "s32[]": 4}.get(shape, 4096)


@pytest.mark.parametrize(("space", "is_placeable"), [(0, True), (1, True), (3, True), (5, False)])
def test_memory_spaces(space: int, is_placeable: bool) -> None:
    shape = f"f32[64]{{0:S({space})}}" if space else "f32[64]{0}"
    made = program(module(f"  a = {shape} parameter(0)\n  ROOT t = f32[64] negate(a)"))
    assert value(made, "a").may_be_fast == is_placeable


def test_what_is_larger_than_the_memory_may_not_be_fast() -> None:
    made = program(
        module(
            "  a = f32[262145] parameter(0)\n  ROOT t = f32[64] custom-call(a), "
            'custom_call_target="x"'
        )
    )
    assert not value(made, "a").may_be_fast


def test_absurd_sizes_are_refused() -> None:
    text = module(
        "  a = f32[1048576,1048576,1048576] parameter(0)\n  ROOT t = f32[8] "
        'custom-call(a), custom_call_target="x"'
    )
    with pytest.raises(ProgramFormatError, match="absurdly large"):
        program(text)


def test_layouts_compare_without_the_memory_space() -> None:
    tiled = "bf16[9,129]{1,0:T(8,128)(2,1)%s}"
    here, there, other = (
        decoded(module(f"  ROOT a = {shape} parameter(0)")).computations[0].instructions[0].shape
        for shape in (tiled % "", tiled % "S(1)", "bf16[9,129]{0,1:T(8,128)(2,1)}")
    )
    assert layout_text(here) == layout_text(there) == "bf16[9,129]{1,0:8x128;2x1}"
    assert layout_text(here) != layout_text(other)


DUMPED = re.compile(r"value: <\d+ (\S+?)(\{[\d,]*\})? @\d+> \(size=(\d+),offset=(\d+)\)")


@pytest.mark.parametrize("name", sorted(p.stem for p in FIXTURES.glob("*.hlo")))
def test_sizes_agree_with_the_compilers_own(name: str) -> None:
    """Every value that the compiler's buffer assignment names has the size that it says."""
    dump = (FIXTURES / f"{name}.buffers.txt").read_text()
    sizes = {f[1] + (f[2] or "{}"): int(f[3]) for f in DUMPED.finditer(dump)}
    seen = flow((FIXTURES / f"{name}.hlo").read_text())
    labels = {v.label: size_bytes(v.shape) for v in seen.values if v.label in sizes}
    assert len(labels) >= 3
    assert labels == {label: sizes[label] for label in labels}


@pytest.mark.parametrize("name", sorted(p.stem for p in FIXTURES.glob("*.hlo")))
def test_values_of_one_place_have_one_offset(name: str) -> None:
    """What we let share a place, XLA puts at one offset; and no pair of its own is refused."""
    offsets: dict[str, tuple[str, int]] = {}
    allocation = ""
    for line in (FIXTURES / f"{name}.buffers.txt").read_text().splitlines():
        if line.startswith("allocation"):
            allocation = line.split(":")[0]
        elif found := DUMPED.search(line):
            offsets[found[1] + (found[2] or "{}")] = (allocation, int(found[4]))
    seen = flow((FIXTURES / f"{name}.hlo").read_text())
    places: dict[int, set[tuple[str, int]]] = {}
    for number, known in enumerate(seen.values):
        if known.label in offsets:
            places.setdefault(seen.place_of[number], set()).add(offsets[known.label])
    assert places
    assert all(len(found) == 1 for found in places.values())
    assert all(seen.place_of[a] == seen.place_of[b] for a, b in seen.aliases)

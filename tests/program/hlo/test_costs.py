"""Bytes drawn, operations, cycles, scratch, and the first savings."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ProgramFormatError
from engine.program.hlo.build import build_program
from engine.program.hlo.costs import MAX_MEMORY_SHARE, MAX_WINDOW, Work, prior_savings
from tests.program.hlo.modules import (
    A_BYTES,
    HARDWARE,
    decoded,
    flow,
    imported,
    module,
    program,
    reads,
)

ROW = 128 * 4


def flops(entry: str, *computations: str) -> float:
    """Operations of the last instruction."""
    seen = flow(module(entry, *computations))
    last = seen.events[-1]
    return Work(seen.scope).flops(last.computation, last.instruction)


def test_flops_of_a_dot() -> None:
    entry = """  a = f32[4,64,32] parameter(0)
  b = f32[4,32,16] parameter(1)
  ROOT d = f32[4,64,16] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0},
    lhs_contracting_dims={2}, rhs_contracting_dims={1}"""
    assert flops(entry) == 2 * 4 * 64 * 16 * 32


def test_flops_of_a_convolution() -> None:
    entry = """  a = f32[2,8,8,3] parameter(0)
  k = f32[3,3,3,16] parameter(1)
  ROOT c = f32[2,8,8,16] convolution(a, k), window={size=3x3 pad=1_1x1_1},
    dim_labels=b01f_01io->b01f"""
    # At either edge one window position of three lies on padding.
    assert flops(entry) == 2 * (2 * 22 * 22 * 16) * 3


def convolution(image: str, kernel: str, result: str, window: str, groups: int = 1) -> float:
    """Operations of a convolution over one spatial dimension."""
    entry = f"""  a = f32[{image}] parameter(0)
  k = f32[{kernel}] parameter(1)
  ROOT c = f32[{result}] convolution(a, k), window={{{window}}}, dim_labels=b0f_0io->b0f,
    feature_group_count={groups}"""
    return flops(entry)


def test_flops_of_a_depthwise_convolution() -> None:
    assert convolution("2,9,6", "3,1,6", "2,7,6", "size=3", groups=6) == 2 * (2 * 7 * 6) * 3


def test_flops_of_a_batched_product_in_the_form_of_a_convolution() -> None:
    # XLA's form of 12 products [5, 6] x [6, 7]: each result meets one of 12 window positions.
    found = convolution("5,12,6", "12,6,7", "5,12,7", "size=12 stride=11 pad=0_0 lhs_dilate=12")
    assert found == 2 * 12 * 5 * 6 * 7


@pytest.mark.parametrize(
    ("outputs", "window", "met"),
    [
        (8, "size=2 pad=1_0", 15),
        (4, "size=2 stride=2", 8),
        (6, "size=3 pad=-1_1", 6 + 6 + 5),
        (17, "size=2 pad=2_1 lhs_dilate=2", 8 + 8),
        (4, "size=3 stride=2 pad=1_2 rhs_dilate=2", 3 + 4 + 3),
        (7, "size=3 stride=3 pad=2_6 lhs_dilate=2", 3 + 3 + 2),
    ],
)
def test_windows_count_where_they_lie_on_the_image(outputs: int, window: str, met: int) -> None:
    kernel = f"{window[5]},1,1"
    assert convolution("1,8,1", kernel, f"1,{outputs},1", window) == 2 * met


def test_a_window_of_absurd_length_counts_whole() -> None:
    longest = MAX_WINDOW + 1
    entry = convolution("1,1,1", f"{longest},1,1", "1,1,1", f"size={longest} pad={MAX_WINDOW}_0")
    assert entry == 2 * longest


def test_flops_of_nested_fusions() -> None:
    inner = """%inner
  x = f32[64,32] parameter(0)
  y = f32[32,16] parameter(1)
  ROOT i = f32[64,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"""
    outer = """%outer
  x = f32[64,32] parameter(0)
  y = f32[32,16] parameter(1)
  f = f32[64,16] fusion(x, y), kind=kOutput, calls=%inner
  ROOT t = f32[64,16] tanh(f)"""
    entry = """  a = f32[64,32] parameter(0)
  b = f32[32,16] parameter(1)
  ROOT d = f32[64,16] fusion(a, b), kind=kOutput, calls=%outer"""
    assert flops(entry, inner, outer) == 2 * 64 * 16 * 32 + 64 * 16


def test_flops_of_a_library_product() -> None:
    entry = """  a = f32[64,32] parameter(0)
  b = f32[32,16] parameter(1)
  ROOT c = (f32[64,16], s8[4096]) custom-call(a, b), custom_call_target="__cublas$gemm",
    backend_config={"gemm_backend_config":{"dot_dimension_numbers":
    {"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}}"""
    assert flops(entry) == 2 * 64 * 16 * 32


def test_flops_of_simple_instructions() -> None:
    add = "%sum\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = f32[] add(x, y)"
    entry = """  a = A parameter(0)
  s = f32[] constant(0)
  ROOT r = f32[64] reduce(a, s), dimensions={1}, to_apply=%sum"""
    assert flops(entry, add) == 64 * 128
    assert flops("  a = A parameter(0)\n  ROOT t = A tanh(a)") == 64 * 128
    entry = "  s = f32[] parameter(0)\n  ROOT b = A broadcast(s), dimensions={}"
    assert flops(entry) == 0


def test_slices_and_gathers_draw_what_they_return() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  i = s32[4,1] parameter(1)
  s = f32[2,128] slice(a), slice={[0:2], [0:128]}
  ROOT g = f32[4,128] gather(a, i), offset_dims={1}, collapsed_slice_dims={0},
    start_index_map={0}, index_vector_dim=1, slice_sizes={1,128}"""
        )
    )
    assert reads(made, "s") == {"a": 2 * ROW}
    assert reads(made, "g") == {"a": 4 * ROW, "i": 16}


@pytest.mark.parametrize(
    ("lines", "drawn"),
    [
        ("ROOT s = f32[2,128] slice(p), slice={[0:2], [0:128]}", 2 * ROW),
        ("b = A bitcast(p)\n  ROOT s = f32[2,128] slice(b), slice={[0:2], [0:128]}", 2 * ROW),
        (
            "s = f32[2,128] slice(p), slice={[0:2], [0:128]}\n"
            "  o = f32[2,128] slice(p), slice={[8:10], [0:128]}\n"
            "  ROOT r = f32[2,128] add(s, o)",
            4 * ROW,
        ),
        (
            "s = f32[2,128] slice(p), slice={[0:2], [0:128]}\n  n = A negate(p)\n"
            "  ROOT r = (f32[2,128], A) tuple(s, n)",
            A_BYTES,
        ),
        ("s = f32[2,128] slice(p), slice={[0:2], [0:128]}\n  ROOT r = A copy(p)", A_BYTES),
        ("z = f32[] constant(0)\n  ROOT r = f32[2,128] broadcast(z), dimensions={}", 0),
        ("ROOT f = f32[2,128] fusion(p), kind=kLoop, calls=%nested", 2 * ROW),
    ],
    ids=["slice", "bitcast", "two", "whole too", "copy", "unused", "nested"],
)
def test_what_a_fusion_draws_of_its_operand(lines: str, drawn: int) -> None:
    nested = """%nested
  p = A parameter(0)
  ROOT s = f32[2,128] slice(p), slice={[0:2], [0:128]}"""
    shape = "(f32[2,128], A)" if "tuple" in lines else "A" if "copy" in lines else "f32[2,128]"
    made = program(
        module(
            f"  a = A parameter(0)\n  ROOT f = {shape} fusion(a), kind=kLoop, calls=%fused",
            nested,
            f"%fused\n  p = A parameter(0)\n  {lines}",
        )
    )
    assert reads(made, made.instructions[0].name) == {"a": drawn}


def config(cycles: int | str, scratch: str = "") -> str:
    """A backend config; XLA writes its numbers as strings."""
    return (
        f', backend_config={{"window_config":{{"estimated_cycles":"{cycles}"}},'
        f'"used_scoped_memory_configs":[{scratch}]}}'
    )


CYCLES = module(
    "  a = A parameter(0)\n"
    f"  b = A tanh(a){config(100000)}\n"
    f"  c = A negate(b){config(20)}\n"
    "  ROOT d = A abs(c)"
)


def test_cycles_are_the_all_slow_time() -> None:
    made = imported(CYCLES).program
    totals = [
        i.fast_s + sum(a.saving_s for a in made.accesses if a.time == t)
        for t, i in enumerate(made.instructions)
    ]
    assert totals == pytest.approx([1e-4, 2e-8, 0.0])
    savings = [a.saving_s for a in made.accesses]
    # 32 KiB take 32.8 us; of 20 cycles two accesses share 90 %; what costs nothing saves nothing.
    assert savings == pytest.approx([A_BYTES / 1e9] * 2 + [0.9 * 1e-8] * 2 + [0.0, 0.0])
    assert made.all_slow_s == pytest.approx(1e-4 + 2e-8)
    assert imported(CYCLES).has_cycles


def test_scalars_that_cost_something_have_a_slot() -> None:
    text = module(
        f"  a = f32[] parameter(0)\n  b = f32[] tanh(a){config(7)}\n  ROOT c = f32[] negate(b)"
    )
    assert [i.name for i in program(text).instructions] == ["b"]


@pytest.mark.parametrize("stated", ["many", "", "-5", "1e99", "nan", "inf"])
def test_nonsense_cycles_count_as_none(stated: str) -> None:
    text = module(f"  a = A parameter(0)\n  ROOT b = A tanh(a){config(stated)}")
    assert not imported(text).has_cycles


def test_scratch_is_reserved_unless_the_compiler_has_a_region_for_it() -> None:
    one = '{"memory_space":"1","offset":"4096","size":"8192"}'
    other = '{"memory_space":"6","offset":"0","size":"99999"}'
    bad = '{"memory_space":"1","offset":"x","size":"8192"}'
    scratch = f"{other},{one},{bad}"
    text = module(f"  a = A parameter(0)\n  ROOT b = A tanh(a){config(7, scratch)}")
    (own,) = imported(text).program.instructions
    assert (own.scratch_bytes, own.reserved_bytes) == (12288, 12288)
    region = build_program(decoded(text), "x", HARDWARE, "x", reserved_bytes=65536)
    (fixed,) = region.program.instructions
    assert (fixed.scratch_bytes, fixed.reserved_bytes) == (12288, 65536)


def test_without_cycles_a_roofline_is_needed() -> None:
    text = module("  a = A parameter(0)\n  ROOT b = A tanh(a)")
    with pytest.raises(ProgramFormatError, match="states no cycles"):
        build_program(decoded(text), "x", HARDWARE, "x")


def test_a_program_without_work_is_refused() -> None:
    with pytest.raises(ProgramFormatError, match="no instructions"):
        program(module("  ROOT a = A parameter(0)"))


@given(
    st.floats(0, 1, allow_subnormal=False),
    st.lists(st.integers(0, 10**9), max_size=5),
    st.floats(1e6, 1e12),
)
def test_prior_savings_are_bytes_over_bandwidth_and_never_all(
    time_s: float, slow_bytes: list[int], bandwidth: float
) -> None:
    savings = prior_savings(time_s, slow_bytes, bandwidth)
    assert len(savings) == len(slow_bytes)
    assert all(s >= 0 for s in savings)
    total = sum(savings)
    assert total <= MAX_MEMORY_SHARE * time_s * (1 + 1e-9)
    asked = sum(slow_bytes) / bandwidth
    assert math.isclose(total, min(asked, MAX_MEMORY_SHARE * time_s), rel_tol=1e-9, abs_tol=1e-300)

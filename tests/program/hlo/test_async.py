"""Copies, slices and other work in flight."""

from __future__ import annotations

import pytest

from engine.program.hlo.record import COMPUTE, COPY_DONE, COPY_START, JOIN, SLICE_DONE, SLICE_START
from tests.program.hlo.modules import (
    A_BYTES,
    flow,
    imported,
    module,
    names,
    program,
    reads,
    value,
    writes,
)

F = "f32[64,128]{1,0:S(1)}"
"""The array in VMEM."""

COPIED = module(
    f"""  a = A parameter(0)
  s = ({F}, f32[64,128]{{1,0}}, u32[]{{:S(2)}}) copy-start(a)
  b = A negate(a)
  d = {F} copy-done(s)
  ROOT c = A add(d, b)"""
)


def test_a_copy_into_fast_memory_is_no_instruction_and_no_value() -> None:
    made = program(COPIED)
    assert names(made) == ["b", "c"]
    assert reads(made, "c") == {"a": A_BYTES, "b": A_BYTES}
    assert {v.name for v in made.values} == {"a", "b", "c"}


def test_the_flow_keeps_copies_and_what_they_hold() -> None:
    seen = flow(COPIED)
    assert [e.kind for e in seen.events] == [COPY_START, COMPUTE, COPY_DONE, COMPUTE]
    (copied,) = seen.events[0].writes
    assert seen.values[copied].label == "s{0}"
    assert seen.values[seen.origin(copied)].label == "a{}"
    assert seen.events[3].reads[0] == (0, copied, 1)


def test_an_eviction_brings_the_content_back() -> None:
    made = program(
        module(
            f"""  a = A parameter(0)
  b = {F} tanh(a)
  s = (f32[64,128]{{1,0}}, {F}, u32[]) copy-start(b)
  d = f32[64,128]{{1,0}} copy-done(s)
  ROOT c = A negate(d)"""
        )
    )
    assert reads(made, "c") == {"b": A_BYTES}


def test_a_copy_within_one_memory_is_work() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  s = (A, A, u32[]) copy-start(a)
  d = A copy-done(s)
  ROOT c = A negate(d)"""
        )
    )
    assert names(made) == ["s", "c"]
    assert writes(made, "s") == {"s{0}": A_BYTES}
    assert reads(made, "c") == {"s{0}": A_BYTES}


SLICED = module(
    """  a = A parameter(0)
  part0 = ((A), f32[32,128]{1,0:S(1)}, s32[]{:S(2)}) slice-start(a), slice={[0:32], [0:128]}
  part1 = ((A), f32[32,128]{1,0:S(1)}, s32[]{:S(2)}) slice-start(a), slice={[32:64], [0:128]}
  b = A negate(a)
  d0 = f32[32,128]{1,0:S(1)} slice-done(part0)
  d1 = f32[32,128]{1,0:S(1)} slice-done(part1)
  j = f32[64,128]{1,0:S(1)} custom-call(d0, d1), custom_call_target="ConcatBitcast"
  ROOT c = A add(j, b)"""
)


def test_a_sliced_prefetch_is_no_instruction_and_no_value() -> None:
    made = program(SLICED)
    assert names(made) == ["b", "c"]
    assert reads(made, "c") == {"a": A_BYTES, "b": A_BYTES}


def test_the_flow_keeps_slices() -> None:
    kinds = [e.kind for e in flow(SLICED).events]
    slices = [SLICE_START, SLICE_START, COMPUTE, SLICE_DONE, SLICE_DONE, JOIN, COMPUTE]
    assert kinds == slices


def test_a_slice_that_nothing_joins_is_work() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  s = ((A), f32[32,128], s32[]) slice-start(a), slice={[0:32], [0:128]}
  d = f32[32,128] slice-done(s)
  ROOT c = f32[32,128] negate(d)"""
        )
    )
    assert names(made) == ["s", "c"]
    assert reads(made, "s") == {"a": A_BYTES // 2}
    (sliced,) = reads(made, "c")
    assert value(made, sliced).size_bytes == A_BYTES // 2


def test_joined_pieces_that_are_no_slices_are_work() -> None:
    made = program(
        module(
            """  a = f32[32,128] parameter(0)
  b = f32[32,128] negate(a)
  ROOT j = A custom-call(a, b), custom_call_target="ConcatBitcast\""""
        )
    )
    assert names(made) == ["b", "j"]


@pytest.mark.parametrize("update", ["", "  u = ((A), A, s32[]) async-update(s)\n"])
def test_asynchronous_work_counts_at_its_start(update: str) -> None:
    made = program(
        module(
            f"""  a = A parameter(0)
  s = ((A), A, s32[]) async-start(a), calls=%wrapped
{update}  b = A negate(a)
  d = A async-done({"u" if update else "s"})
  ROOT c = A add(d, b)""",
            '%wrapped\n  p = A parameter(0)\n  ROOT w = A custom-call(p), custom_call_target="x"',
        )
    )
    assert names(made) == ["s", "b", "c"]
    assert made.instructions[0].opcode == "custom-call"
    assert reads(made, "c") == {"w": A_BYTES, "b": A_BYTES}


def test_asynchronous_work_of_several_instructions_is_inlined() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  s = ((A), A, s32[]) async-start(a), calls=%wrapped
  ROOT d = A async-done(s)""",
            "%wrapped\n  p = A parameter(0)\n  h = A tanh(p)\n  ROOT w = A negate(h)",
        )
    )
    assert names(made) == ["h", "w"]
    assert value(made, "w").is_live_out


def test_collectives_count_at_their_start() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  s = A all-reduce-start(a), replica_groups={}, to_apply=%sum
  b = A negate(a)
  d = A all-reduce-done(s)
  g = (A, f32[128,128]) all-gather-start(d), replica_groups={{0,1}}, dimensions={0}
  h = f32[128,128] all-gather-done(g)
  m = (A, A, u32[], u32[]) collective-permute-start(b), source_target_pairs={{0,1}}
  n = A collective-permute-done(m)
  ROOT r = (f32[128,128], A) tuple(h, n)""",
            "%sum\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = f32[] add(x, y)",
        )
    )
    assert names(made) == ["s", "b", "g", "m"]
    assert [v.name for v in made.values] == ["a", "s", "b", "g{1}", "m{1}"]
    assert [v.name for v in made.values if v.is_live_out] == ["g{1}", "m{1}"]


def test_transfers() -> None:
    made = program(
        module(
            """  k = token[] after-all()
  a = A parameter(0)
  s = (A, u32[], token[]) send(a, k), channel_id=1
  t = token[] send-done(s), channel_id=1
  v = (A, u32[], token[]) recv(t), channel_id=2
  w = (A, token[]) recv-done(v), channel_id=2
  x = A get-tuple-element(w), index=0
  ROOT c = A negate(x)"""
        )
    )
    assert names(made) == ["s", "v", "c"]
    assert reads(made, "s") == {"a": A_BYTES}
    assert reads(made, "c") == {"v{0}": A_BYTES}


def test_a_cross_program_prefetch_is_marked() -> None:
    seen = flow(COPIED.replace("copy-start(a)", "copy-start(a), cross_program_prefetch_index=0"))
    assert seen.events[0].instruction.HasField("cross_program_prefetch_index")
    assert not flow(COPIED).events[0].instruction.HasField("cross_program_prefetch_index")


def test_a_copy_of_an_input_that_a_loop_changes_leaves_the_input_alone() -> None:
    text = module(
        f"""  a = A parameter(0)
  s = ({F}, f32[64,128]{{1,0}}, u32[]) copy-start(a)
  d = {F} copy-done(s)
  z = s32[] constant(0)
  t = (s32[], {F}) tuple(z, d)
  w = (s32[], {F}) while(t), condition=%c, body=%b
  x = {F} get-tuple-element(w), index=1
  ROOT e = A add(x, a)""",
        f"%c\n  p = (s32[], {F}) parameter(0)\n  ROOT k = pred[] constant(true)",
        f"""%b
  q = (s32[], {F}) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  x = {F} get-tuple-element(q), index=1
  y = {F} tanh(x)
  ROOT r = (s32[], {F}) tuple(j, y)""",
    )
    made = imported(text).program
    group = made.groups[value(made, "a").group]
    assert [made.values[v].name for v in group.values] == ["a"]
    assert not group.is_written
    # In the compiler's own plan the copy has a place, which the loop takes over.
    seen = flow(text)
    loop_reads = next(e for e in seen.events if e.name == "y").reads
    assert [seen.values[v].label for _, v, _ in loop_reads] == ["s{0}"]

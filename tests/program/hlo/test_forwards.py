"""Instructions that only pass arrays on make no value; those that compute make one per result."""

from __future__ import annotations

import pytest

from engine.errors import ProgramFormatError
from tests.program.hlo.modules import A_BYTES, module, names, program, reads, value, writes

TWO_RESULTS = """%two
  p = A parameter(0)
  t = A tanh(p)
  n = A negate(p)
  ROOT r = (A, A) tuple(t, n)"""


def test_a_fusion_with_two_results_defines_two_values() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  f = (A, A) fusion(a), kind=kLoop, calls=%two
  x = A get-tuple-element(f), index=0
  y = A get-tuple-element(f), index=1
  ROOT z = A add(y, x)""",
            TWO_RESULTS,
        )
    )
    assert names(made) == ["f", "z"]
    assert writes(made, "f") == {"f{0}": A_BYTES, "f{1}": A_BYTES}
    assert reads(made, "z") == {"f{0}": A_BYTES, "f{1}": A_BYTES}
    assert [value(made, n).defined for n in ("a", "f{0}", "z")] == [-1, 0, 1]
    assert [v.name for v in made.values if v.is_live_out] == ["z"]
    last = [(made.values[a.value].name, a.is_write, a.operand) for a in made.accesses[-3:]]
    assert last == [("f{1}", False, 0), ("f{0}", False, 1), ("z", True, 0)]


@pytest.mark.parametrize(
    "forward",
    [
        "  b = f32[8192] bitcast(a)\n  c = A bitcast(b)",
        "  c = A opt-barrier(a)",
        "  t = (A, f32[]) tuple(a, s)\n  c = A get-tuple-element(t), index=0",
        "  t = (f32[], (A, A)) tuple(s, u)\n  v = (A, A) get-tuple-element(t), index=1\n"
        "  c = A get-tuple-element(v), index=1",
        "  k = token[] after-all()\n  c = A add-dependency(a, k)",
    ],
)
def test_forwards_make_no_value(forward: str) -> None:
    made = program(
        module(
            f"""  a = A parameter(0)
  s = f32[] parameter(1)
  u = (A, A) tuple(a, a)
{forward}
  ROOT d = A tanh(c)"""
        )
    )
    assert names(made) == ["d"]
    assert [v.name for v in made.values] == ["a", "d"]


def test_an_operand_read_twice_is_one_access() -> None:
    made = program(module("  a = A parameter(0)\n  ROOT d = A multiply(a, a)"))
    assert reads(made, "d") == {"a": A_BYTES}
    assert len(made.accesses) == 2


def test_constants_stand_in_slow_memory_from_the_start() -> None:
    zeros = ", ".join("0" for _ in range(512))
    made = program(
        module(
            f"""  c = f32[512] constant({{{zeros}}})
  a = f32[512] parameter(0)
  ROOT d = f32[512] add(a, c)"""
        )
    )
    constant = value(made, "c")
    assert constant.defined == -1
    assert constant.may_be_fast
    assert not made.groups[constant.group].is_written


def test_scalar_bookkeeping_makes_no_slot() -> None:
    made = program(
        module(
            """  i = s32[] parameter(0)
  a = A parameter(1)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  z = s32[] constant(0)
  ROOT d = f32[1,128] dynamic-slice(a, j, z), dynamic_slice_sizes={1,128}"""
        )
    )
    assert names(made) == ["d"]
    assert not value(made, "j").may_be_fast


def test_live_outs_are_what_the_root_holds() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  b = A tanh(a)
  c = A negate(b)
  ROOT r = (A, A, A) tuple(a, c, c)"""
        )
    )
    assert [v.name for v in made.values if v.is_live_out] == ["a", "c"]
    assert [(s.time, s.region) for s in made.sinks] == [(2, -1), (2, -1)]


def test_an_input_returned_directly_is_never_written() -> None:
    made = program(module("  a = A parameter(0)\n  b = A tanh(a)\n  ROOT r = (A, A) tuple(a, b)"))
    group = made.groups[value(made, "a").group]
    assert group.is_input
    assert group.is_live_out
    assert not group.is_written


def test_a_tuple_parameter_has_one_value_per_leaf() -> None:
    made = program(
        module(
            """  p = (A, (A, f32[])) parameter(0)
  q = (A, f32[]) get-tuple-element(p), index=1
  x = A get-tuple-element(q), index=0
  y = A get-tuple-element(p), index=0
  ROOT d = A add(x, y)"""
        )
    )
    assert reads(made, "d") == {"p{1,0}": A_BYTES, "p{0}": A_BYTES}
    assert all(v.is_input for v in made.values if v.name.startswith("p"))


def test_a_call_is_inlined() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  b = A call(a), to_apply=%twice
  ROOT d = A call(b), to_apply=%twice""",
            "%twice\n  p = A parameter(0)\n  n = A negate(p)\n  ROOT t = A tanh(n)",
        )
    )
    assert names(made) == ["n", "t", "n", "t"]
    assert len(made.values) == 5
    assert made.regions == ()


def test_custom_calls_compute() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  e = A custom-call(), custom_call_target="AllocateBuffer"
  c = (A, u8[4096]) custom-call(a, e), custom_call_target="library"
  ROOT d = A get-tuple-element(c), index=0"""
        )
    )
    assert names(made) == ["e", "c"]
    assert writes(made, "e") == {"e": 0}
    assert writes(made, "c") == {"c{0}": A_BYTES, "c{1}": 4096}


@pytest.mark.parametrize("shape", ["b(f32[64,128]{1,0})", "(A, b(f32[64,128]{1,0}))"])
def test_a_buffer_that_custom_calls_hand_on_is_refused_in_words(shape: str) -> None:
    """It is no array of XLA's, and would vanish with all that is done to it."""
    text = module(
        f"""  a = A parameter(0)
  b = {shape} custom-call(a), custom_call_target="Pin"
  ROOT c = A custom-call(b), custom_call_target="Unpin"
"""
    )
    with pytest.raises(ProgramFormatError, match="test: b: it is a buffer, which cannot"):
        program(text)

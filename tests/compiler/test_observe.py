"""Instructions of one compile found in another."""

from __future__ import annotations

import pytest

from engine.compiler.reading.matching import Matching, match_events
from engine.compiler.reading.observation import observe, stall_cycles
from engine.compiler.reading.xla_plan import read_own_plan
from engine.program.hlo.record import COPY_START
from engine.program.hlo.shape import fast_space
from tests.program.hlo.modules import A, flow, imported, module

FAST = "f32[64,128]{1,0:S(1)}"

SLOW = """  a = A parameter(0)
  b = A negate(a), backend_config={"window_config":{"estimated_cycles":"900"}}
  slice = f32[8,128] slice(b), slice={[0:8], [0:128]}
  ROOT c = f32[8,128] tanh(slice)"""


def names(fast_text: str) -> dict[str, str]:
    """Program instruction -> instruction of the other compile."""
    own, other = imported(module(SLOW)), flow(fast_text)
    matched = match_events(own, other)
    return {
        own.program.instructions[slot].name: other.events[event].name
        for event, slot in matched.items()
    }


def test_the_same_text_matches_itself() -> None:
    assert names(module(SLOW)) == {"b": "b", "slice": "slice", "c": "c"}


def test_what_the_parser_renames_is_still_found() -> None:
    """The nameless slice inside `slice-start` takes the name of the one that follows."""
    found = names(
        module(
            f"""  a = A parameter(0)
  part0 = ((A), f32[32,128]{{1,0:S(1)}}, s32[]) slice-start(a), slice={{[0:32], [0:128]}}
  part1 = ((A), f32[32,128]{{1,0:S(1)}}, s32[]) slice-start(a), slice={{[32:64], [0:128]}}
  done0 = f32[32,128]{{1,0:S(1)}} slice-done(part0)
  done1 = f32[32,128]{{1,0:S(1)}} slice-done(part1)
  whole = {FAST} custom-call(done0, done1), custom_call_target="ConcatBitcast"
  b = A negate(whole)
  slice = f32[8,128] slice(b), slice={{[0:8], [0:128]}}
  ROOT c = f32[8,128] tanh(slice)"""
        )
    )
    assert set(found) == {"b", "slice", "c"}
    assert found["slice"] != "slice"


def test_another_shape_is_another_instruction() -> None:
    text = module(SLOW.replace("A", "f32[128,128]"))
    assert names(text) == {"c": "c"}


TWO_ALIKE = """  a = A parameter(0)
  x = A negate(a)
  ROOT y = A negate(a)"""


def test_equal_work_under_other_names_is_matched_in_the_order_of_the_schedule() -> None:
    own = imported(module(TWO_ALIKE))
    renamed = TWO_ALIKE.replace("x =", "u =").replace("y =", "v =")
    assert match_events(own, flow(module(renamed))) == {0: 0, 1: 1}


def test_equal_work_is_not_guessed_where_there_is_more_of_it() -> None:
    own = imported(module(TWO_ALIKE))
    three = TWO_ALIKE.replace("x =", "u =").replace("ROOT y =", "v = A negate(a)\n  ROOT w =")
    assert match_events(own, flow(module(three))) == {}


def test_a_function_called_twice_matches_turn_by_turn() -> None:
    text = module(
        "  a = A parameter(0)\n  b = A call(a), to_apply=%f\n  ROOT d = A call(b), to_apply=%f",
        "%f\n  p = A parameter(0)\n  ROOT n = A negate(p)",
    )
    own = imported(text)
    assert match_events(own, flow(text)) == {0: 0, 1: 1}


@pytest.mark.parametrize(
    ("operand", "result", "fast"),
    [(FAST, A, [True, False]), (A, FAST, [False, True]), (FAST, FAST, [True, True])],
)
def test_placement_is_read_off_the_shapes(operand: str, result: str, fast: list[bool]) -> None:
    own = imported(module("  a = A parameter(0)\n  ROOT b = A negate(a)"))
    other = flow(module(f"  a = {operand} parameter(0)\n  ROOT b = {result} negate(a)"))
    seen = observe(own, other)
    assert list(seen.is_fast) == fast
    assert list(seen.cycles) == [0.0]


def test_what_is_read_from_both_memories_counts_as_slow() -> None:
    own = imported(module("  a = A parameter(0)\n  ROOT b = A add(a, a)"))
    other = flow(
        module(
            f"""  a = A parameter(0)
  s = ({FAST}, A, u32[]) copy-start(a)
  d = {FAST} copy-done(s)
  ROOT b = A add(a, d)"""
        )
    )
    assert list(observe(own, other).is_fast) == [False, False]


def evicted_at_the_head_of_a_loop(carried: str, entry: str, head: str, last: str) -> str:
    """A loop whose value enters and goes round as `carried`, and is read in slow memory."""
    return module(
        f"""  a = A parameter(0)
  zero = s32[] constant(0)
{entry}
  begin = (s32[], {carried}) tuple(zero, c)
  ROOT loop = (s32[], {carried}) while(begin), condition=few, body=body""",
        f"""few (p: (s32[], A)) -> pred[]
  p = (s32[], {carried}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  many = s32[] constant(9)
  ROOT more = pred[] compare(i, many), direction=LT""",
        f"""body (p: (s32[], A)) -> (s32[], A)
  p = (s32[], {carried}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = {carried} get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
{head}
  y = A negate(h)
  z = {last} tanh(y)
  ROOT result = (s32[], {carried}) tuple(next, z)""",
    )


def test_a_copy_that_enters_a_loop_is_what_goes_round_there() -> None:
    """It is read by the copy alone that moves it out again in each iteration."""
    own = imported(evicted_at_the_head_of_a_loop(A, "  c = A copy(a)", "  h = A copy(x)", A))
    entry = f"  s = ({FAST}, A, u32[]) copy-start(a)\n  c = {FAST} copy-done(s)"
    head = f"  o = (A, {FAST}, u32[]) copy-start(x)\n  h = A copy-done(o)"
    other = flow(evicted_at_the_head_of_a_loop(FAST, entry, head, FAST))
    fast = {
        own.program.instructions[a.time].name
        for a, is_fast in zip(own.program.accesses, observe(own, other).is_fast, strict=True)
        if is_fast
    }
    assert fast == {"c", "z"}


def switched(kind: str, copies: tuple[str, str]) -> str:
    """Both branches of a conditional hand on a copy of the same input."""
    one, two = copies
    return module(
        f"""  q = s32[] parameter(0)
  a = A parameter(1)
  k = {kind} conditional(q, a, a), branch_computations={{%one, %two}}
  ROOT z = A negate(k)""",
        f"%one\n  p = A parameter(0)\n{one}",
        f"%two\n  r = A parameter(0)\n{two}",
    )


def test_copies_between_the_same_places_are_matched_in_their_order() -> None:
    own = imported(switched(A, ("  ROOT c = A copy(p)", "  ROOT d = A copy(r)")))
    ahead = "  {0} = ({1}, A, u32[]) copy-start({2})\n  ROOT {3} = {1} copy-done({0})"
    moved = ahead.format("s", FAST, "p", "c"), ahead.format("t", FAST, "r", "d")
    other = flow(switched(FAST, moved))
    starts = [n for n, event in enumerate(other.events) if event.kind == COPY_START]
    assert Matching(own, other).copies == dict(zip(starts, (0, 1), strict=True))
    seen = observe(own, other)
    assert seen.cycles[:2].tolist() == [0.0, 0.0]
    assert seen.is_fast[:4].tolist() == [a.is_write for a in own.program.accesses[:4]]
    result = own.program.values[own.program.accesses[1].value].group
    assert {stay.group for stay in read_own_plan(own, other, None, 0).stays} == {result}


def test_the_space_of_each_fast_memory() -> None:
    assert [fast_space(name) for name in ("VMEM", "CMEM", "cache")] == [1, 3, 1]


@pytest.mark.parametrize(("cycles", "stall"), [(10_000, 30_960.0), (50_000, 0.0)])
def test_a_compile_waits_for_a_copy_that_its_own_cycles_do_not_hide(
    cycles: int, stall: float
) -> None:
    """One byte a cycle: the copy takes 32,768, and `x` draws 8,192 bytes itself."""
    config = f'backend_config={{"window_config":{{"estimated_cycles":"{cycles}"}}}}'
    work = f"  x = f32[8,128]{{1,0}} abs(w), {config}\n"
    inputs = "  a = A parameter(0)\n  w = f32[8,128]{1,0} parameter(1)\n"
    results = f"  ROOT r = (f32[8,128]{{1,0}}, {A}) tuple(x, y)"
    own = imported(module(inputs + work + "  y = A tanh(a)\n" + results))
    other = flow(
        module(
            inputs + f"  s = ({FAST}, A, u32[]) copy-start(a)\n" + work + f"  c = {FAST}"
            " copy-done(s)\n  y = A tanh(c)\n" + results
        )
    )
    plan = read_own_plan(own, other, None, 0)
    assert [copy.is_prefetch for copy in plan.copies] == [True]
    assert stall_cycles(own, plan, observe(own, other)) == pytest.approx(stall)


def test_a_copy_between_the_memories_takes_the_time_of_what_it_moves() -> None:
    """The compiler states no cycles for it."""
    own = imported(module(RETURNED.format(space="")))
    hardware = own.program.hardware
    moved = own.program.values[0].size_bytes
    seen = observe(own, flow(module(RETURNED.format(space=":S(1)"))))
    assert seen.cycles[1] == pytest.approx(moved / hardware.bandwidth * hardware.clock_hz)
    whole = RETURNED.format(space=":S(1)").replace("ROOT c = A", f"ROOT c = {FAST}")
    assert observe(own, flow(module(whole))).cycles[1] == 0.0


RETURNED = """  a = A parameter(0)
  b = f32[64,128]{{1,0{space}}} negate(a),
    backend_config={{"window_config":{{"estimated_cycles":"900"}}}}
  ROOT c = A copy(b)"""

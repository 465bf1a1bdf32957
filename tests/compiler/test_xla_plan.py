"""The compiler's own plan, read off real compiles of three small programs for TPU v5e.

`mlp`: a cross-program prefetch, an ordinary and a sliced one. `big`: tensors that do not all fit.
`scan`: a loop.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from engine.compiler.reading.matching import match_events
from engine.compiler.reading.observation import observe
from engine.compiler.reading.xla_plan import REPACKED, fast_offsets, read_own_plan, read_plan
from engine.errors import ProgramFormatError
from engine.hardware.presets import DEVICES, PRESETS
from engine.plan.check import check
from engine.plan.levels import copy_level
from engine.plan.model import Copy, Plan, Stay
from engine.plan.simulate import simulate
from engine.program.hlo.build import Imported, build_program
from engine.program.hlo.flow import Flow
from engine.program.io import content_hash
from engine.program.model import TOP_LEVEL
from tests.program.hlo.modules import FIXTURES, A, decoded, flow
from tests.program.hlo.modules import imported as imported_text
from tests.program.hlo.modules import module as module_text
from tests.synthetic import lines_run

HARDWARE = PRESETS["tpu-v5e"]
HEAP = DEVICES["tpu-v5e"].scoped_bytes
MIB = 1 << 20


@cache
def slow(name: str) -> Imported:
    """The program of the compile with everything in slow memory."""
    text = (FIXTURES / f"{name}_off.hlo").read_text()
    return build_program(decoded(text), name, HARDWARE, name, reserved_bytes=HEAP)


@cache
def default(name: str) -> Flow:
    """The default compile."""
    return flow((FIXTURES / f"{name}_on.hlo").read_text())


def dump(name: str) -> str:
    return (FIXTURES / f"{name}_on.buffers.txt").read_text()


def plan_of(name: str) -> Plan:
    return read_plan(slow(name), default(name), dump(name), HEAP)


def named(plan: Plan, imported: Imported) -> tuple[dict[str, list[Stay]], dict[str, list[Copy]]]:
    """Stays and copies by the name of the group's first value."""
    stays: dict[str, list[Stay]] = {}
    copies: dict[str, list[Copy]] = {}
    program = imported.program
    for stay in plan.stays:
        stays.setdefault(program.values[program.groups[stay.group].values[0]].name, []).append(stay)
    for copy in plan.copies:
        copies.setdefault(program.values[program.groups[copy.group].values[0]].name, []).append(
            copy
        )
    return stays, copies


@pytest.mark.parametrize("name", ["mlp", "big", "scan"])
def test_the_plan_is_valid_and_faster_than_none(name: str) -> None:
    program, plan = slow(name).program, plan_of(name)
    assert check(program, plan) is None
    assert plan.notes == {"left_out_accesses": 0}
    assert simulate(program, plan).latency_s < program.all_slow_s
    assert plan.stays


def test_stays_have_the_dumped_offsets_above_the_scoped_region() -> None:
    stays, _ = named(plan_of("mlp"), slow("mlp"))
    offsets = {name: [(s.offset - HEAP) // MIB for s in found] for name, found in stays.items()}
    assert offsets == {
        "ws_0_.1": [0],
        "ws_1_.1": [8],
        "ws_2_.1": [16],
        "convolution_tanh_fusion.2": [28],
        "convolution_tanh_fusion.1": [24],
    }


def test_intervals_and_copies_of_the_chain() -> None:
    """Three products: the weight of the first one is there from the start."""
    stays, copies = named(plan_of("mlp"), slow("mlp"))
    intervals = {name: [(s.start, s.end) for s in found] for name, found in stays.items()}
    assert intervals == {
        "ws_0_.1": [(-1, 3)],
        "ws_1_.1": [(0, 2)],
        "ws_2_.1": [(0, 3)],
        "convolution_tanh_fusion.2": [(0, 2)],
        "convolution_tanh_fusion.1": [(1, 3)],
    }
    spans = {n: [(c.is_prefetch, c.start, c.deadline) for c in f] for n, f in copies.items()}
    assert spans == {"ws_1_.1": [(True, 0, 1)], "ws_2_.1": [(True, 0, 2)]}


def test_fast_accesses_are_those_in_the_fast_space() -> None:
    program, plan = slow("mlp").program, plan_of("mlp")
    slow_names = {
        program.values[a.value].name
        for a, is_fast in zip(program.accesses, plan.is_fast, strict=True)
        if not is_fast
    }
    assert slow_names == {"x.1", "convolution_tanh_fusion"}


def test_what_a_loop_carries_stays_to_its_end() -> None:
    program = slow("scan").program
    (region,) = program.regions
    assert (region.multiplicity, region.is_trip_count_known) == (6.0, True)
    crossing = [s for s in plan_of("scan").stays if s.start < region.start < s.end]
    assert crossing and all(s.end >= region.end for s in crossing)


def test_offsets_are_read_per_memory_space() -> None:
    assert fast_offsets(dump("mlp"), 1)["copy-start.1{0}"] == 8 * MIB
    assert set(fast_offsets(dump("mlp"), 2)) >= {"copy-start{2}", "slice-start{2}"}
    assert fast_offsets("", 1) == {}
    assert fast_offsets("value: <1 a @1> (size=2,offset=x)", 1) == {}


def test_without_a_dump_of_offsets_they_are_our_own() -> None:
    known, plan = plan_of("mlp"), read_plan(slow("mlp"), default("mlp"), None, HEAP)
    assert (plan.is_fast, plan.copies) == (known.is_fast, known.copies)
    spans = sorted((s.group, s.start, s.end) for s in plan.stays)
    assert spans == sorted((s.group, s.start, s.end) for s in known.stays)
    assert check(slow("mlp").program, plan) is None


def test_a_dump_that_does_not_name_all_is_taken_of_our_own_compiles_only() -> None:
    """XLA's parser renames what is called like something that it has met before."""
    renamed = dump("mlp").replace("convolution_tanh_fusion.1 @1", "split.42 @1")
    with pytest.raises(ProgramFormatError, match=r"no offset of convolution_tanh_fusion\.1"):
        read_plan(slow("mlp"), default("mlp"), renamed, HEAP)
    plan = read_own_plan(slow("mlp"), default("mlp"), renamed, HEAP)
    assert plan.notes["offsets"] == REPACKED
    assert plan == read_plan(slow("mlp"), default("mlp"), None, HEAP)
    assert read_own_plan(slow("mlp"), default("mlp"), dump("mlp"), HEAP) == plan_of("mlp")


def test_every_instruction_is_found_in_the_other_compile() -> None:
    for name in ("mlp", "big"):
        found = match_events(slow(name), default(name))
        assert sorted(found.values()) == list(range(slow(name).program.num_slots))
    assert match_events(slow("mlp"), default("scan")) == {}


def test_a_copy_that_the_compiler_turned_into_a_prefetch() -> None:
    """In the slow compile the loop is entered by a copy, in the default one by a copy in flight.

    The plan lets the copy write to fast memory; the loop's result is written back.
    """
    imported, plan = slow("scan"), plan_of("scan")
    program = imported.program
    assert program.instructions[0].opcode == "copy"
    assert sorted(match_events(imported, default("scan")).values()) == [1, 2]
    assert plan.is_fast[:2] == (False, True)
    carried = program.values[program.accesses[1].value].group
    assert [(s.start, s.end) for s in plan.stays if s.group == carried] == [(0, 3)]
    assert [(c.group, c.is_prefetch, c.start, c.deadline) for c in plan.copies] == [
        (carried, False, 3, 3)
    ]


def test_observations_tell_cycles_and_places() -> None:
    imported = slow("mlp")
    all_slow = observe(imported, imported.flow)
    assert not all_slow.is_fast.any()
    seen = observe(imported, default("mlp"))
    assert (seen.cycles <= all_slow.cycles).all()
    assert list(seen.cycles) == [74382.0, 71516.0, 72582.0]
    assert tuple(seen.is_fast) == plan_of("mlp").is_fast


def test_a_compile_reads_its_own_placement() -> None:
    """The program of the default compile is that of the slow one: copies are resolved away."""
    text = (FIXTURES / "mlp_on.hlo").read_text()
    own = build_program(decoded(text), "mlp", HARDWARE, "mlp", reserved_bytes=HEAP).program
    program = slow("mlp").program
    assert [v.name for v in own.values] == [v.name for v in program.values]
    assert [(a.time, a.value, a.is_write, a.slow_bytes) for a in own.accesses] == [
        (a.time, a.value, a.is_write, a.slow_bytes) for a in program.accesses
    ]
    assert content_hash(replace(own, name="x")) != content_hash(program)


def test_the_default_compile_alone_has_the_copy_that_enters_a_loop() -> None:
    """There it is in flight; the program, and the plan that is read of it, are the same."""
    text = (FIXTURES / "scan_on.hlo").read_text()
    own = build_program(decoded(text), "scan", HARDWARE, "scan", reserved_bytes=HEAP)
    program = slow("scan").program
    assert [(a.time, program.values[a.value].group, a.is_write) for a in program.accesses] == [
        (a.time, own.program.values[a.value].group, a.is_write) for a in own.program.accesses
    ]
    plan = read_plan(own, default("scan"), dump("scan"), HEAP)
    assert check(own.program, plan) is None
    of_pair = plan_of("scan")
    assert (plan.is_fast, plan.stays, plan.copies) == (
        of_pair.is_fast,
        of_pair.stays,
        of_pair.copies,
    )


def test_an_instruction_may_have_another_name_in_the_default_compile() -> None:
    name = "convolution_tanh_fusion.2"
    assert name in named(plan_of("big"), slow("big"))[0]

    def renamed(text: str) -> str:
        return re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", "slice.99", text)

    compiled = flow(renamed((FIXTURES / "big_on.hlo").read_text()))
    plan = read_plan(slow("big"), compiled, renamed(dump("big")), HEAP)
    assert plan == plan_of("big")


def updates_in_a_loop(fast: str) -> str:
    """A loop in a loop. The inner one makes a value, updates it in place, reads it, and goes on."""
    inner = f"""inner (p: (s32[], A)) -> (s32[], A)
  p = (s32[], A) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = A get-tuple-element(p), index=1
  one = s32[] constant(1)
  zero = s32[] constant(0)
  row = f32[1,128] constant({{...}})
  made = f32[64,128]{{1,0{fast}}} add(x, x)
  updated = f32[64,128]{{1,0{fast}}} dynamic-update-slice(made, row, i, zero)
  read = A multiply(updated, x)
  last = A subtract(read, x)
  next = s32[] add(i, one)
  ROOT result = (s32[], A) tuple(next, last)"""
    outer = """outer (p: (s32[], A)) -> (s32[], A)
  p = (s32[], A) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = A get-tuple-element(p), index=1
  one = s32[] constant(1)
  zero = s32[] constant(0)
  begin = (s32[], A) tuple(zero, x)
  loop = (s32[], A) while(begin), condition=few, body=inner
  inside = A get-tuple-element(loop), index=1
  after = A negate(inside)
  next = s32[] add(i, one)
  ROOT result = (s32[], A) tuple(next, after)"""
    few = """few (p: (s32[], A)) -> pred[]
  p = (s32[], A) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  most = s32[] constant(3)
  ROOT less = pred[] compare(i, most), direction=LT"""
    entry = """  x = A parameter(0)
  zero = s32[] constant(0)
  first = A negate(x)
  begin = (s32[], A) tuple(zero, first)
  loop = (s32[], A) while(begin), condition=few, body=outer
  ROOT out = A get-tuple-element(loop), index=1"""
    return module_text(entry, few, inner, outer)


def test_what_a_loop_updates_in_place_is_held_to_its_last_reader_alone() -> None:
    """Not to the end of the loops around it, which only carry other values on."""
    imported = imported_text(updates_in_a_loop(""))
    plan = read_plan(imported, flow(updates_in_a_loop(":S(1)")), None, 0)
    names = [i.name for i in imported.program.instructions]
    begin, end = names.index("made"), names.index("read") + 1
    assert [(s.start, s.end) for s in plan.stays] == [(begin, end)]
    assert check(imported.program, plan) is None


def reading_body(name: str) -> str:
    """The body of a loop that reads a weight in every iteration."""
    return f"""{name} (p: (s32[], A, W)) -> (s32[], A, W)
  p = (s32[], A, W) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = A get-tuple-element(p), index=1
  w = W get-tuple-element(p), index=2
  one = s32[] constant(1)
  made = A multiply(x, w)
  next = s32[] add(i, one)
  ROOT result = (s32[], A, W) tuple(next, made, w)"""


def reads_a_weight_in_a_loop(is_fetched: bool, last: str) -> str:
    """A loop that reads a weight, which may be fetched before it; then `last`."""
    body = reading_body("body")
    few = counted("few", "s32[], A, W")
    fetch = "start = (W, A, u32[]) copy-start(x)\n  w = W copy-done(start)" if is_fetched else ""
    entry = f"""  x = A parameter(0)
  zero = s32[] constant(0)
  first = A negate(x)
  {fetch}
  begin = (s32[], A, W) tuple(zero, first, {"w" if is_fetched else "x"})
  loop = (s32[], A, W) while(begin), condition=few, body=body
  out = A get-tuple-element(loop), index=1
  kept = W get-tuple-element(loop), index=2
  ROOT last = A {last}"""
    place = "{1,0:S(1)}" if is_fetched else ""
    return module_text(entry, few, body).replace("W", f"f32[64,128]{place}")


@pytest.mark.parametrize("last", ["negate(out)", "add(out, kept)"])
def test_what_is_fetched_before_a_loop_is_fetched_once(last: str) -> None:
    """Also where it stays on after the loop."""
    imported = imported_text(reads_a_weight_in_a_loop(is_fetched=False, last=last))
    program = imported.program
    compiled = flow(reads_a_weight_in_a_loop(is_fetched=True, last=last))
    plan = read_plan(imported, compiled, None, 0)
    assert check(program, plan) is None
    (copy,) = plan.copies
    assert copy_level(program, copy, plan.stays) == TOP_LEVEL
    fetch_s = program.groups[copy.group].size_bytes / program.hardware.bandwidth
    assert simulate(program, plan).stall_s <= fetch_s


def counted(name: str, carried: str) -> str:
    """The condition of a loop of three iterations."""
    return f"""{name} (p: ({carried})) -> pred[]
  p = ({carried}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  most = s32[] constant(3)
  ROOT less = pred[] compare(i, most), direction=LT"""


def called_twice(is_fetched: bool) -> str:
    """A function of two nested loops, called twice; the outer one may fetch for the inner."""
    inner = reading_body("inner")
    fetch = "start = (W, A, u32[]) copy-start(x)\n  w = W copy-done(start)" if is_fetched else ""
    outer = f"""outer (p: (s32[], A, A)) -> (s32[], A, A)
  p = (s32[], A, A) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  y = A get-tuple-element(p), index=1
  x = A get-tuple-element(p), index=2
  zero = s32[] constant(0)
  one = s32[] constant(1)
  first = A negate(y)
  {fetch}
  begin = (s32[], A, W) tuple(zero, first, {"w" if is_fetched else "x"})
  loop = (s32[], A, W) while(begin), condition=few, body=inner
  out = A get-tuple-element(loop), index=1
  next = s32[] add(i, one)
  ROOT result = (s32[], A, A) tuple(next, out, x)"""
    twice = """twice (y: A, x: A) -> A
  y = A parameter(0)
  x = A parameter(1)
  zero = s32[] constant(0)
  begin = (s32[], A, A) tuple(zero, y, x)
  loop = (s32[], A, A) while(begin), condition=some, body=outer
  ROOT out = A get-tuple-element(loop), index=1"""
    entry = """  y = A parameter(0)
  x = A parameter(1)
  a = A call(y, x), to_apply=twice
  ROOT b = A call(a, x), to_apply=twice"""
    few, some = counted("few", "s32[], A, W"), counted("some", "s32[], A, A")
    place = "{1,0:S(1)}" if is_fetched else ""
    return module_text(entry, few, inner, some, outer, twice).replace("W", f"f32[64,128]{place}")


def test_loops_of_a_function_called_twice_are_told_apart() -> None:
    imported = imported_text(called_twice(is_fetched=False))
    program = imported.program
    plan = read_plan(imported, flow(called_twice(is_fetched=True)), None, 0)
    assert check(program, plan) is None
    levels = [copy_level(program, copy, plan.stays) for copy in plan.copies]
    outer = [level for level, region in enumerate(program.regions) if region.parent == TOP_LEVEL]
    assert levels == outer


def branches(fast: str) -> str:
    """A conditional, each branch of which makes in two steps what is read after it."""
    left, right = (
        f"""{name} (x: A) -> A
  x = A parameter(0)
  local = A negate(x)
  ROOT made = f32[64,128]{{1,0{fast}}} {opcode}(local)"""
        for name, opcode in (("left", "negate"), ("right", "abs"))
    )
    entry = f"""  x = A parameter(0)
  is_odd = pred[] parameter(1)
  first = A negate(x)
  either = f32[64,128]{{1,0{fast}}} conditional(is_odd, first, x), true_computation=left,
    false_computation=right
  sum = A add(either, x)
  ROOT last = A multiply(sum, x)"""
    return module_text(entry, left, right)


def test_what_a_branch_returns_serves_what_follows_the_conditional() -> None:
    imported = imported_text(branches(""))
    plan = read_plan(imported, flow(branches(":S(1)")), None, 0)
    names = [i.name for i in imported.program.instructions]
    assert [(s.start, s.end) for s in plan.stays] == [(names.index("made"), names.index("last"))]
    assert check(imported.program, plan) is None


def chain_in_a_loop(length: int, shape: str) -> str:
    """A loop whose body is a chain of so many instructions, with results of this shape."""
    chain = [f"  y{n + 1} = {shape} add(y{n}, inv)" for n in range(length)]
    return module_text(
        "  a = A parameter(0)\n  b = A parameter(1)\n  z = s32[] constant(0)\n"
        "  t = (s32[], A, A) tuple(z, a, b)\n"
        "  w = (s32[], A, A) while(t), condition=cond, body=body\n"
        "  ROOT o = A get-tuple-element(w), index=1",
        "cond\n  p = (s32[], A, A) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
        "  n = s32[] constant(7)\n  ROOT c = pred[] compare(i, n), direction=LT",
        "body\n  q = (s32[], A, A) parameter(0)\n  j = s32[] get-tuple-element(q), index=0\n"
        "  one = s32[] constant(1)\n  next = s32[] add(j, one)\n"
        "  y0 = A get-tuple-element(q), index=1\n  inv = A get-tuple-element(q), index=2\n"
        + "\n".join(chain)
        + f"\n  end = A negate(y{length})\n  ROOT r = (s32[], A, A) tuple(next, end, inv)",
    )


def test_a_longer_loop_takes_as_much_longer_to_read_as_it_has_instructions() -> None:
    def lines(length: int) -> int:
        program = imported_text(chain_in_a_loop(length, A))
        placed = flow(chain_in_a_loop(length, "f32[64,128]{1,0:S(1)}"))
        return lines_run(lambda: read_plan(program, placed, None, 0))

    assert lines(800) < 2.2 * lines(400)

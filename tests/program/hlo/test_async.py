"""Copies, slices and other work in flight."""

from __future__ import annotations

import gzip

import pytest

from engine.errors import ProgramFormatError
from engine.program.hlo.record import COMPUTE, COPY_DONE, COPY_START, JOIN, SLICE_DONE, SLICE_START
from engine.program.model import Program
from tests.program.hlo.modules import (
    A_BYTES,
    FIXTURES,
    flow,
    imported,
    module,
    names,
    program,
    reads,
    shared,
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
    # The copy is work, and the loop goes on in its place.
    assert names(made) == ["s", "y", "e"]
    assert shared(made) == {frozenset({"s{0}", "y"})}
    # In the compiler's own plan the copy has a place, which the loop takes over.
    seen = flow(text)
    loop_reads = next(e for e in seen.events if e.name == "y").reads
    assert [seen.values[v].label for _, v, _ in loop_reads] == ["s{0}"]


STATE = f"({F}, f32[64,128]{{1,0}}, u32[]{{:S(2)}})"


def test_a_copy_in_flight_may_go_through_a_conditional() -> None:
    made = program(
        module(
            f"""  a = A parameter(0)
  p = s32[] parameter(1)
  s = {STATE} copy-start(a)
  t = {STATE} conditional(p, s, s), branch_computations={{%one, %two}}
  d = {F} copy-done(t)
  ROOT c = A negate(d)""",
            f"%one\n  ROOT x = {STATE} parameter(0)",
            f"%two\n  y = {STATE} parameter(0)\n  ROOT z = {STATE} opt-barrier(y)",
        )
    )
    assert names(made) == ["c"]
    assert reads(made, "c") == {"a": A_BYTES}


def test_what_one_branch_starts_and_no_branch_ends_is_refused_in_words() -> None:
    text = module(
        f"""  a = A parameter(0)
  p = s32[] parameter(1)
  t = {STATE} conditional(p, a, a), branch_computations={{%one, %two}}
  d = {F} copy-done(t)
  ROOT c = A negate(d)""",
        f"%one\n  x = A parameter(0)\n  ROOT s = {STATE} copy-start(x)",
        f"%two\n  y = A parameter(0)\n  ROOT r = {STATE} copy-start(y)",
    )
    with pytest.raises(ProgramFormatError, match="test: t: what its branches start is awaited"):
        program(text)


def test_a_copy_that_a_branch_returns_while_its_origin_is_read_on_is_work() -> None:
    made = program(
        module(
            f"""  p = s32[] parameter(0)
  a = A parameter(1)
  x = A negate(a)
  c = {F} conditional(p, a, x), branch_computations={{%new, %keep}}
  d = A tanh(c)
  ROOT e = A add(d, x)""",
            f"%new\n  q = A parameter(0)\n  ROOT r = {F} negate(q)",
            f"""%keep
  q = A parameter(0)
  s = ({F}, A, u32[]) copy-start(q)
  ROOT k = {F} copy-done(s)""",
        )
    )
    assert names(made) == ["x", "r", "s", "d", "e"]
    assert shared(made) == {frozenset({"r", "s{0}"})}
    assert reads(made, "s") == {"x": A_BYTES // 2}


FETCHED_AGAIN = [
    f"""%c
  p = (s32[], A, A, {F}) parameter(0)
  ROOT k = pred[] constant(true)""",
    f"""%b
  q = (s32[], A, A, {F}) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  x = A get-tuple-element(q), index=1
  slow = A get-tuple-element(q), index=2
  fast = {F} get-tuple-element(q), index=3
  y = A add(x, fast)
  back = (A, {F}, u32[]) copy-start(fast)
  backed = A copy-done(back)
  again = ({F}, f32[64,128]{{1,0}}, u32[]) copy-start({{source}})
  u = A tanh(y)
  next = {F} copy-done(again)
  ROOT r = (s32[], A, A, {F}) tuple(j, u, slow, next)""",
]


@pytest.mark.parametrize("source", ["slow", "backed"])
@pytest.mark.parametrize("last", ["tanh(z)", "add(z, f)"])
def test_what_a_loop_fetches_again_for_its_next_iteration_is_one_value(
    source: str, last: str
) -> None:
    made = program(
        module(
            f"""  a = A parameter(0)
  w = A parameter(1)
  zero = s32[] constant(0)
  s = ({F}, f32[64,128]{{1,0}}, u32[]) copy-start(w)
  b = A negate(a)
  d = {F} copy-done(s)
  t = (s32[], A, A, {F}) tuple(zero, b, w, d)
  l = (s32[], A, A, {F}) while(t), condition=%c, body=%b
  z = A get-tuple-element(l), index=1
  f = {F} get-tuple-element(l), index=3
  ROOT e = A {last}""",
            FETCHED_AGAIN[0],
            FETCHED_AGAIN[1].replace("{source}", source),
        )
    )
    assert {v.name for v in made.values} == {"a", "w", "b", "y", "u", "e"}
    assert reads(made, "y") == {"b": 5 * A_BYTES, "w": 5 * A_BYTES}


def in_flight(made: Program) -> dict[str, tuple[str, ...]]:
    """Per access in flight, as `R value` or `W value`: the instructions after its own, to its end.

    `slow` stands for one that must be slow.
    """
    flights: dict[str, tuple[str, ...]] = {}
    for access in made.accesses:
        if access.in_flight or access.must_be_slow:
            name = f"{'W' if access.is_write else 'R'} {made.values[access.value].name}"
            passed = [i.name for i in made.instructions[access.time + 1 : access.end]]
            flights[name] = (*passed, *["slow"] * access.must_be_slow)
    return flights


START_DONE = """  a = A parameter(0)
  b = A negate(a)
{start}
  m = A tanh(a)
  n = A exponential(m)
{done}
  ROOT r = ({result}, A) tuple(d, n)"""
SUM = "%sum\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = f32[] add(x, y)"
CALLED = '%wrapped\n  p = A parameter(0)\n  ROOT w = A custom-call(p), custom_call_target="x"'
TWICE = "%wrapped\n  p = A parameter(0)\n  h = A tanh(p)\n  ROOT w = A negate(h)"


@pytest.mark.parametrize(
    ("start", "done", "written", "result", "called"),
    [
        (
            "s = (A, f32[128,128]) all-gather-start(b), replica_groups={{0,1}}, dimensions={0}",
            "d = f32[128,128] all-gather-done(s)",
            "s{1}",
            "f32[128,128]",
            "",
        ),
        ("s = A all-reduce-start(b), replica_groups={}, to_apply=%sum", "d = A all-reduce-done(s)",
         "s", "A", SUM),
        (
            "s = (A, A, u32[], u32[]) collective-permute-start(b), source_target_pairs={{0,1}}",
            "d = A collective-permute-done(s)",
            "s{1}",
            "A",
            "",
        ),
        ("s = (A, A, u32[]) copy-start(b)", "d = A copy-done(s)", "s{0}", "A", ""),
        ("s = ((A), A, s32[]) async-start(b), calls=%wrapped", "d = A async-done(s)", "w", "A",
         CALLED),
        (
            "s = ((A), A, s32[]) async-start(b), calls=%wrapped\n"
            "  u = ((A), A, s32[]) async-update(s)",
            "d = A async-done(u)",
            "w",
            "A",
            CALLED,
        ),
    ],
)  # fmt: skip
def test_what_is_started_holds_its_operand_and_result_until_it_is_done(
    start: str, done: str, written: str, result: str, called: str
) -> None:
    lines = START_DONE.format(start=f"  {start}", done=f"  {done}", result=result)
    made = program(module(lines, *([called] if called else [])))
    assert names(made) == ["b", "s", "m", "n"]
    assert in_flight(made) == {"R b": ("m", "n"), f"W {written}": ("m", "n")}


IN_PLACE = """  a = A parameter(0)
  b = A negate(a)
{start}
  m = A tanh(a)
{done}
{read}
  n = A add(m, d)
  ROOT r = (A, A) tuple(n, {result})"""
ALIASED = """%wrapped
  p = A parameter(0)
  ROOT w = A custom-call(p), custom_call_target="x", output_to_operand_aliasing={{}: (0, {})}"""


@pytest.mark.parametrize(
    ("start", "done", "result", "called"),
    [
        (
            "s = A all-reduce-start(b), replica_groups={}, to_apply=%sum",
            "all-reduce-done",
            "s",
            SUM,
        ),
        (
            "z = s32[] constant(0)\n  o = (s32[], s32[]) tuple(z, z)\n"
            "  s = (A, A, u32[], u32[]) collective-permute-start(a, b, o, o),"
            " source_target_pairs={{0,1}}, slice_sizes={{64,128}}",
            "collective-permute-done",
            "s{1}",
            "",
        ),
        (
            's = ((A), A, s32[]) async-start(b), async_execution_thread="sparsecore",'
            " calls=%wrapped",
            "async-done",
            "s{1}",
            ALIASED,
        ),
    ],
)
@pytest.mark.parametrize("is_needed", [False, True])
def test_the_result_of_what_is_in_flight_may_be_in_the_place_of_an_operand(
    start: str, done: str, result: str, called: str, is_needed: bool
) -> None:
    lines = IN_PLACE.format(
        start=f"  {start}",
        done=f"  d = A {done}(s)",
        read="  k = A cosine(b)" if is_needed else "  k = A cosine(a)",
        result="k",
    )
    made = program(module(lines, *([called] if called else [])))
    # What is needed later keeps a place of its own.
    assert (value(made, "b").group == value(made, result).group) != is_needed
    (flight,) = [t for t in made.touches if t.group == value(made, result).group and t.is_in_flight]
    assert flight.writes
    assert flight.reads != is_needed


def test_ragged_exchange_is_generic_work_in_flight() -> None:
    """A ragged-all-to-all in flight is an async-start of one."""
    arrays = "A, A, s32[2], s32[2], s32[2], s32[2]"
    call = "%wrapped\n  p = A parameter(0)\n  q = A parameter(1)\n"
    call += "".join(f"  i{n} = s32[2] parameter({n + 2})\n" for n in range(4))
    call += "  ROOT w = A ragged-all-to-all(p, q, i0, i1, i2, i3), replica_groups={{0,1}}"
    text = module(
        f"""  a = A parameter(0)
  o = A parameter(1)
  i = s32[2] parameter(2)
  s = (({arrays}), A, s32[]) async-start(a, o, i, i, i, i), calls=%wrapped
  m = A tanh(a)
  d = A async-done(s)
  ROOT r = A add(d, m)""",
        call,
    )
    assert in_flight(program(text)) == {
        **{f"R {name}": ("m",) for name in ("a", "o", "i")},
        "W w": ("m",),
    }


def test_parts_of_asynchronous_work_stay_slow() -> None:
    """What its instructions hand to one another has a place all the time that the work goes on."""
    lines = START_DONE.format(
        start="  s = ((A), A, s32[]) async-start(b), calls=%wrapped",
        done="  d = A async-done(s)",
        result="A",
    )
    made = program(module(lines, TWICE))
    assert names(made) == ["b", "h", "w", "m", "n"]
    assert in_flight(made) == {"R b": ("w", "m", "n"), "W w": ("m", "n")}
    assert not value(made, "h").may_be_fast


def test_transfers_hold_what_they_move() -> None:
    made = program(
        module(
            """  k = token[] after-all()
  a = A parameter(0)
  s = (A, u32[], token[]) send(a, k), channel_id=1
  v = (A, u32[], token[]) recv(k), channel_id=2
  m = A tanh(a)
  t = token[] send-done(s), channel_id=1
  n = A negate(m)
  w = (A, token[]) recv-done(v), channel_id=2
  x = A get-tuple-element(w), index=0
  ROOT c = A add(x, n)"""
        )
    )
    assert in_flight(made) == {"R a": ("v", "m"), "W v{0}": ("m", "n")}


@pytest.mark.parametrize("way", ["send", "recv"])
def test_transfers_with_the_host_stay_slow(way: str) -> None:
    text = {
        "send": """  s = (A, u32[], token[]) send(a, k), channel_id=1, is_host_transfer=true
  t = token[] send-done(s), channel_id=1, is_host_transfer=true
  ROOT c = A tanh(a)""",
        "recv": """  v = (A, u32[], token[]) recv(k), channel_id=2, is_host_transfer=true
  w = (A, token[]) recv-done(v), channel_id=2, is_host_transfer=true
  x = A get-tuple-element(w), index=0
  ROOT c = A add(x, a)""",
    }[way]
    made = program(module(f"  k = token[] after-all()\n  a = A parameter(0)\n{text}"))
    assert in_flight(made) == {"R a" if way == "send" else "W v{0}": ("slow",)}


def test_a_copy_from_host_memory_makes_a_value_of_its_own() -> None:
    host = "f32[64,128]{1,0:S(5)}"
    made = program(
        module(
            f"""  w = {host} parameter(0)
  x = A parameter(1)
  s = (A, {host}, u32[]) copy-start(w)
  a = A add(x, x)
  d = A copy-done(s)
  b = A multiply(a, d)
  ROOT c = A subtract(b, d)"""
        )
    )
    assert names(made) == ["s", "a", "b", "c"]
    assert not value(made, "w").may_be_fast
    assert value(made, "s{0}").may_be_fast
    assert reads(made, "c") == {"b": A_BYTES, "s{0}": A_BYTES}
    assert in_flight(made) == {"R w": ("a",), "W s{0}": ("a", "slow")}


def test_there_and_back_again_are_three_values() -> None:
    host = "f32[64,128]{1,0:S(5)}"
    made = program(
        module(
            f"""  x = A parameter(0)
  a = A tanh(x)
  s = ({host}, A, u32[]) copy-start(a)
  h = {host} copy-done(s)
  b = A negate(x)
  t = (A, {host}, u32[]) copy-start(h)
  d = A copy-done(t)
  ROOT c = A add(b, d)"""
        )
    )
    assert names(made) == ["a", "s", "b", "t", "c"]
    assert len({value(made, name).group for name in ("a", "s{0}", "t{0}")}) == 3
    assert in_flight(made) == {"R a": ("slow",), "W t{0}": ("slow",)}


def test_other_threads_run_beside_the_schedule() -> None:
    made = program(
        module(
            """  table = A parameter(0)
  x = A parameter(1)
  s = ((A), A, s32[]) call-start(table), async_execution_thread="sparsecore", to_apply=%gather
  y = A multiply(x, x)
  z = A negate(y)
  d = A call-done(s)
  ROOT o = A add(z, d)""",
            '%gather\n  t = A parameter(0)\n  ROOT g = A custom-call(t), custom_call_target="x"\n',
        ).replace(
            'custom_call_target="x"\n\n}',
            'custom_call_target="x"\n}, execution_thread="sparsecore"',
        )
    )
    assert names(made) == ["s", "y", "z", "o"]
    assert in_flight(made) == {"R table": ("y", "z", "slow"), "W s{1}": ("y", "z", "slow")}
    start = made.instructions[0]
    assert start.fast_s <= min(i.fast_s for i in made.instructions)
    assert value(made, "s{1}").may_be_fast, "by a copy, once it is there"


UPDATED = """%{name}
  p = A parameter(0)
  u = f32[1,128] parameter(1)
  k = s32[] parameter(2)
  l = s32[] parameter(3)
  ROOT r = A {root}"""


@pytest.mark.parametrize(
    ("root", "row"),
    [
        ("dynamic-update-slice(p, u, k, l)", 128 * 4),
        ("fusion(p, u, k, l), kind=kLoop, calls=%inner", 128 * 4),
        ("call(p, u, k, l), to_apply=%inner", 128 * 4),
        ("call(p, u, k, l), to_apply=%kernel", A_BYTES),
        (
            'custom-call(p, u, k, l), custom_call_target="x",'
            " output_to_operand_aliasing={{}: (0, {})}",
            A_BYTES,
        ),
    ],
)
def test_another_thread_updates_in_place(root: str, row: int) -> None:
    kernel = (
        'custom-call(p, u, k, l), custom_call_target="x", output_to_operand_aliasing={{}: (0, {})}'
    )
    made = program(
        module(
            """  a = A parameter(0)
  v = f32[1,128] parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  x = A negate(a)
  s = ((A, f32[1,128], s32[], s32[]), A, u32[]) async-start(x, v, i, z),
    async_execution_thread="sparsecore", calls=%wrapped
  y = A tanh(a)
  d = A async-done(s)
  ROOT c = A add(y, d)""",
            UPDATED.format(name="inner", root="dynamic-update-slice(p, u, k, l)"),
            UPDATED.format(name="kernel", root=kernel),
            UPDATED.format(name="wrapped", root=root),
        )
    )
    assert shared(made) == {frozenset({"x", "s{1}"})}
    assert writes(made, "s") == {"s{1}": row}
    assert reads(made, "s")["x"] == (0 if row < A_BYTES else A_BYTES)


def test_a_slice_on_another_thread_draws_what_it_takes() -> None:
    made = program(
        module(
            """  table = f32[6400,128] parameter(0)
  x = A parameter(1)
  i = s32[] constant(0)
  s = ((f32[6400,128], s32[], s32[]), A, s32[]) async-start(table, i, i),
    async_execution_thread="sparsecore", calls=%slice
  y = A multiply(x, x)
  d = A async-done(s)
  ROOT o = A add(y, d)""",
            """%slice
  t = f32[6400,128] parameter(0)
  j = s32[] parameter(1)
  k = s32[] parameter(2)
  ROOT q = A dynamic-slice(t, j, k), dynamic_slice_sizes={64,128}""",
        ).replace("\n}\n", '\n}, execution_thread="sparsecore"\n', 1)
    )
    assert reads(made, "s")["table"] == writes(made, "s")["s{1}"] == A_BYTES


def test_what_is_done_in_another_iteration_stays_slow() -> None:
    made = program(
        module(
            """  a = A parameter(0)
  z = s32[] constant(0)
  s = (A, A, u32[], u32[]) collective-permute-start(a), source_target_pairs={{0,1}}
  t = (s32[], (A, A, u32[], u32[]), A) tuple(z, s, a)
  w = (s32[], (A, A, u32[], u32[]), A) while(t), condition=%c, body=%b
  ROOT e = A get-tuple-element(w), index=2""",
            "%c\n  p = (s32[], (A, A, u32[], u32[]), A) parameter(0)\n"
            "  ROOT k = pred[] constant(true)",
            """%b
  q = (s32[], (A, A, u32[], u32[]), A) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  f = (A, A, u32[], u32[]) get-tuple-element(q), index=1
  d = A collective-permute-done(f)
  y = A tanh(d)
  g = (A, A, u32[], u32[]) collective-permute-start(y), source_target_pairs={{0,1}}
  ROOT r = (s32[], (A, A, u32[], u32[]), A) tuple(j, g, y)""",
        )
    )
    moved = [v for v in made.values if v.name in ("a", "s{1}", "y", "g{1}")]
    assert len(moved) >= 3
    assert not any(made.groups[v.group].may_be_fast for v in moved)


def test_a_fused_collective_goes_from_its_first_fusion_to_its_last() -> None:
    """As the compiler writes it: the fusion between them hands operand and result on."""
    text = gzip.decompress((FIXTURES / "gather_off.hlo.gz").read_bytes())
    made = program(text.decode())
    flights = in_flight(made)
    assert flights["R param.2"] == ("fusion.24",)
    assert flights["W async-collective-start{1}"] == ("fusion.24",)
    assert set(reads(made, "fusion.24")) == {"all-gather.18", "param.1"}
    assert set(writes(made, "fusion.24")) == {"fusion.24{0}"}
    assert "async-collective-start{1}" in reads(made, "multiply_convert_fusion")
    assert "async-collective-done" not in names(made)


HOST_MEMORY = "f32[64,128]{1,0:S(5)}"


def slow(made: Program) -> set[str]:
    """The accesses that must be slow, as `R value` or `W value`."""
    return {
        f"{'W' if a.is_write else 'R'} {made.values[a.value].name}"
        for a in made.accesses
        if a.must_be_slow
    }


def test_what_moves_between_host_and_chip_is_in_slow_memory_there() -> None:
    made = program(
        module(
            f"""  h = {HOST_MEMORY} parameter(0)
  x = A parameter(1)
  i = s32[] constant(0)
  k = {HOST_MEMORY} copy(x)
  s = (({HOST_MEMORY}, s32[], s32[]), A, u32[]) async-start(h, i, i), calls=%piece
  y = A tanh(x)
  d = A async-done(s)
  ROOT c = A add(y, d)""",
            f"%piece\n  p = {HOST_MEMORY} parameter(0)\n  j = s32[] parameter(1)\n"
            "  l = s32[] parameter(2)\n"
            "  ROOT g = A dynamic-slice(p, j, l), dynamic_slice_sizes={64,128}",
        )
    )
    assert {"R x", "W g"} <= slow(made) <= {"R x", "W g", "R i"}
    assert value(made, "x").may_be_fast


@pytest.mark.parametrize("is_host", [True, False])
def test_a_value_that_is_handed_to_the_host_is_never_fast(is_host: bool) -> None:
    to_host = ", is_host_transfer=true" if is_host else ""
    made = program(
        module(
            f"""  k = token[] after-all()
  a = A parameter(0)
  b = A tanh(a)
  s = (A, u32[], token[]) send(b, k), channel_id=1{to_host}
  c = A negate(b)
  t = token[] send-done(s), channel_id=1{to_host}
  ROOT d = A add(c, b)"""
        )
    )
    assert value(made, "b").may_be_fast != is_host


def kernel(config: str) -> Program:
    return program(
        module(
            f"""  a = A parameter(0)
  b = A tanh(a)
  k = (A, A) custom-call(a, b), custom_call_target="tpu_custom_call", backend_config={{{config}}}
  x = A get-tuple-element(k), index=0
  y = A get-tuple-element(k), index=1
  ROOT c = A add(x, y)"""
        )
    )


def test_what_a_kernel_wants_in_hbm_is_slow_there() -> None:
    colours = (
        '"input_memory_space_colors":[{"operand_index":1,"color":0},{"operand_index":0,"color":1}]'
        ',"output_memory_space_colors":[{"color":0,"shape_index":[1]}]'
    )
    made = kernel(f'"custom_call_config":{{{colours}}}')
    assert slow(made) == {"R b", "W k{1}"}
    assert value(made, "b").may_be_fast


@pytest.mark.parametrize(
    "config",
    [
        "",
        '"custom_call_config":{}',
        '"custom_call_config":{"input_memory_space_colors":[]}',
        '"custom_call_config":{"input_memory_space_colors":{"color":0}}',
        '"custom_call_config":{"input_memory_space_colors":[7,{"color":0,"operand_index":"x"}]}',
        '"custom_call_config":7,"y_colors":1',
    ],
)
def test_a_kernel_that_names_no_memory_may_be_served_from_any(config: str) -> None:
    assert slow(kernel(config)) == set()

"""What instructions without cycles ask of the chip: kinds, operations, bytes, devices."""

from __future__ import annotations

import math
from typing import Any

import pytest

from engine.errors import ProgramFormatError
from engine.program.hlo.build import build_program
from engine.program.hlo.collective import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    PERMUTE,
    REDUCE_SCATTER,
    Collective,
    collective_in,
    devices_in,
)
from engine.program.hlo.demand import Demand
from engine.program.hlo.module import Scope
from engine.program.prices import LINKS, Price, with_prices
from tests.program.hlo.modules import A_BYTES, HARDWARE, decoded, module

CYCLES = ', backend_config={"window_config":{"estimated_cycles":"1500"}}'
SUM = """%sum
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)"""


def demands(lines: str, *computations: str) -> dict[str, Demand]:
    """Instruction name -> its demand, in a module whose first instruction states cycles."""
    text = module(f"  a = A parameter(0)\n  b = A tanh(a){CYCLES}\n{lines}", *computations)
    asked: list[Demand] = []

    def pricing(demand: Demand) -> Price:
        asked.append(demand)
        return Price(1e-6)

    imported = build_program(decoded(text), "test", HARDWARE, "test", pricing=pricing)
    names = [imported.program.instructions[time].name for time in imported.prices]
    return dict(zip(names, asked, strict=True))


def collective(line: str, *computations: str) -> tuple[Collective, int]:
    """The collective of an instruction `c` on `b`, and how many devices its module is for."""
    text = module(f"  a = A parameter(0)\n  b = A tanh(a){CYCLES}\n{line}", *computations)
    decoded_module: Any = decoded(text)
    scope = Scope(decoded_module)
    entry = decoded_module.entry_computation_id
    ins = next(i for i in scope.by_id[entry].values() if i.name == "c")
    found = collective_in(scope, entry, ins)
    assert found is not None
    return found, devices_in(decoded_module)


COLUMNS = ((0, 2), (1, 3))


@pytest.mark.parametrize(
    "groups",
    [
        "{{0,2},{1,3}}",
        "[2,2]<=[2,2]T(1,0)",
        "mesh['x'=2,'y'=2] {'x'}",
        "mesh['x'=4] {'x':(1)2}",
    ],
)
def test_groups_are_read_in_every_form(groups: str) -> None:
    line = f"  ROOT c = A all-reduce(b), replica_groups={groups}, to_apply=%sum, channel_id=1"
    line += ", use_global_device_ids=true"
    assert collective(line, SUM) == (Collective(ALL_REDUCE, A_BYTES, COLUMNS), 4)


@pytest.mark.parametrize(
    ("groups", "devices"),
    [
        ("mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)) {'x'}", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y'}", ((0, 2, 4, 6), (1, 3, 5, 7))),
        ("mesh['x'=2,'y'=2], device_ids=(0,2,1,3) {'x'}", ((0, 1), (2, 3))),
        ("mesh['x'=2,'y'=2], device_ids=(3,0,2,1) {'y'}", ((3, 0), (2, 1))),
    ],
)
def test_a_mesh_may_have_its_devices_in_an_order_of_its_own(
    groups: str, devices: tuple[tuple[int, ...], ...]
) -> None:
    line = f"  ROOT c = A all-reduce(b), replica_groups={groups}, to_apply=%sum, channel_id=1"
    line += ", use_global_device_ids=true"
    found, count = collective(line, SUM)
    assert found.groups == devices
    assert count == 1 + max(map(max, devices))


@pytest.mark.parametrize("groups", ["[4,0]<=[4]", "[3,3]<=[4]"])
def test_impossible_groups_are_none(groups: str) -> None:
    line = f"  ROOT c = A all-reduce(b), replica_groups={groups}, to_apply=%sum, channel_id=1"
    found, devices = collective(line, SUM)
    assert found.groups == () and devices == 1


def test_no_groups_are_all_devices() -> None:
    line = "  ROOT c = A all-reduce(b), replica_groups={}, to_apply=%sum"
    assert collective(line, SUM) == (Collective(ALL_REDUCE, A_BYTES, ()), 1)


def test_what_is_sent() -> None:
    gathered = "  ROOT c = f32[128,128] all-gather(b), replica_groups={{0,1}}, dimensions={0}"
    assert collective(gathered)[0] == Collective(ALL_GATHER, 2 * A_BYTES, ((0, 1),))
    scattered = (
        "  ROOT c = f32[32,128] reduce-scatter(b), replica_groups={{0,1}}, dimensions={0},"
        " to_apply=%sum"
    )
    assert collective(scattered, SUM)[0] == Collective(REDUCE_SCATTER, A_BYTES, ((0, 1),))
    exchanged = "  ROOT c = A all-to-all(b), replica_groups={{0,1}}, dimensions={0}"
    assert collective(exchanged)[0] == Collective(ALL_TO_ALL, A_BYTES, ((0, 1),))
    shifted = "  ROOT c = A collective-permute(b), source_target_pairs={{0,1},{1,0}}"
    assert collective(shifted)[0] == Collective(PERMUTE, A_BYTES, ((0, 1), (1, 0)))


def test_a_destination_is_not_sent() -> None:
    ragged = """  o = A negate(b)
  i = s64[2] constant({0, 1})
  ROOT c = A ragged-all-to-all(b, o, i, i, i, i), replica_groups={{0,1}}"""
    assert collective(ragged)[0] == Collective(ALL_TO_ALL, A_BYTES, ((0, 1),))
    placed = """  o = A negate(b)
  z = s32[] constant(0)
  t = (s32[], s32[]) tuple(z, z)
  ROOT c = A collective-permute(b, o, t, t), source_target_pairs={{0,1}}, slice_sizes={{64,128}}"""
    assert collective(placed)[0] == Collective(PERMUTE, A_BYTES, ((0, 1),))
    together = """  o = A negate(b)
  ROOT c = (A, A) collective-permute(b, o), source_target_pairs={{0,1}}"""
    assert collective(together)[0] == Collective(PERMUTE, 2 * A_BYTES, ((0, 1),))


def test_a_start_sends_what_its_collective_does() -> None:
    lines = """  c = (A, f32[128,128]) all-gather-start(b), replica_groups={{0,1}}, dimensions={0}
  ROOT d = f32[128,128] all-gather-done(c)"""
    assert collective(lines)[0] == Collective(ALL_GATHER, 2 * A_BYTES, ((0, 1),))


def test_an_all_reduce_of_which_a_fusion_keeps_a_slice_is_a_reduce_scatter() -> None:
    inside = """%scatter
  p = A parameter(0)
  r = A all-reduce(p), replica_groups={{0,1}}, to_apply=%sum
  ROOT s = f32[32,128] slice(r), slice={[0:32], [0:128]}"""
    line = "  ROOT c = f32[32,128] fusion(b), kind=kCustom, calls=%scatter"
    assert collective(line, SUM, inside)[0] == Collective(REDUCE_SCATTER, A_BYTES, ((0, 1),))


GATHERED = f"""  a = A parameter(0)
  b = A tanh(a){CYCLES}
  s = ((A), f32[128,128], s32[]) async-start(b), ON_THREAD calls=%gather
  y = A multiply(b, b){CYCLES}
  d = f32[128,128] async-done(s)
  t = f32[128,128] negate(d){CYCLES}
  ROOT o = (A, f32[128,128]) tuple(y, t)"""
GATHER = """%gather
  p = A parameter(0)
  ROOT g = f32[128,128] all-gather(p), replica_groups={{0,1}}, dimensions={0}"""


@pytest.mark.parametrize("thread", ["", "sparsecore"])
def test_a_collective_hides_behind_what_runs_beside_it_on_any_thread(thread: str) -> None:
    asked: list[Demand] = []

    def pricing(demand: Demand) -> Price:
        asked.append(demand)
        return Price(5e-6, over=LINKS)

    said = f'execution_thread="{thread}"'
    text = module(GATHERED.replace("ON_THREAD", f"async_{said}," if thread else ""), GATHER)
    if thread:
        text = text.replace("\n}\n", f"\n}}, {said}\n", 1)
    imported = build_program(decoded(text), "test", HARDWARE, "test", pricing=pricing)
    assert [demand.collective for demand in asked] == [
        Collective(ALL_GATHER, 2 * A_BYTES, ((0, 1),))
    ]
    program = with_prices(imported.program, imported.prices)
    left = {ins.name: ins.priced_s for ins in program.instructions if ins.priced_s}
    assert left == {"s": pytest.approx(5e-6 - imported.program.least_s[2])}


IN_FLIGHT = "(A, f32[128,128])"


def test_a_collective_that_the_next_iteration_awaits_hides_behind_both() -> None:
    text = module(
        f"""  a = A parameter(0)
  z = s32[] constant(0)
  first = {IN_FLIGHT} all-gather-start(a), replica_groups={{{{0,1}}}}, dimensions={{0}}
  t = (s32[], {IN_FLIGHT}, A) tuple(z, first, a)
  l = (s32[], {IN_FLIGHT}, A) while(t), condition=%c, body=%b
  last = {IN_FLIGHT} get-tuple-element(l), index=1
  e = f32[128,128] all-gather-done(last)
  ROOT o = f32[128,128] negate(e){CYCLES}""",
        f"%c\n  p = (s32[], {IN_FLIGHT}, A) parameter(0)\n  ROOT k = pred[] constant(true)",
        f"""%b
  q = (s32[], {IN_FLIGHT}, A) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  s = {IN_FLIGHT} get-tuple-element(q), index=1
  x = A get-tuple-element(q), index=2
  y = A negate(x){CYCLES}
  d = f32[128,128] all-gather-done(s)
  u = A slice(d), slice={{[0:64], [0:128]}}{CYCLES}
  next = {IN_FLIGHT} all-gather-start(u), replica_groups={{{{0,1}}}}, dimensions={{0}}
  w = A add(y, u){CYCLES}
  ROOT r = (s32[], {IN_FLIGHT}, A) tuple(j, next, w)""",
    )
    price = Price(5e-6, over=LINKS)
    imported = build_program(decoded(text), "test", HARDWARE, "test", pricing=lambda _: price)
    program = with_prices(imported.program, imported.prices)
    left = {ins.name: ins.priced_s for ins in program.instructions if ins.priced_s}
    _, y, _, _, w, _ = imported.program.least_s
    assert left == {"first": 5e-6, "next": pytest.approx(5 * 5e-6 - w - y)}


def kernel(config: str) -> Demand:
    line = f'  ROOT k = A custom-call(b), custom_call_target="tpu_custom_call"{config}'
    return demands(line)["k"]


def test_a_kernel_says_what_it_does() -> None:
    stated = (
        ', backend_config={"custom_call_config":{"body":"x","cost_estimate":'
        '{"flops":"4096","transcendentals":"12","bytes_accessed":"100",'
        '"remote_bytes_transferred":"7"}}}'
    )
    assert kernel(stated) == Demand(4096.0, 12.0, 100.0, remote_bytes=7.0, is_stated=True)


@pytest.mark.parametrize(
    "stated",
    ["", '{"flops":"0"}', '{"flops":"many"}', '{"flops":-5}', '{"flops":"1e400"}', "[]"],
)
def test_a_kernel_that_says_nothing_counts_by_its_arrays(stated: str) -> None:
    config = f', backend_config={{"custom_call_config":{{"cost_estimate":{stated or "null"}}}}}'
    assert kernel(config) == Demand(0.0, 64 * 128, 2 * A_BYTES)


@pytest.mark.parametrize(
    ("result", "aliasing", "moved"),
    [
        ("A", "{}: (1, {})", 4 * 128),
        ("(A, A)", "{1}: (1, {})", 4 * 128 + A_BYTES),
        ("(A, A)", "{0}: (1, {}), {1}: (0, {})", 0),
    ],
)
def test_what_a_kernel_updates_in_place_it_need_not_touch_whole(
    result: str, aliasing: str, moved: int
) -> None:
    row = "A" if moved == 0 else "f32[1,128]"
    asked = demands(
        f"""  m = A negate(a){CYCLES}
  r = {row} parameter(1)
  n = {row} negate(r){CYCLES}
  ROOT k = {result} custom-call(n, m), custom_call_target="tpu_custom_call",
    output_to_operand_aliasing={{{aliasing}}}"""
    )
    operations = 64 * 128 if aliasing.startswith("{1}") else 0
    assert asked["k"] == Demand(0.0, operations, moved)


def test_a_program_of_kernels_alone_has_their_prices() -> None:
    text = module('  a = A parameter(0)\n  ROOT k = A custom-call(a), custom_call_target="x"')
    made = build_program(decoded(text), "test", HARDWARE, "test", pricing=lambda _: Price(3e-6))
    program = with_prices(made.program, made.prices)
    assert program.all_slow_s == program.all_fast_s == 3e-6
    with pytest.raises(ProgramFormatError, match="states no cycles"):
        build_program(decoded(text), "test", HARDWARE, "test")


def test_a_sort_passes_the_stages_of_a_network() -> None:
    less = """%less
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT c = pred[] compare(p, q), direction=LT"""
    found = demands("  ROOT s = A sort(b), dimensions={1}, to_apply=%less", less)["s"]
    assert found == Demand(0.0, 64 * 128 * 7 * 8 / 2, 2 * A_BYTES)


@pytest.mark.parametrize(
    ("target", "shape", "operations"),
    [
        ("Cholesky", "f32[128,128]", 128**3 / 3),
        ("LuDecompositionBlock", "f32[256,128]", 128**2 * (256 - 128 / 3)),
        ("QrDecompositionBlock", "f32[256,128]", 2 * 128**2 * (256 - 128 / 3)),
        ("LuDecompositionBlock", "f32[8,128]", 8**2 * (128 - 8 / 3)),
        ("QrDecompositionBlock", "f32[2,8,128]", 2 * 2 * 8**2 * (128 - 8 / 3)),
        ("InvertDiagBlocksLowerTriangular", "f32[4,128,128]", 4 * 128**3 / 3),
        ("EighTpu", "f32[64,64]", 9 * 128**3),
    ],
)
def test_factorisations_count_their_operations(target: str, shape: str, operations: float) -> None:
    line = f'  x = {shape} parameter(1)\n  ROOT k = {shape} custom-call(x), custom_call_target="'
    assert demands(line + target + '"')["k"].vector_ops == pytest.approx(operations)


def test_a_copy_to_the_host_goes_over_its_link() -> None:
    lines = """  c = (f32[64,128]{1,0:S(5)}, A, u32[]) copy-start(b)
  ROOT d = f32[64,128]{1,0:S(5)} copy-done(c)"""
    assert demands(lines)["c"] == Demand(0.0, 0.0, A_BYTES, host_bytes=A_BYTES)


def test_only_what_crosses_it_counts_for_the_link_to_the_host() -> None:
    """Not what the host makes of its own memory, there."""
    host = "f32[64,128]{1,0:S(5)}"
    lines = f"""  h = {host} parameter(1)
  k = f32[8,128] parameter(2)
  s = (({host}), {host}, s32[]) async-start(h), async_execution_thread="host", calls=%own
  d = {host} async-done(s)
  c = {host} copy(d)
  t = (({host}, f32[8,128]), {host}, s32[]) async-start(c, k), async_execution_thread="host",
    calls=%both
  e = {host} async-done(t)
  f = {host} copy(b)
  ROOT r = ({host}, {host}) tuple(e, f)"""
    own = f"%own\n  p = {host} parameter(0)\n  ROOT n = {host} negate(p)"
    both = (
        f"%both\n  p = {host} parameter(0)\n  q = f32[8,128] parameter(1)\n"
        f'  ROOT x = {host} custom-call(p, q), custom_call_target="x"'
    )
    rows = 8 * 128 * 4
    assert demands(lines, own, both) == {
        "c": Demand(0.0, 0.0, 0.0),
        "t": Demand(0.0, 0.0, rows, host_bytes=rows),
        "f": Demand(0.0, 0.0, A_BYTES, host_bytes=A_BYTES),
    }


def test_what_the_compiler_estimates_or_moves_nothing_has_no_price() -> None:
    line = f"  ROOT c = A add(b, b){CYCLES}"
    assert demands(line) == {}
    into_vmem = "  ROOT c = f32[64,128]{1,0:S(1)} copy(b)"
    assert demands(into_vmem) == {}
    assert list(demands("  ROOT c = A copy(b)")) == ["c"]
    empty = '  x = A custom-call(), custom_call_target="AllocateBuffer"\n'
    assert demands(empty + line.replace("add(b, b)", "add(b, x)")) == {}


def test_a_collective_on_a_scalar_has_a_price_too() -> None:
    """As of a loss or the norm of a gradient; other work on scalars is no instruction of ours."""
    lines = f"""  z = f32[] parameter(1)
  n = f32[] negate(z)
  r = f32[] all-reduce(n), replica_groups={{{{0,1}}}}, to_apply=%sum
  q.1 = A broadcast(r), dimensions={{}}
  ROOT c = A add(b, q.1){CYCLES}"""
    found = demands(lines, SUM)
    assert list(found) == ["r", "q.1"]
    assert found["r"].collective == Collective(ALL_REDUCE, 4, ((0, 1),))


def test_products_and_other_operations_are_told_apart() -> None:
    inside = """%mixed
  p = A parameter(0)
  q = f32[128,32] parameter(1)
  d = f32[64,32] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT e = f32[64,32] exponential(d)"""
    line = "  w = f32[128,32] parameter(1)\n  ROOT f = f32[64,32] fusion(b, w), kind=kCustom"
    found = demands(f"{line}, calls=%mixed", inside)["f"]
    assert (found.matrix_flops, found.vector_ops) == (2.0 * 64 * 32 * 128, 64 * 32)
    assert math.isclose(found.moved_bytes, A_BYTES + 4 * (128 * 32 + 64 * 32))


def test_a_ragged_product_multiplies_each_row_with_one_matrix() -> None:
    lines = """  w = f32[4,128,32] parameter(1)
  s = s32[4] parameter(2)
  ROOT r = f32[64,32] ragged-dot(b, w, s), lhs_contracting_dims={1}, rhs_contracting_dims={1},
    lhs_ragged_dims={0}, rhs_group_dims={0}"""
    assert demands(lines)["r"].matrix_flops == 2.0 * 64 * 128 * 32

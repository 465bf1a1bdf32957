"""A slice that the compiler made asynchronous is read as fetched, behind a slow slice."""

from __future__ import annotations

import pytest

from engine.compiler.reading.matching import Matching
from engine.compiler.reading.observation import observe
from engine.compiler.reading.xla_plan import read_plan
from engine.plan.check import check
from engine.plan.model import Copy
from engine.program.hlo.build import build_program
from engine.program.hlo.flow import Flow
from tests.program.hlo.modules import HARDWARE, decoded, flow, module

FAST = "f32[64,128]{1,0:S(1)}"
SLOW = "f32[64,128]{1,0}"
PART = "f32[8,128]{1,0}"
FAST_PART = "f32[8,128]{1,0:S(1)}"


def call(name: str, shape: str, *operands: str) -> str:
    config = '{"window_config":{"estimated_cycles":"100000"}}'
    return (
        f"  {name} = {shape} custom-call({', '.join(operands)}),"
        f' custom_call_target="x", backend_config={config}\n'
    )


SOURCE = module(
    f"  a = {SLOW} parameter(0)\n"
    + call("p", SLOW, "a")
    + f"  s = {PART} slice(p), slice={{[0:8], [0:128]}}\n"
    + call("q", SLOW, "p")
    + call("u", SLOW, "q")
    + call("r", SLOW, "u", "p", "s")
    + "  ROOT t = tuple(r)".replace("tuple(r)", f"({SLOW}) tuple(r)")
)


def compiled() -> Flow:
    """`p` is made in fast memory and written back; the slice is taken of its slow copy, late."""
    return flow(
        module(
            f"  a = {SLOW} parameter(0)\n"
            + call("p", FAST, "a")
            + f"  c = ({SLOW}, {FAST}, u32[]{{:S(2)}}) copy-start(p)\n"
            + call("q", SLOW, "p")
            + f"  d = {SLOW} copy-done(c)\n"
            + f"  b = (({SLOW}), {FAST_PART}, s32[]{{:S(2)}}) slice-start(d),"
            " slice={[0:8], [0:128]}\n"
            + call("u", SLOW, "q")
            + f"  e = {FAST_PART} slice-done(b)\n"
            + call("r", SLOW, "u", "p", "e")
            + f"  ROOT t = ({SLOW}) tuple(r)"
        )
    )


def test_what_comes_late_is_fetched_for_its_reader() -> None:
    imported = build_program(decoded(SOURCE), "late", HARDWARE, "late")
    program, seen = imported.program, compiled()
    slots = {i.name: slot for slot, i in enumerate(program.instructions)}
    matching = Matching(imported, seen)
    assert [matching.slot_of[event] for event in matching.delayed] == [slots["s"]]
    plan = read_plan(imported, seen, None, 0)
    assert check(program, plan) is None
    group = {value.name: value.group for value in program.values}
    stays = {stay.group: (stay.start, stay.end) for stay in plan.stays}
    assert stays == {
        group["p"]: (slots["p"], slots["r"] + 1),
        group["s"]: (slots["u"], slots["r"] + 1),
    }
    assert Copy(group["s"], True, slots["u"], slots["r"]) in plan.copies
    fast = {
        (program.instructions[a.time].name, program.values[a.value].name)
        for a, is_fast in zip(program.accesses, plan.is_fast, strict=True)
        if is_fast
    }
    # Where the slice stands in the program its source is fast already.
    assert fast == {("p", "p"), ("s", "p"), ("q", "p"), ("r", "p"), ("r", "s")}
    assert plan.notes["left_out_accesses"] == 0


@pytest.mark.parametrize(
    ("slots", "delayed"),
    [
        ([0, 1, 2, 3], []),
        ([0, 2, 3, 1, 4], [3]),
        ([3, 0, 1, 2], []),
        ([0, 3, 1, 2, 4], []),
        ([2, 3, 4, 0, 1], [3, 4]),
    ],
)
def test_as_few_as_possible_are_out_of_order(
    slots: list[int], delayed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that comes early makes those behind it no later than they are."""
    numbered = dict(enumerate(slots))
    monkeypatch.setattr("engine.compiler.reading.matching.match_events", lambda *_: numbered)
    imported = build_program(decoded(SOURCE), "late", HARDWARE, "late")
    monkeypatch.setattr(Matching, "_groups_by_use", lambda _: {})
    assert sorted(Matching(imported, imported.flow).delayed) == delayed


def copied(begin: str, made: str) -> str:
    """`c`, a copy of `a`, is updated in place; `begin` are the lines that make it."""
    return module(
        f"  a = {SLOW} parameter(0)\n  row = f32[1,128]{{1,0}} parameter(1)\n"
        "  zero = s32[] constant(0)\n"
        + call("p", SLOW, "a")
        + begin
        + f"  u = {made} dynamic-update-slice(c, row, zero, zero)\n"
        + call("q", SLOW, "u", "p", "a")
        + f"  ROOT t = ({SLOW}) tuple(q)"
    )


def test_slices_stand_for_a_copy_of_the_program() -> None:
    """The slow compile copies an input before it changes; by default it comes in slices."""
    half = "f32[32,128]{1,0:S(1)}"
    slices = "".join(
        f"  b.{n} = (({SLOW}), {half}, s32[]{{:S(2)}}) slice-start(a),"
        f" slice={{[{part}], [0:128]}}\n"
        f"  e.{n} = {half} slice-done(b.{n})\n"
        for n, part in enumerate(("0:32", "32:64"))
    )
    join = f'  c = {FAST} custom-call(e.0, e.1), custom_call_target="ConcatBitcast"\n'
    imported = build_program(
        decoded(copied(f"  c = {SLOW} copy(a)\n", SLOW)), "copied", HARDWARE, "copied"
    )
    program, compiled = imported.program, flow(copied(slices + join, FAST))
    plan = read_plan(imported, compiled, None, 0)
    slots = {i.name: slot for slot, i in enumerate(program.instructions)}
    group = {value.name: value.group for value in program.values}
    assert check(program, plan) is None
    assert [(s.group, s.start, s.end) for s in plan.stays] == [
        (group["c"], slots["c"], slots["q"] + 1)
    ]
    assert plan.copies == ()
    seen = observe(imported, compiled)
    assert seen.cycles[slots["c"]] == 0.0, "what is copied in flight takes no time of the schedule"
    fast = {(a.time, a.is_write) for a, f in zip(program.accesses, seen.is_fast, strict=True) if f}
    assert {time for time, is_write in fast if is_write} == {slots["c"], slots["u"]}

"""While bodies, branches and their nesting: regions, levels, multiplicities, carried groups."""

from __future__ import annotations

import pytest

from engine.errors import ProgramFormatError
from engine.plan.check import check
from engine.plan.model import Copy, Plan, Stay
from engine.program.hlo import record
from engine.program.io import content_hash
from engine.program.model import Program
from tests.program.hlo.modules import A_BYTES, module, names, program, reads, shared, value, writes

INNER = [
    """%inner_condition
  p = (s32[], A, A) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)
  ROOT c = pred[] compare(i, n), direction=LT""",
    """%inner_body
  q = (s32[], A, A) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  one = s32[] constant(1)
  next = s32[] add(j, one)
  x = A get-tuple-element(q), index=1
  w = A get-tuple-element(q), index=2
  y = A add(x, w)
  ROOT r = (s32[], A, A) tuple(next, y, w)""",
]

OUTER = [
    """%outer_condition
  p = (s32[], A, A) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT""",
    """%outer_body
  q = (s32[], A, A) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  one = s32[] constant(1)
  next = s32[] add(j, one)
  x = A get-tuple-element(q), index=1
  w = A get-tuple-element(q), index=2
  before = A negate(x)
  zero = s32[] constant(0)
  t = (s32[], A, A) tuple(zero, before, w)
  inner = (s32[], A, A) while(t), condition=%inner_condition, body=%inner_body
  z = A get-tuple-element(inner), index=1
  after = A tanh(z)
  ROOT r = (s32[], A, A) tuple(next, after, w)""",
]

NESTED = module(
    """  a = A parameter(0)
  weight = A parameter(1)
  zero = s32[] constant(0)
  start = A copy(a)
  t = (s32[], A, A) tuple(zero, start, weight)
  outer = (s32[], A, A) while(t), condition=%outer_condition, body=%outer_body
  z = A get-tuple-element(outer), index=1
  ROOT last = A exponential(z)""",
    *INNER,
    *OUTER,
)


def test_nested_loops_multiply() -> None:
    made = program(NESTED)
    assert names(made) == ["start", "before", "y", "after", "last"]
    assert [(r.start, r.end, r.multiplicity, r.parent) for r in made.regions] == [
        (1, 4, 3.0, -1),
        (2, 3, 12.0, 0),
    ]
    assert [i.level for i in made.instructions] == [-1, 0, 1, 0, -1]
    assert reads(made, "y")["weight"] == 12 * A_BYTES
    assert made.instructions[2].fast_s == pytest.approx(12e-6)


def test_what_a_loop_carries_shares_a_place() -> None:
    made = program(NESTED)
    assert shared(made) == {frozenset({"start", "after"}), frozenset({"before", "y"})}
    weight = made.groups[value(made, "weight").group]
    assert not weight.is_written


def test_carried_groups_have_sinks_at_the_end_of_their_loop() -> None:
    made = program(NESTED)
    carried = value(made, "start").group
    inner = value(made, "before").group
    sinks = {(s.time, s.group, s.region) for s in made.sinks}
    assert (4, carried, 0) in sinks
    assert (3, inner, 1) in sinks


BRANCHES = module(
    """  p = s32[] parameter(0)
  a = A parameter(1)
  x = A negate(a)
  c = A conditional(p, x, x, x), branch_computations={%one, %two, %three}
  ROOT d = A exponential(c)""",
    "%one\n  p = A parameter(0)\n  ROOT r1 = A tanh(p)",
    "%two\n  p = A parameter(0)\n  h = A cosine(p)\n  ROOT r2 = A sine(h)",
    "%three\n  p = A parameter(0)\n  ROOT r3 = A abs(p)",
)


def test_each_branch_counts_its_share() -> None:
    made = program(BRANCHES)
    assert names(made) == ["x", "r1", "h", "r2", "r3", "d"]
    assert [(r.start, r.end, r.kind) for r in made.regions] == [
        (1, 2, "branch"),
        (2, 4, "branch"),
        (4, 5, "branch"),
    ]
    assert all(r.multiplicity == pytest.approx(1 / 3) for r in made.regions)
    assert not any(r.is_trip_count_known for r in made.regions)
    assert writes(made, "r1") == {"r1": A_BYTES // 3}


def test_branches_write_their_result_to_one_place() -> None:
    made = program(BRANCHES)
    assert shared(made) == {frozenset({"r1", "r2", "r3"})}
    assert value(made, "x").group != value(made, "r1").group
    (source,) = reads(made, "d")
    assert value(made, source).group == value(made, "r3").group


def test_a_branch_that_hands_on_what_is_read_later_shares_nothing() -> None:
    made = program(
        module(
            """  p = pred[] parameter(0)
  a = A parameter(1)
  x = A negate(a)
  c = A conditional(p, x, x), true_computation=%keep, false_computation=%change
  ROOT d = A add(c, x)""",
            "%keep\n  ROOT p = A parameter(0)",
            "%change\n  p = A parameter(0)\n  ROOT r = A abs(p)",
        )
    )
    assert shared(made) == set()


def handed_on(entry: str, *computations: str) -> Program:
    """The program of an entry with two arrays, of which the second is donated to the result."""
    return program(module(entry, *computations, head=", input_output_alias={ {0}: (2, {}) }"))


CHANGE_OR_KEEP = """  p = s32[] parameter(0)
  a = A parameter(1)
  given = A parameter(2)
  c = A conditional(p, a, given), branch_computations={{{branches}}}
  d = A tanh(c)
  ROOT o = (A, A) tuple(c, d)"""

CHANGE_OFTEN = """  n = s32[] parameter(0)
  a = A parameter(1)
  given = A parameter(2)
  z = s32[] constant(0)
  t = (s32[], s32[], A, A) tuple(z, n, a, given)
  w = (s32[], s32[], A, A) while(t), condition=%condition, body=%body
  c = A get-tuple-element(w), index=3
  d = A tanh(c)
  ROOT o = (A, A) tuple(c, d)"""

CONDITION = """%condition
  p = (s32[], s32[], A, A) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  ROOT k = pred[] compare(i, n), direction=LT"""

BODY = """%body
  q = (s32[], s32[], A, A) parameter(0)
  i = s32[] get-tuple-element(q), index=0
  n = s32[] get-tuple-element(q), index=1
  x = A get-tuple-element(q), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  r = A negate(x)
  ROOT t = (s32[], s32[], A, A) tuple(j, n, x, r)"""

NEW = "%new\n  q = A parameter(0)\n  ROOT r = A negate(q)"
KEEP = "%keep\n  ROOT q = A parameter(0)"


@pytest.mark.parametrize(
    "made",
    [
        handed_on(CHANGE_OR_KEEP.format(branches="%new, %keep"), NEW, KEEP),
        handed_on(CHANGE_OR_KEEP.format(branches="%keep, %new"), NEW, KEEP),
        handed_on(CHANGE_OFTEN, CONDITION, BODY),
    ],
    ids=["the second branch", "the first branch", "a loop that does not run"],
)
def test_an_input_that_is_only_handed_on_is_lost_by_no_plan(made: Program) -> None:
    number = value(made, "r").group
    group = made.groups[number]
    assert {made.values[v].name for v in group.values} == {"given", "r"}
    assert group.is_input
    fast = tuple(made.values[a.value].group == number for a in made.accesses)
    back = (Copy(number, False, 2, 2),)
    plan = Plan(content_hash(made), "test", fast, (Stay(number, 0, 0, 2),), back)
    found = check(made, plan)
    assert found is not None and found.rule == "liveness"


UPDATE = """%update
  p = A parameter(0)
  u = f32[1,128] constant({...})
  z = s32[] constant(0)
  ROOT r = A dynamic-update-slice(p, u, z, z)"""


@pytest.mark.parametrize("branches", ["%keep, %update", "%update, %keep", "%update, %read"])
def test_a_branch_updates_in_place_what_another_keeps_or_reads(branches: str) -> None:
    made = program(
        module(
            f"""  p = s32[] parameter(0)
  a = A parameter(1)
  x = A negate(a)
  c = A conditional(p, x, x), branch_computations={{{branches}}}
  ROOT d = A tanh(c)""",
            "%keep\n  ROOT p = A parameter(0)",
            UPDATE.replace("%update", "%read").replace("f32[1,", "f32[2,").replace("r =", "s ="),
            UPDATE,
        )
    )
    # Not a whole copy: the row alone is written, in half of all runs.
    assert writes(made, "r")["r"] == 128 * 4 // 2
    assert value(made, "x").group == value(made, "r").group
    (source,) = reads(made, "d")
    assert value(made, source).group == value(made, "r").group


def test_a_region_without_instructions_vanishes() -> None:
    made = program(
        module(
            """  p = pred[] parameter(0)
  a = A parameter(1)
  c = A conditional(p, a, a), true_computation=%keep, false_computation=%change
  ROOT d = A tanh(c)""",
            "%keep\n  ROOT p = A parameter(0)",
            "%change\n  p = A parameter(0)\n  ROOT r = A abs(p)",
        )
    )
    assert [(r.start, r.end) for r in made.regions] == [(0, 1)]


def test_absurd_multiplicities_are_refused() -> None:
    body = """%b{0}
  q = (s32[], A) parameter(0)
  w = (s32[], A) while(q), condition=%c, body=%b{1}, {2}
  ROOT r = (s32[], A) copy(w)"""
    stated = 'backend_config={"known_trip_count":{"n":"999999"}}'
    condition = "%c\n  p = (s32[], A) parameter(0)\n  ROOT k = pred[] constant(true)"
    innermost = "%b3\n  q = (s32[], A) parameter(0)\n  ROOT r = (s32[], A) copy(q)"
    text = module(
        """  a = A parameter(0)
  z = s32[] constant(0)
  t = (s32[], A) tuple(z, a)
  w = (s32[], A) while(t), condition=%c, body=%b0
  ROOT d = A get-tuple-element(w), index=1""",
        condition,
        innermost,
        *(body.format(n, n + 1, stated) for n in (2, 1, 0)),
    )
    with pytest.raises(ProgramFormatError, match="absurd number of times"):
        program(text)


def test_calls_that_unroll_too_far_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "MAX_WORK", 5000)
    computations = ["%f0\n  p = A parameter(0)\n  ROOT r = A tanh(p)"]
    for n in range(1, 30):
        computations.append(
            f"%f{n}\n  p = A parameter(0)\n  h = A call(p), to_apply=%f{n - 1}\n"
            f"  ROOT r = A call(h), to_apply=%f{n - 1}"
        )
    text = module("  a = A parameter(0)\n  ROOT d = A call(a), to_apply=%f29", *computations)
    with pytest.raises(ProgramFormatError, match="unroll too far"):
        program(text)


def test_calls_that_nest_too_deep_are_refused() -> None:
    computations = ["%f0\n  p = A parameter(0)\n  ROOT r = A tanh(p)"]
    for n in range(1, 60):
        computations.append(
            f"%f{n}\n  p = A parameter(0)\n  ROOT r = A call(p), to_apply=%f{n - 1}"
        )
    text = module("  a = A parameter(0)\n  ROOT d = A call(a), to_apply=%f59", *computations)
    with pytest.raises(ProgramFormatError, match="nest deeper"):
        program(text)

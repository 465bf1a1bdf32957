"""Trip counts and shares of branches that the compiler does not know: said, given, changed."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.compiler.capture.importer import import_hlo
from engine.errors import ProgramFormatError, UsageError
from engine.hardware.what_if import WhatIf, derive
from engine.program.counts import (
    COUNTS,
    Counts,
    given_counts,
    multiplicities,
    read_counts,
    recounted,
    with_counts,
)
from engine.program.io import load
from engine.program.model import Program, Region
from engine.program.prices import priced_s
from engine.program.provenance import (
    FASTEST_COMPILE,
    fastest_compile_s,
    import_remarks,
    target_facts_of,
)
from engine.program.validate import validate
from tests.program.floored import floored
from tests.program.hlo.modules import module, program

BELOW_SEVEN = """%condition
  p = (s32[], A) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  m = s32[] constant(7)
  ROOT c1 = pred[] compare(i, m), direction=LT"""
UNKNOWN = module(
    """  a = A parameter(0)
  n = s32[] parameter(1)
  b = A copy(a)
  t = (s32[], A) tuple(n, b)
  w = (s32[], A) while(t), condition=%condition, body=%body
  y = A get-tuple-element(w), index=1
  c = A conditional(n, y, y), branch_computations={%idle, %busy}
  ROOT d = A exponential(c)""",
    BELOW_SEVEN,
    """%body
  q = (s32[], A) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  one = s32[] constant(1)
  next = s32[] add(j, one)
  x = A get-tuple-element(q), index=1
  z = A tanh(x)
  ROOT r = (s32[], A) tuple(next, z)""",
    "%idle\n  ROOT p1 = A parameter(0)",
    "%busy\n  p2 = A parameter(0)\n  ROOT e = A abs(p2)",
)
"""A loop of unknown length, and a conditional one of whose branches has no instruction."""


FLYING = module(
    """  a = A parameter(0)
  n = s32[] parameter(1)
  s = (HOST, A, u32[]) copy-start(a)
  t = (s32[], A) tuple(n, a)
  w = (s32[], A) while(t), condition=%condition, body=%body
  y = A get-tuple-element(w), index=1
  d = HOST copy-done(s)
  ROOT r = (HOST, A) tuple(d, y)""".replace("HOST", "f32[64,128]{1,0:S(5)}"),
    BELOW_SEVEN,
    """%body
  q = (s32[], A) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  one = s32[] constant(1)
  next = s32[] add(j, one)
  x = A get-tuple-element(q), index=1
  z = A tanh(x), backend_config={"window_config":{"estimated_cycles":"1500"}}
  ROOT r = (s32[], A) tuple(next, z)""",
)
"""A copy to the host in flight over a loop of unknown length, five runs of which hide it."""


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "found.hlo.gz"
    path.write_bytes(gzip.compress(UNKNOWN.encode()))
    return path


def seconds(of: Program, name: str) -> float:
    """All-slow seconds of one instruction over one run."""
    time = next(t for t, i in enumerate(of.instructions) if i.name == name)
    return of.instructions[time].fast_s + sum(a.saving_s for a in of.accesses if a.time == time)


def test_what_is_assumed_is_said() -> None:
    loops, branches = import_remarks(program(UNKNOWN))
    assert "w as 5 iterations" in loops
    assert "c as 1/2 for each branch" in branches


def test_given_counts_scale_what_is_inside_alone(dump: Path) -> None:
    assumed = import_hlo(dump, None, "tpu-v5e")
    given = import_hlo(dump, None, "tpu-v5e", counts=Counts({"w": 20}, {"c": [0.75, 0.25]}))
    assert seconds(given, "z") == pytest.approx(4 * seconds(assumed, "z"))
    assert seconds(given, "e") == pytest.approx(seconds(assumed, "e") / 2)
    assert seconds(given, "d") == pytest.approx(seconds(assumed, "d"))
    assert [r.multiplicity for r in given.regions] == [20, 0.25]
    for word in ("assumed", "alike"):
        assert [word in "".join(import_remarks(it)) for it in (assumed, given)] == [True, False]
    assert target_facts_of(given)["counts"] == "w=20 c=[0.75, 0.25]"


def test_a_branch_without_instructions_is_missing_however_rarely_it_is_taken(dump: Path) -> None:
    """Else what the other one brings would count as there whichever runs."""
    for shares in ([1e-5, 1 - 1e-5], [1e-5, 1 - 1e-5 + 9e-7]):
        given = import_hlo(dump, None, "tpu-v5e", counts=Counts(shares={"c": shares}))
        assert [c.is_whole for c in given.conditionals] == [False, False]


def test_counts_are_changed_later(dump: Path) -> None:
    assumed = import_hlo(dump, None, "tpu-v5e")
    assumed = replace(assumed, provenance={**assumed.provenance, FASTEST_COMPILE: {"seconds": 1.0}})
    once = recounted(assumed, Counts({"w": 20}))
    assert fastest_compile_s(once) is None, "it ran as often as was assumed"
    assert given_counts(once) == Counts({"w": 20})
    twice = recounted(recounted(once, Counts(shares={"c": [0.9, 0.1]})), Counts({"w": 8}))
    at_once = import_hlo(dump, None, "tpu-v5e", counts=Counts({"w": 8}, {"c": [0.9, 0.1]}))
    assert twice.all_slow_s == pytest.approx(at_once.all_slow_s)
    assert given_counts(twice) == given_counts(at_once)


def test_what_a_loop_hides_is_not_priced_by_other_counts(tmp_path: Path) -> None:
    path = tmp_path / "flying.hlo"
    path.write_text(FLYING)
    hidden = import_hlo(path, None, "tpu-v5e")
    assert priced_s(hidden) == 0
    with pytest.raises(UsageError, match="s is in flight over w, and its price is what is left"):
        recounted(hidden, Counts({"w": 1}))
    assert priced_s(import_hlo(path, None, "tpu-v5e", counts=Counts({"w": 1}))) > 0


def test_a_what_if_keeps_them(dump: Path) -> None:
    given = import_hlo(dump, None, "tpu-v5e", counts=Counts({"w": 20}, {"c": [0.75, 0.25]}))
    derived = derive(given, WhatIf("tpu-v6e"), "derived")
    assert given_counts(derived) == given_counts(given)
    assert not any("assumed" in remark or "alike" in remark for remark in import_remarks(derived))


def test_a_loop_has_whole_iterations() -> None:
    for count in (3.4, float("nan"), float("inf"), "40", None):
        with pytest.raises(UsageError, match=f"w={count}: a trip count is a whole number, 1 to"):
            Counts({"w": count})  # type: ignore[dict-item]


@pytest.mark.parametrize("shares", [0.5, 1.0, "0.5,0.5", ["0.5", "0.5"], None])
def test_shares_are_a_list_of_numbers(shares: Any) -> None:
    with pytest.raises(UsageError, match=r"c=.*: the shares of branches are .* and add up to 1"):
        Counts({}, {"c": shares})
    with pytest.raises(UsageError, match="counts go by the name of their instruction"):
        Counts({}, shares)


@pytest.mark.parametrize(
    "record", [{"w": float("inf")}, {"w": 3.4}, {"w": 0}, {"w": "many"}, {"c": [2.0]}, []]
)
def test_a_damaged_record_is_refused(record: object) -> None:
    damaged = replace(program(UNKNOWN), provenance={COUNTS: record})
    with pytest.raises(ProgramFormatError, match="record of trip counts is damaged"):
        given_counts(damaged)


def test_a_loop_of_many_iterations_may_end_at_its_floor() -> None:
    """Rounding grows with the seconds, and so does the room for it."""
    made = floored()
    first, second = made.instructions
    slow_s = seconds(made, first.name)
    made = replace(
        made,
        regions=(Region("w", 0, 2, 3.0, is_trip_count_known=False),),
        instructions=(replace(first, level=0, floor_s=slow_s), replace(second, level=0)),
    )
    for count in range(10**9 - 40, 10**9):
        validate(with_counts(made, Counts({"w": count})), "often")


def test_inner_loops_follow_their_outer_one() -> None:
    made = program(UNKNOWN)
    region = replace(made.regions[0], name="inner", parent=0, multiplicity=15.0)
    assert multiplicities([made.regions[0], region], Counts({"w": 10})) == [10, 30]


@pytest.mark.parametrize(
    ("trips", "shares", "problem"),
    [
        (["v=3"], [], "no loop of unknown length called 'v'; it has w"),
        (["w=0"], [], "a trip count is a whole number, 1 to"),
        (["w=many"], [], "'many' is no number"),
        (["w"], [], "'w' is no WHILE=N"),
        ([], ["d=0.5,0.5"], "no conditional called 'd'; it has c"),
        ([], ["c=0.2,0.3,0.5"], "c has 2 branches, and 3 shares were given"),
        ([], ["c=0.5,0.6"], "add up to 1"),
        ([], ["c=1,0"], "0.00001 or more"),
        ([], ["c=nan,0.5"], "0.00001 or more"),
        ([], ["c=1e-7,0.9999999"], "0.00001 or more"),
    ],
)
def test_counts_that_cannot_be_are_refused(
    dump: Path, trips: list[str], shares: list[str], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        import_hlo(dump, None, "tpu-v5e", counts=read_counts(trips, shares))


def test_the_command_line_takes_and_says_them(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "p.json.gz"
    command = ["import", "--slow", str(dump), "--hardware", "tpu-v5e", "-o", str(output)]
    assert main(command) == 0
    assert "--trip-count WHILE=N" in capsys.readouterr().err
    assert main([*command, "--trip-count", "w=9", "--branch", "c=0.9,0.1"]) == 0
    assert "WHILE=N" not in capsys.readouterr().err
    assert given_counts(load(output)) == Counts({"w": 9}, {"c": [0.9, 0.1]})
    assert main(["info", str(output)]) == 0
    assert "w=9 c=[0.9, 0.1]" in capsys.readouterr().out

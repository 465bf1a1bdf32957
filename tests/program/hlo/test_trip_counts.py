"""Trip counts: stated, derived from the condition, or the stated guess."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.program.hlo.trip_counts import DEFAULT_TRIP_COUNT, count_steps
from engine.program.model import Region
from tests.program.hlo.modules import module, program

BODY = """%body
  q = (s32[], A) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  step = s32[] constant({step})
  next = s32[] {operation}(j, step)
  x = A get-tuple-element(q), index=1
  y = A tanh(x)
  ROOT r = (s32[], A) tuple(next, y)"""

CONDITION = """%condition
  p = (s32[], A) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant({bound})
  ROOT c = pred[] compare({order}), direction={direction}"""

ENTRY = """  a = A parameter(0)
  first = s32[] {first}
  b = A copy(a)
  t = (s32[], A) tuple(first, b)
  w = (s32[], A) while(t), condition=%condition, body=%body{config}
  ROOT d = A get-tuple-element(w), index=1"""


def region(entry: str, *computations: str) -> Region:
    """The one region of the program."""
    (found,) = program(module(entry, *computations)).regions
    return found


def loop(
    first: str = "constant(0)",
    step: int = 1,
    operation: str = "add",
    bound: int = 7,
    direction: str = "LT",
    order: str = "i, n",
    config: str = "",
) -> Region:
    return region(
        ENTRY.format(first=first, config=config),
        CONDITION.format(bound=bound, order=order, direction=direction),
        BODY.format(step=step, operation=operation),
    )


@pytest.mark.parametrize(
    ("count", "options"),
    [
        (7, {}),
        (8, {"direction": "LE"}),
        (7, {"direction": "NE"}),
        (3, {"step": 3}),
        (3, {"step": 3, "direction": "LE"}),
        (2, {"first": "constant(5)"}),
        (9, {"first": "constant(-2)"}),
        (7, {"order": "n, i", "direction": "GT"}),
        (8, {"order": "n, i", "direction": "GE"}),
        (7, {"order": "n, i", "direction": "NE"}),
        (3, {"first": "constant(10)", "operation": "subtract", "direction": "GT"}),
        (4, {"first": "constant(10)", "operation": "subtract", "direction": "GE"}),
        (2, {"first": "constant(10)", "operation": "subtract", "direction": "GE", "step": 3}),
        (2, {"first": "constant(10)", "step": -2, "direction": "GT"}),
        (1, {"first": "constant(7)"}),
    ],
)
def test_derived_from_condition_and_step(count: int, options: dict[str, object]) -> None:
    found = loop(**options)  # type: ignore[arg-type]
    assert (found.multiplicity, found.is_trip_count_known) == (count, True)


@pytest.mark.parametrize(
    "options",
    [
        {"first": "parameter(1)"},
        {"direction": "EQ"},
        {"step": 0},
        {"step": -1},
        {"direction": "NE", "step": 2},
        {"operation": "multiply"},
        {"order": "i, i"},
    ],
)
def test_unknown_counts_get_the_stated_guess(options: dict[str, object]) -> None:
    found = loop(**options)  # type: ignore[arg-type]
    assert found.multiplicity == DEFAULT_TRIP_COUNT == 5
    assert not found.is_trip_count_known


@pytest.mark.parametrize(
    ("stated", "count"), [("12", 12), ("0", 1), ("twelve", 7), ("-3", 7), ("9" * 40, 7)]
)
def test_a_stated_count_comes_first(stated: str, count: int) -> None:
    config = f', backend_config={{"known_trip_count":{{"n":"{stated}"}}}}'
    found = loop(config=config)
    assert (found.multiplicity, found.is_trip_count_known) == (count, True)


def test_condition_and_step_inside_fusions() -> None:
    found = region(
        ENTRY.format(first="constant(2)", config=""),
        """%compared
  x = s32[] parameter(0)
  n = s32[] constant(12)
  ROOT c = pred[] compare(x, n), direction=LT""",
        """%condition
  p = (s32[], A) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  ROOT f = pred[] fusion(i), kind=kLoop, calls=%compared""",
        """%stepped
  x = s32[] parameter(0)
  m = A parameter(1)
  k = s32[] constant(5)
  z = s32[] add(k, x)
  h = A tanh(m)
  ROOT r = (A, s32[]) tuple(h, z)""",
        """%body
  q = (s32[], A) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  x = A get-tuple-element(q), index=1
  f = (A, s32[]) fusion(j, x), kind=kLoop, calls=%stepped
  next = s32[] get-tuple-element(f), index=1
  c = s32[] copy(next)
  y = A get-tuple-element(f), index=0
  ROOT r = (s32[], A) tuple(c, y)""",
    )
    assert (found.multiplicity, found.is_trip_count_known) == (2, True)


def test_an_element_of_something_else_is_no_induction_value() -> None:
    found = region(
        ENTRY.format(first="constant(0)", config=""),
        """%condition
  p = (s32[], A) parameter(0)
  f = (s32[], A) custom-call(p), custom_call_target="other"
  i = s32[] get-tuple-element(f), index=0
  n = s32[] constant(7)
  ROOT c = pred[] compare(i, n), direction=LT""",
        BODY.format(step=1, operation="add"),
    )
    assert not found.is_trip_count_known


@given(
    st.sampled_from(["LT", "LE", "GT", "GE", "NE"]),
    st.integers(-20, 20),
    st.integers(-20, 20),
    st.integers(-4, 4),
)
def test_counting_agrees_with_running(direction: str, first: int, bound: int, step: int) -> None:
    holds = {
        "LT": lambda v: v < bound,
        "LE": lambda v: v <= bound,
        "GT": lambda v: v > bound,
        "GE": lambda v: v >= bound,
        "NE": lambda v: v != bound,
    }[direction]
    current, times = first, 0
    while holds(current) and times < 100:
        current, times = current + step, times + 1
    expected = times if times < 100 else None
    assert count_steps(direction, first, bound, step) == expected

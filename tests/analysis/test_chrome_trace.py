"""The Chrome trace keeps the rules of the Trace Event Format, and adds up to the latency."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from engine.analysis.chrome_trace import COMPUTE, MICRO, chrome_trace
from engine.plan.model import Plan
from engine.plan.simulate import simulate
from engine.program.model import Program
from tests.strategies import programs_with_plans

SLACK = 1e-9


def events_of(trace: dict[str, Any], phase: str) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event["ph"] == phase]


@given(programs_with_plans())
def test_events_keep_the_format(drawn: tuple[Program, Plan]) -> None:
    trace = json.loads(json.dumps(chrome_trace(*drawn), allow_nan=False))
    assert {event["ph"] for event in trace["traceEvents"]} == {"M", "X", "C"}
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str)
        assert type(event["pid"]) is int
        assert type(event["tid"]) is int
        assert event["ts"] >= 0
        assert isinstance(event["args"], dict)
    named = {e["tid"] for e in events_of(trace, "M") if e["name"] == "thread_name"}
    assert {e["tid"] for e in events_of(trace, "X")} <= named
    assert all(e["dur"] >= 0 and e["cat"] for e in events_of(trace, "X"))
    assert all(type(n) is int for e in events_of(trace, "C") for n in e["args"].values())


@given(programs_with_plans())
def test_the_events_of_a_thread_follow_one_another(drawn: tuple[Program, Plan]) -> None:
    trace = chrome_trace(*drawn)
    slack = SLACK * trace["otherData"]["latency_us"]
    ends: dict[int, float] = {}
    for event in events_of(trace, "X"):
        assert event["ts"] >= ends.get(event["tid"], 0.0) - slack
        ends[event["tid"]] = event["ts"] + event["dur"]
    assert max(ends.values(), default=0.0) <= trace["otherData"]["latency_us"] + slack


@given(programs_with_plans())
def test_durations_add_up_to_the_latency(drawn: tuple[Program, Plan]) -> None:
    program, plan = drawn
    result = simulate(program, plan)
    compute = [e for e in events_of(chrome_trace(program, plan), "X") if e["tid"] == COMPUTE]
    total = sum(event["dur"] for event in compute)
    assert total == pytest.approx(result.latency_s * MICRO, rel=SLACK)
    stalled = sum(event["dur"] for event in compute if event["cat"] == "stall")
    assert stalled == pytest.approx(result.stall_s * MICRO, rel=SLACK, abs=SLACK)
    copies = sum(e["dur"] for e in events_of(chrome_trace(program, plan), "X")) - total
    served = result.timeline.segment_end_s - result.timeline.segment_start_s
    assert copies == pytest.approx(float(served.sum()) * MICRO, rel=1e-6, abs=1e-6)


@given(programs_with_plans())
def test_the_counter_shows_what_lies_in_fast_memory(drawn: tuple[Program, Plan]) -> None:
    program, plan = drawn
    starts = simulate(program, plan).timeline.start_s * MICRO
    counters = events_of(chrome_trace(program, plan), "C")
    assert counters[-1]["args"] == {"tensors": 0, "scratch": 0}
    for slot, start in enumerate(starts):
        expected = sum(
            program.groups[s.group].size_bytes for s in plan.stays if s.start <= slot < s.end
        )
        shown = [e for e in counters[:-1] if e["ts"] <= start]
        # Slots that take no time begin together: the last of them is what the counter shows.
        if slot + 1 == len(starts) or starts[slot + 1] > start:
            assert shown[-1]["args"]["tensors"] == expected

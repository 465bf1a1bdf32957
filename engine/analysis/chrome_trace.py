"""A plan's timeline as a Chrome trace, to be laid beside a profile in Perfetto.

Source: the Trace Event Format, JSON object form: complete events (`X`) with `ts` and `dur` in
microseconds, counters (`C`) and metadata (`M`). Three threads: instructions with the stalls before
them, prefetches, write-backs. The durations on the first add up to the plan's latency.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.plan.model import BEFORE_START, Plan
from engine.plan.simulate import Simulation, simulate
from engine.program.io import content_hash
from engine.program.model import Program

MICRO = 1e6
"""Microseconds in a second."""
PROCESS = 1
COMPUTE, PREFETCHES, WRITE_BACKS = 1, 2, 3
THREADS = {
    COMPUTE: "compute",
    PREFETCHES: "copies into fast memory",
    WRITE_BACKS: "copies out of fast memory",
}
Event = dict[str, Any]


def chrome_trace(program: Program, plan: Plan) -> dict[str, Any]:
    """The trace as a JSON object; `plan` must be valid for `program`."""
    result = simulate(program, plan)
    events = [
        *_names(program),
        *_instructions(program, result),
        *_copies(program, plan, result),
        *_memory(program, plan, result),
    ]
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "program": program.name,
            "program_hash": content_hash(program),
            "hardware": program.hardware.name,
            "solver": plan.solver,
            "latency_us": result.latency_s * MICRO,
        },
    }


def _names(program: Program) -> Iterator[Event]:
    yield _meta("process_name", 0, name=f"{program.name} on {program.hardware.name}, simulated")
    for thread, name in THREADS.items():
        yield _meta("thread_name", thread, name=name)
        yield _meta("thread_sort_index", thread, sort_index=thread)


def _meta(what: str, thread: int, **args: Any) -> Event:
    return {"ph": "M", "name": what, "pid": PROCESS, "tid": thread, "ts": 0, "args": args}


def _instructions(program: Program, result: Simulation) -> Iterator[Event]:
    line = result.timeline
    for slot, instruction in enumerate(program.instructions):
        stall, begin = float(line.stall_before_s[slot]), float(line.start_s[slot])
        if stall > 0:
            yield _complete("stall", "stall", COMPUTE, begin - stall, stall, slot=slot)
        duration = float(line.duration_s[slot])
        facts = {"slot": slot, "op_name": instruction.op_name}
        yield _complete(instruction.name, instruction.opcode, COMPUTE, begin, duration, **facts)
    if result.end_stall_s > 0:
        begin = result.latency_s - result.end_stall_s
        facts = {"slot": program.num_slots}
        yield _complete("stall", "stall", COMPUTE, begin, result.end_stall_s, **facts)


def _copies(program: Program, plan: Plan, result: Simulation) -> Iterator[Event]:
    line = result.timeline
    segments = zip(
        line.segment_copy.tolist(),
        line.segment_start_s.tolist(),
        line.segment_end_s.tolist(),
        strict=True,
    )
    for index, begin, end in segments:
        copy = plan.copies[index]
        group = program.groups[copy.group]
        facts = {
            "copy": index,
            "bytes": group.size_bytes,
            "from_slot": copy.start,
            "deadline": copy.deadline,
        }
        name = program.values[group.values[0]].name
        kind = "prefetch" if copy.is_prefetch else "write-back"
        thread = PREFETCHES if copy.is_prefetch else WRITE_BACKS
        yield _complete(name, kind, thread, begin, end - begin, **facts)


def _complete(
    name: str, category: str, thread: int, begin_s: float, duration_s: float, **args: Any
) -> Event:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": PROCESS,
        "tid": thread,
        "ts": begin_s * MICRO,
        "dur": duration_s * MICRO,
        "args": args,
    }


def _memory(program: Program, plan: Plan, result: Simulation) -> Iterator[Event]:
    """Bytes of the fast memory in use as a counter, wherever they change."""
    used = np.zeros(program.num_slots + 1, dtype=np.int64)
    for stay in plan.stays:
        size = program.groups[stay.group].size_bytes
        used[max(stay.start, BEFORE_START + 1)] += size
        used[min(stay.end, program.num_slots)] -= size
    before: dict[str, int] | None = None
    for slot, tensors in enumerate(np.cumsum(used[:-1]).tolist()):
        now = {"tensors": tensors, "scratch": program.instructions[slot].scratch_bytes}
        if now != before:
            yield _counter(float(result.timeline.start_s[slot]), now)
        before = now
    yield _counter(result.latency_s, {"tensors": 0, "scratch": 0})


def _counter(time_s: float, used: dict[str, int]) -> Event:
    name = "fast memory, bytes"
    return {"ph": "C", "name": name, "pid": PROCESS, "tid": 0, "ts": time_s * MICRO, "args": used}

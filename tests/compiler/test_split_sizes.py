"""Sizes of what a compile splits between two cores, and which values its copies stand for."""

from __future__ import annotations

from engine.compiler.reading.matching import Matching, with_split_sizes
from tests.program.hlo.modules import flow, imported, module

WHOLE = "f32[64,128]{1,0:T(8,128)}"
FAST = "f32[64,128]{1,0:T(8,128)S(1)}"
SPLIT = "f32[64,128]{1,0:T(8,128)S(1)SC(0:32)}"
BYTES = 64 * 128 * 4

SLOW = f"""  a = {WHOLE} parameter(0)
  b = {WHOLE} negate(a), backend_config={{"window_config":{{"estimated_cycles":"900"}}}}
  ROOT c = {WHOLE} add(a, b)"""


def prefetched(first: str, second: str) -> str:
    """The same with `a` copied to fast memory twice, once for each use."""
    return module(
        f"""  a = {WHOLE} parameter(0)
  start0 = ({first}, {WHOLE}, u32[]) copy-start(a)
  done0 = {first} copy-done(start0)
  b = {WHOLE} negate(done0)
  start1 = ({second}, {WHOLE}, u32[]) copy-start(a)
  done1 = {second} copy-done(start1)
  ROOT c = {WHOLE} add(done1, b)"""
    )


def sizes(other: str) -> dict[str, int]:
    program = with_split_sizes(imported(module(SLOW)), flow(other)).program
    return {value.name: value.size_bytes for value in program.values}


def test_what_is_split_in_fast_memory_takes_half_in_each_core() -> None:
    assert sizes(prefetched(SPLIT, SPLIT)) == {"a": BYTES // 2, "b": BYTES, "c": BYTES}


def test_what_is_whole_at_least_once_keeps_its_size() -> None:
    for first, second in ((FAST, FAST), (SPLIT, FAST), (FAST, SPLIT)):
        assert sizes(prefetched(first, second)) == {"a": BYTES, "b": BYTES, "c": BYTES}


def test_what_is_smaller_for_want_of_padding_keeps_its_size() -> None:
    bare = "f32[60,128]{1,0:S(1)}"
    slow, fast = (text.replace("64", "60") for text in (SLOW, prefetched(bare, bare)))
    program = with_split_sizes(imported(module(slow)), flow(fast)).program
    assert {value.size_bytes for value in program.values} == {BYTES}


def test_what_is_never_fast_keeps_its_size() -> None:
    assert set(sizes(module(SLOW)).values()) == {BYTES}


def test_copies_hold_the_value_that_they_serve() -> None:
    known = imported(module(SLOW))
    matching = Matching(known, flow(prefetched(FAST, FAST)))
    fast = [v for v in range(len(matching.flow.values)) if matching.is_in_fast_memory(v)]
    assert fast and {matching.group(v) for v in fast} == {known.program.values[0].group}
    assert not any(matching.is_slice(v) for v in fast)

"""Refusals and limits out of the memory pass's log, as the pinned compiler writes it."""

from __future__ import annotations

from engine.compiler.toolchain.memory_log import Refusal, parse_log

HEAD = "I1124 20:53:48.679 11045 "


def working(position: str, use: str) -> str:
    return (
        f"{HEAD}algorithm.cc:4492] Working on use: {use}, operand 0 {{2}}, allocation value: "
        f"computation = main.27, position = {position}, value = <537 copy.4>, updates allocation "
        f"value: computation = main.27, position = other, value = <1 other>"
    )


def result(text: str) -> str:
    return f"{HEAD}algorithm.cc:4545] AllocateSegment result: {text}"


def test_limits_are_the_options_of_the_pass() -> None:
    log = parse_log(
        [
            f"{HEAD}memory_space_assignment.cc:323] memory_space_assignment_options::Options:",
            f"{HEAD}memory_space_assignment.cc:324] max_size_in_bytes: 117440512",
            f"{HEAD}memory_space_assignment.cc:324] alignment_in_bytes: 4096",
            f"{HEAD}memory_space_assignment.cc:324] max_size_in_bytes: 7",
            f"{HEAD}other.cc:324] alignment_in_bytes: 8",
        ]
    )
    assert log.limits == {"max_size_in_bytes": "117440512", "alignment_in_bytes": "4096"}
    assert log.refusals == ()


def test_a_refusal_names_value_use_and_reasons() -> None:
    log = parse_log(
        [
            working("fusion.3 {1}", "fusion.9"),
            result("FailOutOfMemory | FailLiveRangeTooShort"),
            working("copy.2", "fusion.9"),
            result("FailOfTomorrow"),
        ]
    )
    assert log.refusals == (
        Refusal("fusion.3{1}", "fusion.9", "out of memory, live range too short"),
        Refusal("copy.2", "fusion.9", "FailOfTomorrow"),
    )


def test_the_last_answer_for_a_use_counts() -> None:
    first = [working("copy.2", "fusion.9"), result("FailOutOfMemory")]
    again = [working("copy.2", "fusion.9"), result("Success")]
    elsewhere = [working("copy.2", "fusion.8"), result("Success")]
    assert parse_log(first + again).refusals == ()
    assert parse_log(again + first).refusals == (Refusal("copy.2", "fusion.9", "out of memory"),)
    assert len(parse_log(first + elsewhere).refusals) == 1


def test_an_inefficient_site_is_refused_whole() -> None:
    line = (
        f"{HEAD}algorithm.cc:5908] Adding required assignment for value : <518 weights.1{{0}}> "
        "required assignment: RequiredMemoryAssignment(memory_space=def, time=42, offset=null, "
        "message=Inefficient site)"
    )
    assert parse_log([line]).refusals == (Refusal("weights.1{0}", "", "inefficient site"),)

"""Places: pairs are joined exactly if no two contents are alive together."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.program.hlo.alias import (
    FOREVER,
    LiveRegion,
    Places,
    Use,
    boundary,
    live_spans,
    write_point,
)

SPANS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda s: (s[0], s[0] + s[1])),
    min_size=1,
    max_size=12,
)


@given(SPANS, st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20))
def test_joining_agrees_with_trying_every_point(
    spans: list[tuple[int, int]], pairs: list[tuple[int, int]]
) -> None:
    places = Places([[span] for span in spans])
    groups = [{n} for n in range(len(spans))]
    for a, b in pairs:
        if max(a, b) >= len(spans):
            continue
        left, right = groups[a], groups[b]
        points = [{p for v in side for p in range(*spans[v])} for side in (left, right)]
        expected = left is right or not points[0] & points[1]
        assert places.join(a, b) == expected
        if expected and left is not right:
            left |= right
            for value in right:
                groups[value] = left
    for value in range(len(spans)):
        same = {v for v in range(len(spans)) if places.leader(v) == places.leader(value)}
        assert same == groups[value]


def test_a_reader_may_overwrite_what_it_reads_last() -> None:
    births = [(write_point(0), -1), (write_point(1), -1), (write_point(2), -1)]
    uses = [Use(0, write_point(1), -1), Use(1, write_point(2), -1)]
    spans = live_spans(births, uses, [])
    places = Places(spans)
    assert places.join(0, 1)
    assert places.join(1, 2)


def test_two_results_of_one_instruction_never_share() -> None:
    births = [(write_point(0), -1), (write_point(0), -1)]
    assert not Places(live_spans(births, [], [])).join(0, 1)


def test_a_value_from_outside_is_needed_in_every_iteration() -> None:
    loops = [LiveRegion(0, boundary(5), -1), LiveRegion(boundary(1), boundary(4), 0)]
    births = [(write_point(0), -1), (write_point(1), 0), (write_point(2), 1)]
    uses = [Use(v, write_point(3), 1) for v in range(3)]
    ends = [end for ((_, end),) in live_spans(births, uses, loops)]
    assert ends == [boundary(5), boundary(4), write_point(3)]


def test_a_branch_has_no_back_edge() -> None:
    branch = [LiveRegion(boundary(1), boundary(5), -1, 0)]
    (spans,) = live_spans([(write_point(0), -1)], [Use(0, write_point(2), 0)], branch)
    assert spans == [(write_point(0), boundary(1)), (boundary(1), write_point(2))]


BRANCHES = [
    LiveRegion(boundary(1), boundary(4), -1, 0),
    LiveRegion(boundary(4), boundary(6), -1, 0),
    LiveRegion(boundary(4), boundary(5), 1),
]


def test_what_one_branch_reads_another_may_overwrite() -> None:
    births = [(write_point(0), -1), (write_point(2), 0)]
    uses = [Use(0, write_point(2), 0), Use(0, boundary(6), 1), Use(1, boundary(4), 0)]
    spans = live_spans(births, uses, BRANCHES)
    assert spans[0] == [
        (write_point(0), boundary(1)),
        (boundary(1), write_point(2)),
        (boundary(4), boundary(6)),
    ]
    assert Places(spans).join(0, 1)
    # Not if it is needed after both, nor if a loop around them comes back to it.
    after = live_spans(births, [*uses, Use(0, write_point(7), -1)], BRANCHES)
    assert after[0] == [(write_point(0), write_point(7))]
    loop = [replace(BRANCHES[n], parent=3 if n < 2 else 1) for n in range(3)]
    around = live_spans(births, uses, [*loop, LiveRegion(boundary(1), boundary(7), -1)])
    assert around[0] == [(write_point(0), boundary(7))]


def test_a_loop_in_a_branch_needs_it_again_up_to_the_loops_end() -> None:
    births = [(write_point(0), -1)]
    (spans,) = live_spans(births, [Use(0, write_point(4), 2)], BRANCHES)
    assert spans == [(write_point(0), boundary(1)), (boundary(4), boundary(5))]


def test_what_is_kept_for_ever_is_never_overwritten() -> None:
    births = [(-1, -1), (write_point(9), -1)]
    assert not Places(live_spans(births, [Use(0, FOREVER, -1)], [])).join(0, 1)

"""Places: pairs are joined exactly if no two contents are alive together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.program.hlo.alias import FOREVER, Loop, Places, Use, boundary, live_spans, write_point

SPANS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda s: (s[0], s[0] + s[1])),
    min_size=1,
    max_size=12,
)


@given(SPANS, st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20))
def test_joining_agrees_with_trying_every_point(
    spans: list[tuple[int, int]], pairs: list[tuple[int, int]]
) -> None:
    places = Places(spans)
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
    loops = [Loop(boundary(5), -1, True), Loop(boundary(4), 0, True)]
    births = [(write_point(0), -1), (write_point(1), 0), (write_point(2), 1)]
    uses = [Use(v, write_point(3), 1) for v in range(3)]
    ends = [end for _, end in live_spans(births, uses, loops)]
    assert ends == [boundary(5), boundary(4), write_point(3)]


def test_a_branch_has_no_back_edge() -> None:
    branch = [Loop(boundary(5), -1, False)]
    spans = live_spans([(write_point(0), -1)], [Use(0, write_point(2), 0)], branch)
    assert spans == [(write_point(0), write_point(2))]


def test_what_is_kept_for_ever_is_never_overwritten() -> None:
    births = [(-1, -1), (write_point(9), -1)]
    assert not Places(live_spans(births, [Use(0, FOREVER, -1)], [])).join(0, 1)

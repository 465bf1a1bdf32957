"""The area that `benchmarks.agent_judge` tells, against counting pairs one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.agent_judge import FEWEST, area

CHILDREN = st.lists(
    st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 3)), min_size=1, max_size=60
)


@given(CHILDREN)
def test_the_area_is_the_share_of_pairs_within_a_family_that_are_put_right(
    children: list[tuple[int, bool, int]],
) -> None:
    words, better, family = map(np.array, zip(*children, strict=True))
    pairs = [
        (good > bad) + 0.5 * (good == bad)
        for good, is_good, mine in children
        for bad, is_bad, its in children
        if is_good and not is_bad and mine == its
    ]
    found = area(words.astype(np.float64), better, family.astype(np.int64))
    if better.sum() < FEWEST or not pairs:
        assert found is None
    else:
        assert found is not None and np.isclose(found, np.mean(pairs))


def test_a_word_on_the_parent_alone_says_nothing_among_siblings() -> None:
    family = np.repeat(np.arange(4), 20)
    better = np.arange(80) % 20 < family * 4
    assert area(family.astype(np.float64), better, family) == 0.5
    told = area(family.astype(np.float64), better, np.zeros_like(family))
    assert told is not None and told > 0.6

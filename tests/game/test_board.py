"""Free gaps and place rules."""

from __future__ import annotations

import pytest

from engine.game.board import OPEN, Block, choose_offset, free_gaps
from engine.game.moves import Rules

GAPS = [(2, 6), (8, 10), (12, 15)]


def block(offset: int, size: int, busy: int = 0, end: int = OPEN) -> Block:
    return Block(0, offset, size, 0, busy, end, False, -1, 9, 0, 0)


def test_gaps_lie_between_blocks_scratch_and_the_end() -> None:
    assert free_gaps([], 0, 16) == [(0, 16)]
    assert free_gaps([block(10, 2), block(6, 2)], 2, 15) == GAPS
    assert free_gaps([block(0, 16)], 3, 16) == []
    # A block that reaches into the scratch, and one that hides another.
    assert free_gaps([block(0, 5), block(6, 8), block(7, 2)], 2, 16) == [(5, 6), (14, 16)]


@pytest.mark.parametrize(
    ("rule", "size", "offset"),
    [
        ("two_ended", 1, 2),
        ("two_ended", 2, 13),
        ("two_ended", 4, 2),
        ("first_fit", 2, 2),
        ("first_fit", 4, 2),
        ("best_fit", 1, 8),
        ("best_fit", 3, 12),
        ("best_fit", 5, None),
    ],
)
def test_place_rules(rule: str, size: int, offset: int | None) -> None:
    assert choose_offset(GAPS, size, 16, rule) == offset


def test_a_live_block_is_a_ghost_past_its_busy_slot() -> None:
    assert not block(0, 1, busy=3).is_ghost(3)
    assert block(0, 1, busy=3).is_ghost(4)
    assert block(0, 1, busy=3).stands_at(4)
    ended = block(0, 1, busy=3, end=5)
    assert not ended.is_ghost(4)
    assert ended.stands_at(4)
    assert not ended.stands_at(5)


@pytest.mark.parametrize("options", [{"place": "worst"}, {"max_blocks": 0}, {"look_back": -1}])
def test_impossible_rules_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"place rule|must be positive"):
        Rules(**options)  # type: ignore[arg-type]

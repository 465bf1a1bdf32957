"""Free gaps and place rules."""

from __future__ import annotations

import pytest

from engine.game.move_list import moves
from engine.game.moves import LONG_LIFE, PLACE_RULES, Rules, goes_high
from engine.game.reference.blocks import OPEN, Block
from engine.game.reference.placement import choose_offset, free_gaps
from tests.game.tiny_programs import Buffer, program_of

GAPS = [(2, 6), (8, 10), (12, 15)]


def block(offset: int, size: int, busy: int = 0, end: int = OPEN) -> Block:
    return Block(
        group=0,
        offset=offset,
        size=size,
        start=0,
        busy=busy,
        end=end,
        is_dirty=False,
        written=0,
        level=-1,
        level_end=9,
        work_ticks=0,
        next_rank=0,
    )


def test_gaps_lie_between_blocks_scratch_and_the_end() -> None:
    assert free_gaps([], 0, 16) == [(0, 16)]
    assert free_gaps([block(10, 2), block(6, 2)], 2, 15) == GAPS
    assert free_gaps([block(0, 16)], 3, 16) == []
    # A block that reaches into the scratch, and one that hides another.
    assert free_gaps([block(0, 5), block(6, 8), block(7, 2)], 2, 16) == [(5, 6), (14, 16)]


@pytest.mark.parametrize(
    ("size", "is_high", "is_best_fit", "offset"),
    [
        (2, False, False, 2),
        (4, False, False, 2),
        (2, True, False, 13),
        (4, True, False, 2),
        (1, False, True, 8),
        (3, False, True, 12),
        (5, False, True, None),
        (5, True, False, None),
    ],
)
def test_offsets_lie_at_an_end_or_in_the_smallest_gap(
    size: int, is_high: bool, is_best_fit: bool, offset: int | None
) -> None:
    assert choose_offset(GAPS, size, is_high=is_high, is_best_fit=is_best_fit) == offset


def test_who_goes_to_the_high_end() -> None:
    # Half of the memory for a moment, and one granule for long.
    big = Buffer(32, reads={1: 1, 2: 1}, is_input=True)
    long = Buffer(1, reads={1: 1, 1 + LONG_LIFE + 1: 1}, is_input=True)
    program = program_of([1] * 9, [big, long], fast_bytes=64)
    high = {
        rule: [goes_high(Rules(place=rule), move, 64) for move in moves(program) if move.is_first]
        for rule in PLACE_RULES
    }
    assert high == {
        "long_high": [False, True],
        "two_ended": [True, False],
        "first_fit": [False, False],
        "best_fit": [False, False],
    }
    # The last reads: what is left of a long life is short.
    assert not any(goes_high(Rules(place="long_high"), m, 64) for m in moves(program)[2:])


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

"""Room for tensors of more than half the memory, under the place rule `support`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.game.moves import NEAR_TOUCH, NO_COPY, Rules
from engine.game.reference.blocks import Facts
from engine.game.reference.placement import GiantTouch, Newcomer, giant_touches, room_for_giants
from tests.game.tiny_programs import Buffer, assert_is_judged_alike, play, program_of

SMALL = Newcomer(
    group=0,
    time=5,
    rank=0,
    size=2,
    start=5,
    needed_until=9,
    lowest=2,
    capacity=20,
    is_long=False,
    is_lasting=False,
)


def room(*touches: GiantTouch, newcomer: Newcomer = SMALL) -> int:
    """What the newcomer, of group 0, leaves free above the scratch."""
    return room_for_giants(newcomer, touches)


def test_the_largest_giant_that_fits_beside_the_newcomer_counts() -> None:
    small, large = GiantTouch(6, 1, 10), GiantTouch(7, 2, 16)
    assert room() == 0
    assert room(small) == 10
    assert room(small, large) == 16
    assert room(small, large, newcomer=replace(SMALL, size=3)) == 10
    assert room(replace(large, group=0)) == 0


def test_giants_count_while_the_newcomer_is_needed_and_soon_after() -> None:
    times = range(4, 12 + NEAR_TOUCH)
    counted = [t for t in times if room(GiantTouch(t, 1, 10))]
    assert counted == list(range(5, 10 + NEAR_TOUCH))


def test_a_giant_takes_more_than_half_and_fits() -> None:
    halves = Buffer(8, writes={0: 1}, reads={1: 1})
    giant = Buffer(9, writes={2: 1}, reads={3: 1})
    never = Buffer(17, writes={4: 1}, reads={5: 1})
    program = program_of([30] * 6, [halves, giant, never], fast_bytes=16)
    assert giant_touches(Facts(program, Rules())) == (GiantTouch(2, 1, 9), GiantTouch(3, 1, 9))


@pytest.mark.parametrize(("place", "offset"), [("first_fit", 3), ("support", 14)])
def test_a_small_tensor_stays_out_of_the_middle(place: str, offset: int) -> None:
    # When `small` is made both ends are taken; one slot later the giant needs 14 of 16 granules.
    at_the_end = Buffer(1, writes={4: 1, 20: 1}, reads={6: 1, 21: 1})
    at_the_start = Buffer(2, writes={5: 1}, reads={6: 1})
    small = Buffer(1, writes={6: 1}, reads={8: 1})
    giant = Buffer(14, writes={7: 9}, reads={8: 9})
    program = program_of([30] * 22, [at_the_end, at_the_start, small, giant], fast_bytes=16)
    game = play(program, "NNNNN", Rules(place=place))
    assert game.state.live[2].offset == offset
    effect = game.effect(NO_COPY)
    if place != "support":
        assert effect.stall_ticks > 0
        return
    assert not effect.stall_ticks
    assert effect.block is not None
    assert effect.block.offset == 0
    while not game.is_over:
        game.step(NO_COPY if game.legal()[NO_COPY] else 2)
    assert_is_judged_alike(game)

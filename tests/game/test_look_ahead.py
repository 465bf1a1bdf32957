"""Place rules that look at how long newcomer and neighbours are needed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from engine.errors import ConfigError
from engine.game.jaxgame.encoding import encode
from engine.game.move_list import moves
from engine.game.moves import COPY, LOOK_AHEAD_RULES, NO_COPY, Rules
from engine.game.reference.blocks import OPEN, Block
from engine.game.reference.placement import (
    Newcomer,
    free_gaps,
    roomiest_offset,
    supported_offset,
)
from tests.game.tiny_programs import Buffer, assert_is_judged_alike, play, program_of

WALLS = Newcomer(
    group=0,
    time=0,
    rank=0,
    size=2,
    start=0,
    needed_until=9,
    lowest=2,
    capacity=20,
    is_long=False,
    is_lasting=False,
)


def standing(offset: int, size: int, until: int) -> Block:
    """A live block which is touched until that slot."""
    return Block(
        group=offset,
        offset=offset,
        size=size,
        start=0,
        busy=0,
        end=OPEN,
        is_dirty=False,
        written=0,
        level=-1,
        level_end=99,
        work_ticks=0,
        next_rank=0,
        needed_until=until,
    )


def offsets(newcomer: Newcomer, *blocks: Block) -> tuple[int | None, int | None]:
    """Where `support` and `roomy` put the newcomer among `blocks`."""
    gaps = free_gaps(blocks, newcomer.lowest, newcomer.capacity)
    return supported_offset(newcomer, blocks, gaps), roomiest_offset(newcomer, blocks, gaps)


def test_walls_and_longer_neighbours_support_alike() -> None:
    assert offsets(WALLS)[0] == 2
    assert offsets(replace(WALLS, is_long=True))[0] == 18
    # Slots 2 to 5 are taken: what is touched for longer supports, too.
    assert offsets(WALLS, standing(2, 4, 11))[0] == 6
    assert offsets(replace(WALLS, is_long=True), standing(10, 10, 9), standing(2, 2, 0))[0] == 8


def test_the_neighbour_that_misses_least_supports_best() -> None:
    low, high = standing(2, 4, 5), standing(12, 8, 7)
    assert offsets(WALLS, low, high)[0] == 10
    assert offsets(WALLS, replace(low, needed_until=7), high)[0] == 6
    # Of two blocks with one edge (at different times) the one that is needed longer counts.
    assert offsets(WALLS, low, high, standing(3, 3, 8))[0] == 6
    assert offsets(WALLS, low, high, standing(12, 1, 8), standing(4, 2, 7))[0] == 10


def test_the_widest_stretch_stays_free() -> None:
    # What ends before slot 9 leaves its place in time: the hole that counts is 6 to 20.
    assert offsets(WALLS, standing(2, 4, 9), standing(10, 2, 3))[1] == 6
    assert offsets(WALLS, standing(2, 6, 9), standing(8, 4, 3), standing(14, 6, 3))[1] == 12
    # A stretch of two beside nine that last: taking it leaves the rest whole.
    assert offsets(WALLS, standing(4, 9, 9))[1] == 2
    assert offsets(WALLS, standing(2, 9, 9), standing(13, 1, 9))[1] == 11


def test_no_gap_is_large_enough() -> None:
    assert offsets(WALLS, standing(3, 16, 0)) == (None, None)


def test_the_room_left_is_that_of_a_memory_with_the_newcomer_in_it() -> None:
    chance, moved = random.Random(5), 0
    for _ in range(300):
        blocks = [
            standing(chance.randrange(2, 19), chance.randint(1, 3), chance.randrange(12))
            for _ in range(chance.randrange(6))
        ]
        gaps = free_gaps(blocks, WALLS.lowest, WALLS.capacity)
        ends = [o for low, high in gaps if high - low >= 2 for o in (low, high - 2)]

        def room(offset: int, blocks: list[Block] = blocks) -> int:
            lasting = [b for b in blocks if b.needed_until >= 9]
            rest = free_gaps([*lasting, standing(offset, 2, 9)], WALLS.lowest, WALLS.capacity)
            return max((high - low for low, high in rest), default=0)

        most = max((room(o) for o in ends), default=0)
        expected = min((o for o in ends if room(o) == most), default=None)
        assert offsets(WALLS, *blocks)[1] == expected
        moved += expected not in (None, 2)
    assert moved > 100


def test_a_need_lasts_as_long_as_touches_are_near() -> None:
    near = Buffer(1, reads={0: 1, 8: 1, 16: 1, 25: 1}, is_input=True, is_live_out=True)
    found = moves(program_of([1] * 26, [near]))
    assert [(m.time, m.needed_until) for m in found if not m.is_sink] == [
        (0, 16),
        (8, 16),
        (16, 16),
        (25, 25),
    ]
    assert found[-1].is_sink
    assert found[-1].needed_until == 26


@pytest.mark.parametrize("place", ["first_fit", *LOOK_AHEAD_RULES])
def test_a_ghost_that_cannot_be_saved_turns_a_look_ahead_elsewhere(place: str) -> None:
    # a and b are dirty ghosts when n is made; b, in the lower half, was written right before.
    early = Buffer(8, writes={0: 1}, reads={1: 1})
    a = Buffer(8, writes={1: 1}, reads={6: 1})
    b = Buffer(8, writes={3: 1}, reads={6: 1})
    n = Buffer(8, writes={4: 9}, reads={5: 9})
    game = play(program_of([30] * 7, [early, a, b, n]), "NNNN", Rules(place=place))
    assert [game.state.live[g].offset for g in (1, 2)] == [8, 0]
    effect = game.effect(NO_COPY)
    if place == "first_fit":
        assert [g.group for g in effect.displaced] == [2]
        assert effect.stall_ticks > 0
        return
    assert effect.block is not None
    assert (effect.block.offset, [g.group for g in effect.displaced]) == (8, [1])
    while not game.is_over:
        game.step(next(x for x in (NO_COPY, COPY, 2) if game.legal()[x]))
    assert_is_judged_alike(game)


@pytest.mark.parametrize("place", LOOK_AHEAD_RULES)
def test_the_jax_game_refuses_what_it_cannot_play(place: str) -> None:
    program = program_of([1, 1], [Buffer(1, reads={0: 1}, is_input=True)])
    with pytest.raises(ConfigError, match=f"place rule '{place}' belongs to the plain-Python"):
        encode(program, Rules(place=place))

"""Games in which instructions start what goes on after them: places last until it is done."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from engine.game.moves import COPY, DROP, NO_COPY, PLACE_RULES, Rules
from engine.game.reference.game import ReferenceGame
from engine.plan.check import check
from engine.program.model import Program, Region
from tests.plan.byte_model import ByteModel
from tests.plan.cases import Buffer, program_of
from tests.strategies import random_program


def play_at_random(game: ReferenceGame, chance: random.Random) -> None:
    """Any legal action, those that place something more often."""
    while not game.is_over:
        legal = game.legal_actions()
        placing = [action for action in legal if action != DROP]
        game.step(chance.choice(placing if placing and chance.random() < 0.7 else legal))


@pytest.mark.parametrize("seed", range(40))
def test_plans_of_random_games_can_be_carried_out(seed: int) -> None:
    program = random_program(seed, 40, loops=seed % 3 != 0)
    rules = Rules(place=PLACE_RULES[seed % len(PLACE_RULES)], max_blocks=8 if seed % 2 else 96)
    game = ReferenceGame(program, rules)
    play_at_random(game, random.Random(seed))
    plan = game.plan("random")
    assert check(program, plan) is None
    assert ByteModel(program, plan).run() == []


def played(program: Program, *actions: int) -> ReferenceGame:
    game = ReferenceGame(program)
    for action in actions:
        game.step(action)
    return game


def test_a_block_is_no_ghost_while_its_content_is_read() -> None:
    # Both are larger than half of what there is: the second finds no place while the first is read.
    program = program_of([Buffer(768, "w1 r2+3 r8"), Buffer(768, "w3 r7"), Buffer(768, "w6 r7")])
    game = played(program, NO_COPY, NO_COPY)
    assert game.state.live[0].busy == 5
    assert not game.legal()[NO_COPY], "slot 3 is within the flight"
    game.step(DROP)
    assert game.legal()[NO_COPY], "slot 6 is after it"


def test_a_reader_within_the_flight_finds_it_in_its_place() -> None:
    program = program_of([Buffer(256, "w1 r2+5 r4")])
    game = played(program, NO_COPY, NO_COPY)
    assert game.legal() == (False, True, False, False, False)


def test_what_is_written_in_flight_is_written_back_afterwards() -> None:
    program = program_of([Buffer(256, "w1+3 r8", is_live_out=True)], fast_s=100.0)
    game = played(program, NO_COPY)
    while not game.is_over:
        game.step(game.nearest(NO_COPY))
    (write_back,) = game.records.copies
    assert write_back.start == 5
    assert check(program, game.plan("x")) is None


def test_what_is_written_slow_in_flight_is_copied_in_afterwards() -> None:
    program = program_of([Buffer(1024, "w1+4 r8")], fast_s=100.0)
    game = played(program, DROP)
    game.step(COPY)
    (copy,) = game.records.copies
    assert copy.start == 6
    assert check(program, game.plan("x")) is None


def test_a_flight_in_a_loop_is_no_reason_to_leave_it() -> None:
    """A Copy of a resident makes room in a loop, not in a flight."""
    loop = Region("body", 2, 8, 3.0)
    program = program_of([Buffer(256, "w1 r3+2 r6")], regions=[loop])
    inside = program_of([Buffer(256, "w2 r3+2 r6")], regions=[loop])
    assert played(program, NO_COPY).legal()[COPY]
    assert not played(inside, NO_COPY).legal()[COPY]


def test_groups_whose_slow_touch_lies_within_a_flight_are_no_moves() -> None:
    program = program_of([Buffer(256, "w1 r2+4 r4 r8")])
    assert len(ReferenceGame(program).moves) == 4
    accesses = tuple(
        replace(a, saving_s=0.0, must_be_slow=True) if a.time == 4 else a for a in program.accesses
    )
    assert not ReferenceGame(replace(program, accesses=accesses)).moves

"""The list of moves and its integers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given

from engine.game.jaxgame.encoding import encode
from engine.game.move_list import moves
from engine.game.moves import COPY, PlannedPlaces, Rules, table_rows
from engine.game.notes import planned_of
from engine.game.quantise import TICKS, quantise
from engine.game.reference.blocks import outermost_entered, slots_of_level
from engine.game.reference.game import ReferenceGame
from engine.plan.check import check
from engine.program import library
from engine.program.model import Program, Region
from tests.game.tiny_programs import Buffer, program_of
from tests.strategies import programs, random_program
from tests.synthetic import lines_run, shared

NEST = [Region("outer", 1, 6, 2.0), Region("inner", 2, 6, 6.0, 0)]


def test_sinks_come_before_the_touches_of_their_slot_inner_regions_first() -> None:
    carried = Buffer(4, reads={2: 1, 6: 1}, writes={3: 1}, is_input=True, is_live_out=True)
    found = moves(program_of([1] * 7, [carried], regions=NEST))
    assert [(m.time, m.is_sink, m.region) for m in found] == [
        (2, False, -1),
        (3, False, -1),
        (6, True, 1),
        (6, True, 0),
        (6, False, -1),
        (7, True, -1),
    ]
    assert [m.is_first for m in found] == [True] + [False] * 5
    assert [m.is_last for m in found] == [False] * 5 + [True]
    assert [m.next_time for m in found] == [3, 6, 6, 6, 8, 8]


def test_a_weight_that_all_read_makes_as_much_work_per_read_as_one_that_few_do() -> None:
    few, many = shared(100), shared(400)
    assert lines_run(lambda: moves(many)) < 5 * lines_run(lambda: moves(few))


def test_regions_of_one_interval_end_from_the_inside_out() -> None:
    twins = [Region("outer", 1, 3, 2.0), Region("inner", 1, 3, 6.0, 0)]
    carried = Buffer(4, reads={1: 1}, writes={2: 1}, is_input=True)
    found = moves(program_of([1] * 4, [carried], regions=twins))
    assert [m.region for m in found if m.is_sink] == [1, 0]


def test_only_groups_that_save_something_and_may_be_fast_have_moves() -> None:
    saves, idle = Buffer(4, writes={0: 0}, reads={1: 1}), Buffer(4, writes={0: 0}, reads={1: 0})
    big = Buffer(99, writes={0: 5}, reads={1: 5})
    program = program_of([1, 1], [saves, idle, big])
    assert [m.group for m in moves(program)] == [0, 0]
    assert quantise(program).is_movable == (True, False, False)


def test_touches_that_are_always_slow_count_in_every_slot() -> None:
    # all slow: 7 + 8 + 1 = 16 seconds, so that a second has 2^26 ticks.
    big = Buffer(99, writes={0: 8}, slow_bytes=5)
    numbers = quantise(program_of([4, 3], [big, Buffer(4, writes={1: 1}, slow_bytes=3)]))
    second = TICKS // 16
    assert numbers.base_ticks == (12 * second, 3 * second)
    assert numbers.base_draw == (5 * second, 0)
    assert numbers.idle(0) == 7 * second
    assert numbers.idle(1, second, 2 * second) == 2 * second
    assert numbers.idle(0, second, 9 * second) == 0


def test_a_floor_is_what_a_slot_lasts_at_least() -> None:
    # all slow: 4 + 8 + 4 = 16 seconds; fast, the sum would be 4, but the floor is 6.
    program = program_of([4], [Buffer(4, writes={0: 8}, slow_bytes=3), Buffer(4, writes={0: 4})])
    (instruction,) = program.instructions
    program = replace(program, instructions=(replace(instruction, floor_s=6.0),))
    numbers, second = quantise(program), TICKS // 16
    assert numbers.floor_ticks == (6 * second,)
    assert (numbers.spare_s, numbers.spare_ticks) == ((10.0,), (10 * second,))
    assert numbers.idle(0) == 6 * second
    assert numbers.idle(0, 4 * second, 0) == 8 * second
    unbound = replace(program, instructions=(replace(instruction, floor_s=4.0),))
    assert quantise(unbound).spare_s == (math.inf,)
    assert quantise(unbound).spare_ticks == (12 * second,)


def test_roundings_are_on_the_safe_side() -> None:
    program = program_of([1, 1, 1], [Buffer(5, reads={1: 0.1}, is_input=True)])
    program = replace(program, hardware=replace(program.hardware, alignment=4))
    numbers = quantise(program)
    assert numbers.size_granules == (2,)
    assert numbers.fast_granules == 4
    (move,) = moves(program)
    assert move.saving_ticks * numbers.tick_s <= 0.1 < (move.saving_ticks + 1) * numbers.tick_s
    assert (move.work_ticks - 1) * numbers.tick_s < 5


def test_copies_in_loops_count_every_iteration() -> None:
    inside = Buffer(1, reads={3: 1}, is_input=True)
    outside = Buffer(1, reads={6: 1}, is_input=True)
    first, second = moves(program_of([3] * 8, [inside, outside], regions=NEST))
    assert first.work_ticks == pytest.approx(6 * second.work_ticks, rel=1e-6)


def test_ranks_order_savings_per_granule() -> None:
    buffers = [Buffer(s, reads={1: v}, is_input=True) for s, v in [(2, 4), (4, 4), (1, 2), (1, 9)]]
    ranks = [m.rank for m in moves(program_of([1, 1], buffers))]
    assert ranks[0] == ranks[2]
    assert ranks[1] < ranks[0] < ranks[3]


def test_scratch_ahead_reaches_to_the_last_need_in_the_level() -> None:
    reserved = {1: 1, 3: 3, 5: 5, 7: 7}
    outside = Buffer(1, writes={0: 1}, reads={3: 1})
    inside = Buffer(1, writes={2: 1}, reads={4: 1, 7: 1})
    found = moves(program_of([1] * 8, [outside, inside], regions=NEST, reserved=reserved))
    # From slot 0, a read in the loops asks for the whole outer loop; from slot 2, the inner one.
    assert [(m.time, m.life_end, m.reserved_ahead) for m in found if m.writes] == [
        (0, 6, 5),
        (2, 6, 5),
    ]


def test_slow_memory_holds_inputs_first_and_what_is_never_written_once_defined() -> None:
    read = Buffer(4, reads={3: 1}, is_input=True)
    program = program_of([1] * 4, [read, read, Buffer(4, writes={1: 1})])
    defined_late = replace(program.values[1], defined=1)
    program = replace(program, values=(program.values[0], defined_late, program.values[2]))
    assert quantise(program).valid_from == (0, 2, 5)


def test_outermost_entered_region() -> None:
    program = program_of([1] * 7, [Buffer(1, reads={0: 1}, is_input=True)], regions=NEST)
    assert outermost_entered(program, 0, 3) == 0
    assert outermost_entered(program, 1, 3) == 1
    assert outermost_entered(program, 2, 3) == -1
    assert outermost_entered(program, 0, 6) == -1
    assert slots_of_level(quantise(program)) == {-1: (0, 6, 7), 0: (1,), 1: (2, 3, 4, 5)}


@given(programs())
def test_integers_never_promise_more_idle_time_than_there_is(program: Program) -> None:
    if program.all_slow_s == 0:
        return
    numbers = quantise(program)
    drawn = [0.0] * program.num_slots
    lasts = [i.fast_s for i in program.instructions]
    slow_ticks, slow_draw = [0] * program.num_slots, [0] * program.num_slots
    for move in moves(program):
        if not move.is_sink:
            slow_ticks[move.time] += move.saving_ticks
            slow_draw[move.time] += move.draw_ticks
    for touch in program.touches:
        lasts[touch.time] += touch.saving_s
        drawn[touch.time] += touch.slow_bytes / program.hardware.bandwidth
    for slot in range(program.num_slots):
        real = max(0.0, lasts[slot] - drawn[slot])
        promised = numbers.idle(slot, slow_ticks[slot], slow_draw[slot]) * numbers.tick_s
        touches = sum(t.time == slot for t in program.touches)
        assert promised <= real + 1e-9 * lasts[slot]
        assert real - promised <= (2 * touches + 2) * numbers.tick_s


def test_every_touch_of_a_movable_group_is_one_move() -> None:
    for seed in range(20):
        program = random_program(seed, 30)
        numbers = quantise(program)
        touches = [m.touch for m in moves(program) if not m.is_sink]
        expected = [i for i, t in enumerate(program.touches) if numbers.is_movable[t.group]]
        assert touches == expected
        times = [m.time for m in moves(program)]
        assert times == sorted(times)


def test_options_that_make_no_game_are_refused_in_words() -> None:
    assert Rules(max_blocks=1, look_back=0).look_back == 0
    sizes = r"^max_blocks must be positive and look_back not negative$"
    for options in ({"max_blocks": 0}, {"look_back": -1}):
        with pytest.raises(ValueError, match=sizes):
            Rules(**options)
    with pytest.raises(ValueError, match=r"^place rule 'low' is none of long_high, two_ended, "):
        Rules(place="low")


def test_what_is_not_planned_is_planned_since_before_the_first_slot() -> None:
    groups = [Buffer(4, reads={2: 4}, is_input=True), Buffer(4, reads={2: 4}, is_input=True)]
    planned = PlannedPlaces(Rules(planned=((0, -7, 3),)), 16)
    found = moves(program_of([5] * 3, groups))
    assert [planned.since(move) for move in found] == [-1, -1]
    assert [planned.offset(move) for move in found] == [3, None]


@pytest.mark.parametrize(("in_use", "rows"), [(96, 96), (97, 192)])
def test_a_program_with_much_in_use_at_once_has_a_longer_table(in_use: int, rows: int) -> None:
    # One more is used after all others.
    used = [Buffer(1, writes={0: 1}, reads={1: 1}) for _ in range(in_use)]
    later = Buffer(1, writes={2: 1}, reads={3: 1})
    some = moves(program_of([5] * 4, [*used, later]))
    assert table_rows(Rules(), some) == rows
    assert table_rows(Rules(max_blocks=7), some) == 7


@pytest.mark.parametrize(
    "noted",
    [
        [[0, 0, 10**400]],
        [[0, 10**400, 0]],
        [[0, -5, -7], [-1, -1, -1]],
        [[0, 0, 1], [0, 0, 2], [0, 0, 1]],
        [[10**9, 0, 0]],
    ],
)
def test_any_whole_numbers_may_be_planned(noted: list[list[int]]) -> None:
    """Notes come from anywhere: what makes no sense is no place that a group can have."""
    program = library.load_sample("teach-prefetch")
    rules = Rules(planned=planned_of(noted))
    assert rules.planned
    game = ReferenceGame(program, rules)
    while not game.is_over:
        game.step(game.nearest(COPY))
    assert check(program, game.plan("any")) is None
    encode(program, rules)


@pytest.mark.parametrize("noted", [[[True, 0, 1]], [[0, 0, 1.0]], [[0, 0]], {"a": 1}, None, [1]])
def test_what_is_no_list_of_triples_is_no_planned_place(noted: object) -> None:
    assert planned_of(noted) == ()

"""Situations of a few slots, with legal actions, places, copies and rewards computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.game.drop_backup import drop_backup
from engine.game.moves import COPY, DROP, NO_COPY, NO_COPY_OTHER, PLACE_RULES, Rules
from engine.game.reference.blocks import Reason, Refusal
from engine.game.reference.explain import explain
from engine.game.reference.game import ReferenceGame
from engine.game.reference.placement import bar_of_planned_place
from engine.plan.check import check
from engine.plan.model import Copy, Stay
from engine.program.model import Region
from tests.game.tiny_programs import (
    TWO_ENDED,
    Buffer,
    assert_is_judged_alike,
    mask,
    play,
    program_of,
)

LOOP = Region("while", 1, 3, 4.0)


def test_a_write_is_kept_for_its_read() -> None:
    # all slow: 5 + 5 + 3 + 3 = 16 seconds
    program = program_of([5, 5], [Buffer(4, writes={0: 3}, reads={1: 3})])
    game = play(program, "")
    assert mask(game) == "ND"
    assert game.step(NO_COPY) == pytest.approx(3 / 16)
    # Dropping the read needs a write-back in slots [1, 1): four seconds, all of them a stall.
    assert mask(game) == "ND"
    assert game.effect(DROP).stall_ticks * 16 / 2**30 == pytest.approx(4)
    assert game.step(NO_COPY) == pytest.approx(3 / 16)
    # 4 of 16 bytes are 1/8 or more: high end.
    assert game.plan("x").stays == (Stay(0, 12, 0, 2),)
    assert game.plan("x").is_fast == (True, True)
    assert_is_judged_alike(game)


def test_a_dirty_group_is_written_back_when_its_read_is_dropped() -> None:
    program = program_of([5, 5, 5], [Buffer(4, writes={0: 3}, reads={2: 3})])
    game = play(program, "N")
    assert mask(game) == "ND"
    assert game.step(DROP) == 0
    plan = game.plan("x")
    assert plan.stays == (Stay(0, 12, 0, 2),)
    assert plan.copies == (Copy(0, False, 1, 2),)
    assert_is_judged_alike(game)


def test_a_dirty_group_that_is_overwritten_needs_no_write_back() -> None:
    program = program_of([5, 5], [Buffer(4, writes={0: 3, 1: 3})])
    game = play(program, "N")
    assert mask(game) == "ND"
    game.step(DROP)
    assert game.plan("x").copies == ()
    assert game.plan("x").stays == (Stay(0, 12, 0, 1),)
    assert_is_judged_alike(game)


def test_a_prefetch_starts_as_late_as_it_can() -> None:
    # all slow: 15 + 4 seconds; slot 1 alone has 5 idle seconds for 4 bytes.
    program = program_of([5, 5, 5], [Buffer(4, reads={2: 4}, is_input=True)])
    game = play(program, "")
    assert mask(game) == "CD"
    assert game.step(COPY) == pytest.approx(4 / 19)
    assert game.state.ledger.left[0] * 19 / 2**30 == pytest.approx(5)
    assert game.state.ledger.left[1] * 19 / 2**30 == pytest.approx(1)
    assert game.plan("x").stays == (Stay(0, 12, 1, 3),)
    assert game.plan("x").copies == (Copy(0, True, 1, 2),)
    assert_is_judged_alike(game)


@pytest.mark.parametrize(("since", "start"), [(0, 0), (1, 1), (2, 1), (-1, 0)])
def test_a_prefetch_to_its_planned_place_starts_as_soon_as_that_is_planned(
    since: int, start: int
) -> None:
    # Slots 0 and 1 have 5 idle seconds each for 4 bytes; from slot 2 on compute would wait.
    program = program_of([5, 5, 5], [Buffer(4, reads={2: 4}, is_input=True)])
    game = play(program, "", replace(TWO_ENDED, planned=((0, since, 3),)))
    game.step(COPY)
    assert game.plan("x").stays == (Stay(0, 3, start, 3),)
    assert game.plan("x").copies == (Copy(0, True, start, 2),)
    assert game.total_reward == pytest.approx(4 / 19)
    assert_is_judged_alike(game)


def test_what_bars_a_planned_place_names_the_slots_wanted() -> None:
    program = program_of([5, 5, 5], [Buffer(4, reads={2: 4}, is_input=True)])
    game = play(program, "", replace(TWO_ENDED, planned=((0, 0, 13),)))
    barred = Refusal(Reason.NO_PLACE, start=1, end=3)
    assert bar_of_planned_place(game.state, game.move, 1, 3) == barred
    assert game.effect(COPY).block.offset == 12, "where the place rule says instead"


def test_a_prefetch_comes_later_where_its_planned_place_is_not_free() -> None:
    a = Buffer(4, writes={0: 3}, reads={1: 3})
    b = Buffer(4, reads={4: 4}, is_input=True)
    program = program_of([5] * 5, [a, b])
    game = play(program, "NN", replace(TWO_ENDED, planned=((0, 0, 3), (1, 0, 5))))
    game.step(COPY)
    assert game.plan("x").stays == (Stay(0, 3, 0, 2), Stay(1, 5, 2, 5))
    assert_is_judged_alike(game)


def test_slow_accesses_draw_from_the_idle_time() -> None:
    # Slot 1 lasts 5 + 2 seconds when b is slow, 6 of which b draws: 1 is left, slot 0 is needed.
    a = Buffer(4, reads={2: 4}, is_input=True)
    b = Buffer(6, reads={1: 2}, is_input=True, slow_bytes=6)
    game = play(program_of([5, 5, 5], [a, b]), "D")
    assert game.effect(COPY).bookings[0].start == 0
    game.step(COPY)
    assert_is_judged_alike(game)


def test_what_has_started_shares_a_wait_for_the_other_direction() -> None:
    # all slow: 7 + 4 + 6 = 17 seconds; two idle seconds for a copy of four.
    a = Buffer(4, reads={2: 4}, is_input=True)
    b = Buffer(4, reads={2: 6}, is_input=True)
    game = play(program_of([1, 1, 5], [a, b]), "")
    assert game.step(COPY) == pytest.approx((4 - 2) / 17)
    # A write-back that has started is served while compute waits, which then waits longer.
    served = game.state.ledger.run(0, 3, game.move.work_ticks, is_prefetch=False)
    (wait,) = served.shares
    assert wait.slot == 2 and wait.ticks * 17 / 2**30 == pytest.approx(2)
    assert game.step(COPY) == pytest.approx((6 - 4) / 17)
    assert game.plan("x").copies == (Copy(0, True, 0, 2), Copy(1, True, 0, 2))
    assert_is_judged_alike(game)


def test_copies_look_back_only_so_far() -> None:
    program = program_of([9, 1, 5], [Buffer(4, reads={2: 4}, is_input=True)])
    game = play(program, "", replace(TWO_ENDED, look_back=1))
    effect = game.effect(COPY)
    assert effect.bookings[0].start == 1
    assert effect.stall_ticks * 19 / 2**30 == pytest.approx(3)


def test_a_clean_ghost_is_taken_only_if_nothing_else_is_free() -> None:
    a = Buffer(10, reads={1: 9, 5: 9}, is_input=True)
    b = Buffer(10, reads={3: 1}, is_input=True)
    roomy = play(program_of([30] * 6, [a, b], fast_bytes=32), "C")
    assert roomy.effect(COPY).displaced == ()
    assert roomy.effect(COPY).block.offset == 12
    tight = play(program_of([30] * 6, [a, b]), "C")
    effect = tight.effect(COPY)
    assert [(g.group, g.end) for g in effect.displaced] == [(0, 2)]
    assert effect.bookings[:-1] == ()
    tight.step(COPY)
    assert mask(tight) == "CD"
    tight.step(COPY)
    assert tight.plan("x").stays == (Stay(0, 6, 0, 2), Stay(1, 6, 2, 4), Stay(0, 6, 4, 6))
    assert_is_judged_alike(tight)


def test_ghosts_of_less_saving_per_byte_are_taken_first() -> None:
    # Ghosts: a in [10, 16) with 9 seconds to come, c in [4, 10) with 3; b brings 6.
    a = Buffer(6, reads={1: 1, 6: 9}, is_input=True)
    c = Buffer(6, reads={2: 1, 7: 3}, is_input=True)
    b = Buffer(6, reads={4: 6}, is_input=True)
    game = play(program_of([30] * 8, [a, c, b]), "CC")
    effect = game.effect(COPY)
    assert [g.group for g in effect.displaced] == [1]
    assert effect.block.offset == 4
    for letter in "CNC":
        game.step("CND".index(letter))
    assert_is_judged_alike(game)


def test_a_dirty_ghost_is_written_back_before_it_is_taken() -> None:
    a = Buffer(10, writes={0: 9}, reads={5: 9})
    b = Buffer(10, reads={3: 9}, is_input=True)
    game = play(program_of([30] * 6, [a, b]), "N")
    effect = game.effect(COPY)
    assert [(w.group, w.is_prefetch, w.start, w.deadline) for w in effect.bookings] == [
        (0, False, 1, 2),
        (1, True, 2, 3),
    ]
    game.step(COPY)
    assert game.state.valid_from[0] == 2
    game.step(COPY)
    assert game.plan("x").stays == (Stay(0, 6, 0, 2), Stay(1, 6, 2, 4), Stay(0, 6, 4, 6))
    assert_is_judged_alike(game)


def test_a_dirty_ghost_that_cannot_be_saved_in_time_is_awaited() -> None:
    a = Buffer(10, writes={0: 9}, reads={4: 9})
    b = Buffer(10, reads={3: 9}, is_input=True)
    game = play(program_of([30, 2, 30, 30, 30], [a, b]), "N")
    # Ten seconds of write-back, two of them idle, before the copy starts in slot 2.
    assert mask(game) == "CD"
    effect = game.effect(COPY)
    assert [(b.group, b.start, b.deadline) for b in effect.bookings] == [(0, 1, 2), (1, 2, 3)]
    assert effect.stall_ticks == effect.bookings[0].stall_ticks
    while not game.is_over:
        game.step(game.legal().index(True))
    assert_is_judged_alike(game)


def test_a_stay_from_before_a_loop_covers_it() -> None:
    # a: read before the loop, read and written in it, read after it.
    a = Buffer(4, reads={0: 1, 1: 8, 3: 1}, writes={2: 8}, is_input=True)
    game = play(program_of([5, 20, 20, 5], [a], regions=[LOOP]), "C")
    # Unless it leaves, and is copied in anew in every iteration.
    assert mask(game) == "CND"
    game.step(NO_COPY)
    assert game.state.live[0].busy == 2
    assert mask(game) == "N"
    game.step(NO_COPY)
    # The sink at the end of the loop asks nothing of it.
    assert game.move.is_sink
    assert mask(game) == "D"
    assert game.step(DROP) == 0
    assert mask(game) == "ND"
    game.step(NO_COPY)
    assert game.plan("x").stays == (Stay(0, 12, 0, 4),)
    assert_is_judged_alike(game)


def test_a_stay_from_inside_a_loop_is_saved_at_its_end_every_time() -> None:
    # Slot 0 has too little time to copy before the loop.
    a = Buffer(4, reads={0: 1, 1: 8, 3: 1}, writes={2: 8}, is_input=True)
    program = program_of([1, 20, 20, 5], [a], regions=[LOOP])
    assert program.all_slow_s == 64
    game = play(program, "D")
    # Four iterations copy four bytes each; nothing in the loop is before slot 1.
    assert game.step(COPY) == pytest.approx((8 - 16) / 64)
    assert game.step(NO_COPY) == pytest.approx(8 / 64)
    assert game.step(DROP) == pytest.approx(-16 / 64)
    assert mask(game) == "CD"
    game.step(DROP)
    assert game.plan("x").stays == (Stay(0, 12, 1, 3),)
    assert game.plan("x").copies == (Copy(0, True, 1, 1), Copy(0, False, 3, 3))
    assert_is_judged_alike(game)


def test_a_copy_is_taken_out_of_a_loop_if_it_fits_before() -> None:
    a = Buffer(4, reads={0: 1, 1: 8, 3: 1}, writes={2: 8}, is_input=True)
    game = play(
        program_of([5, 20, 20, 5], [a], fast_bytes=64, regions=[LOOP], reserved={3: 8}), "D"
    )
    # Once, in slot 0, and clear of the scratch that comes after the loop.
    assert game.step(NO_COPY) == pytest.approx(8 / 68)
    assert (game.state.live[0].busy, game.state.live[0].level, game.state.live[0].offset) == (
        2,
        -1,
        8,
    )
    assert mask(game) == "N"
    assert game.step(NO_COPY) == pytest.approx(8 / 68)
    assert game.step(DROP) == 0
    game.step(NO_COPY)
    assert game.plan("x").stays == (Stay(0, 8, 0, 4),)
    assert game.plan("x").copies == (Copy(0, True, 0, 1),)
    assert_is_judged_alike(game)


def test_a_copy_is_taken_out_of_the_outermost_loop_in_which_its_group_is_new() -> None:
    nest = [Region("outer", 1, 6, 2.0), Region("inner", 2, 5, 6.0, 0)]
    fresh = Buffer(2, reads={3: 8}, is_input=True)
    known = Buffer(2, reads={1: 1, 3: 8}, is_input=True)
    game = play(program_of([9] * 7, [fresh, known], regions=nest), "DNN")
    assert [(b.group, b.deadline) for b in game.records.copies] == [(0, 1), (1, 2)]
    assert_is_judged_alike(game)


def branches(*spans: tuple[int, int], parent: int = -1) -> list[Region]:
    """The regions of a conditional with these branches."""
    share = 1 / len(spans)
    return [
        Region(f"c{spans[0][0]}[{number}]", *span, share, parent, "branch", False)
        for number, span in enumerate(spans)
    ]


def test_a_branch_keeps_in_place_what_another_one_has_made_there() -> None:
    made = Buffer(4, writes={0: 2, 1: 2, 2: 2}, reads={3: 2})
    game = play(program_of([5] * 5, [made], regions=branches((1, 2), (2, 3))), "NND")
    # Only one of the two branches runs: the place holds what either wrote.
    assert mask(game) == "N"
    assert game.effect(DROP).refusal == Refusal(Reason.OTHER_BRANCH)
    assert "Another branch" in explain(game, DROP).reason


IN_A_BRANCH = [
    *branches((1, 2), (2, 6)),
    *(replace(r, multiplicity=0.25) for r in branches((2, 3), (3, 5), parent=1)),
]


@pytest.mark.parametrize(
    ("regions", "is_input"),
    [
        (branches((1, 2), (2, 3)), False),
        (branches((1, 2), (2, 3)), True),
        (branches((1, 2), (2, 4)), False),
        (branches((1, 3), (3, 4)), False),
        (branches((1, 2), (2, 3), (3, 4)), False),
        (branches((1, 2), (2, 3))[:1], False),
        (IN_A_BRANCH, False),
        ([Region("w", 1, 3, 4.0, is_trip_count_known=False)], False),
    ],
)
def test_every_game_of_a_conditional_is_a_valid_plan(regions: list[Region], is_input: bool) -> None:
    """What is made before it is overwritten in its branches, and read after it."""
    end = max(region.end for region in regions)
    writes = dict.fromkeys(range(int(is_input), end), 2.0)
    made = Buffer(4, writes=writes, reads={end: 2}, is_input=is_input)
    games = [ReferenceGame(program_of([5] * (end + 1), [made], regions=regions))]
    while games:
        game = games.pop()
        if game.is_over:
            assert check(game.program, game.plan("x")) is None, game.actions
        else:
            assert game.legal_actions()
        for action in game.legal_actions():
            games.append(game.clone())
            games[-1].step(action)


def test_content_from_before_a_loop_is_saved_before_it() -> None:
    a = Buffer(4, writes={0: 1}, reads={3: 8})
    loop = Region("while", 3, 5, 4.0)
    game = play(program_of([5, 9, 1, 9, 9], [a], regions=[loop]), "N")
    assert mask(game) == "CND"
    game.step(DROP)
    assert game.plan("x").copies == (Copy(0, False, 1, 2),)
    assert game.plan("x").stays == (Stay(0, 12, 0, 2),)
    assert_is_judged_alike(game)
    # Without enough idle time before the loop, compute waits where it begins.
    game = play(program_of([5, 1, 1, 9, 9], [a], regions=[loop]), "ND")
    assert game.plan("x").copies == (Copy(0, False, 1, 3),)
    assert_is_judged_alike(game)


def test_no_one_waits_where_copies_are_under_way() -> None:
    # The last slot outside of the loops is 1, so a has to be saved before slot 2; b's copy goes on.
    a = Buffer(4, writes={0: 1}, reads={4: 8})
    b = Buffer(4, reads={3: 8}, is_input=True)
    loops = [Region("while", 2, 3, 4.0), Region("while", 3, 5, 4.0)]
    game = play(program_of([5, 1, 99, 99, 99], [a, b], regions=loops), "NN")
    assert game.state.ledger.settled == 3
    assert mask(game) == "N"
    assert game.effect(DROP).refusal.reason is Reason.NO_TIME


def test_compute_may_wait_where_the_loop_begins_though_copies_in_it_have_begun() -> None:
    a = Buffer(4, writes={0: 1}, reads={4: 8})
    b = Buffer(4, reads={3: 8}, is_input=True)
    loop = Region("while", 2, 5, 4.0)
    game = play(program_of([5, 1, 99, 99, 99], [a, b], regions=[loop]), "NC")
    assert game.state.ledger.settled == 3
    (saved,) = game.effect(DROP).bookings
    assert (saved.start, saved.deadline) == (1, 2)
    assert saved.stall_ticks > 0
    game.step(DROP)
    assert_is_judged_alike(game)


def test_a_copy_that_finds_no_place_starts_later_and_stalls() -> None:
    a = Buffer(10, writes={0: 1}, reads={2: 1})
    b = Buffer(10, reads={3: 30}, is_input=True)
    game = play(program_of([9, 9, 5, 9], [a, b]), "NN")
    effect = game.effect(COPY)
    # Ten seconds would be hidden from slot 1 on, but a stands to the end of slot 2.
    assert [(c.start, c.deadline) for c in effect.bookings] == [(3, 3)]
    game.step(COPY)
    assert_is_judged_alike(game)


def test_a_resident_leaves_the_loop_to_others_and_is_copied_in_again() -> None:
    a = Buffer(4, reads={0: 1, 1: 8}, is_input=True)
    game = play(program_of([5, 20, 20, 5], [a], regions=[LOOP]), "CC")
    assert [(s.start, s.end) for s in game.plan("x").stays] == [(0, 1), (1, 2)]
    assert [(c.start, c.deadline) for c in game.plan("x").copies] == [(0, 0), (1, 1)]
    assert_is_judged_alike(game)


def test_the_previous_run_may_leave_one_input_in_place() -> None:
    a = Buffer(4, reads={0: 3, 3: 3}, is_input=True)
    b = Buffer(4, reads={1: 3}, is_input=True)
    written = Buffer(4, reads={2: 3}, writes={2: 0}, is_input=True)
    game = play(program_of([5] * 4, [a, b, written], max_inputs=1), "")
    assert mask(game) == "CND"
    game.step(NO_COPY)
    assert mask(game) == "CD"
    assert game.effect(NO_COPY).refusal.reason is Reason.INPUTS_TAKEN
    game.step(DROP)
    assert game.effect(NO_COPY).refusal.reason is Reason.NOT_THERE
    game.step(DROP)
    assert mask(game) == "ND"
    game.step(NO_COPY)
    assert game.plan("x").stays == (Stay(0, 12, -1, 4),)
    assert game.plan("x").copies == ()
    assert_is_judged_alike(game)


@pytest.mark.parametrize(("last_s", "stall_s"), [(5, 0), (1, 3)])
def test_a_kept_input_gives_up_its_place_and_comes_back(last_s: float, stall_s: float) -> None:
    a = Buffer(4, reads={0: 3}, is_input=True)
    b = Buffer(14, writes={1: 30}, reads={2: 30})
    program = program_of([5, 5, 5, last_s], [a, b], max_inputs=1)
    game = play(program, "NNN")
    assert game.return_stall_ticks * program.all_slow_s / 2**30 == pytest.approx(stall_s)
    plan = game.plan("x")
    assert [(s.group, s.start, s.end) for s in plan.stays] == [(0, -1, 1), (1, 1, 3), (0, 3, 4)]
    assert plan.copies == (Copy(0, True, 3, 4),)
    assert_is_judged_alike(game)


def test_what_lasts_to_the_end_avoids_the_place_of_a_kept_input() -> None:
    a = Buffer(4, reads={0: 3}, is_input=True)
    b = Buffer(14, writes={1: 30}, reads={3: 30})
    game = play(program_of([5, 5, 5, 5], [a, b], max_inputs=1), "N")
    assert game.effect(NO_COPY).refusal.reason is Reason.NO_PLACE


def test_only_a_first_read_may_have_been_there_before() -> None:
    a = Buffer(4, reads={0: 3, 1: 3}, is_input=True)
    game = play(program_of([5, 5], [a], max_inputs=1), "D")
    assert mask(game) == "CD"
    assert game.effect(NO_COPY).refusal.reason is Reason.NOT_THERE


def test_a_live_out_is_written_back_in_idle_time_or_stalls() -> None:
    out = Buffer(4, writes={0: 6}, is_live_out=True)
    early = play(program_of([5, 5], [out]), "N")
    assert early.step(DROP) == 0
    assert early.plan("x").copies == (Copy(0, False, 1, 2),)
    assert_is_judged_alike(early)
    late = play(program_of([5, 1], [out]), "N")
    assert late.step(DROP) == pytest.approx(-3 / 12)
    assert late.plan("x").stays == (Stay(0, 12, 0, 2),)
    assert_is_judged_alike(late)


def test_live_outs_that_stall_one_after_another() -> None:
    first = Buffer(4, writes={0: 6}, is_live_out=True)
    second = Buffer(2, writes={0: 6}, is_live_out=True)
    game = play(program_of([5, 1], [first, second]), "NN")
    assert game.step(DROP) == pytest.approx(-3 / 18)
    assert game.step(DROP) == pytest.approx(-2 / 18)
    assert_is_judged_alike(game)


def test_a_strict_sink_is_a_dead_end_and_drop_backup_undoes_it() -> None:
    out = Buffer(4, writes={0: 6}, reads={1: 6}, is_live_out=True)
    game = play(program_of([5, 1], [out]), "NN", replace(TWO_ENDED, strict=True))
    assert game.is_dead_end
    assert mask(game) == ""
    refusal = game.effect(DROP).refusal
    assert refusal == Refusal(
        Reason.STALL,
        start=1,
        end=2,
        blockers=tuple(game.state.live.values()),
        needed_ticks=game.move.work_ticks,
        free_ticks=game.state.ledger.left[1],
    )
    drop_backup(game)
    # The write is forced to Drop; the read's NoCopy has become illegal and is replaced by Drop.
    assert game.actions == [DROP, DROP]
    assert game.forced == {0}
    assert mask(game) == "D"
    game.step(DROP)
    assert game.total_reward == 0
    assert_is_judged_alike(game)
    with pytest.raises(ValueError, match="dead end"):
        drop_backup(game)


def test_drop_backup_leaves_other_groups_alone() -> None:
    out = Buffer(4, writes={1: 6}, is_live_out=True)
    other = Buffer(2, writes={0: 1}, reads={1: 1})
    game = play(program_of([5, 1], [out, other]), "NNN", replace(TWO_ENDED, strict=True))
    assert game.is_dead_end
    drop_backup(game)
    assert game.actions == [NO_COPY, NO_COPY, DROP]
    assert game.effect(DROP).is_legal


def test_a_block_keeps_clear_of_all_scratch_to_come() -> None:
    a = Buffer(1, writes={0: 3}, reads={3: 3})
    b = Buffer(1, writes={0: 3}, reads={1: 3})
    game = play(program_of([5] * 4, [a, b], reserved={0: 2, 2: 8}), "NNNN")
    assert [s.offset for s in game.plan("x").stays] == [2, 8]
    assert {s.group: s.offset for s in game.plan("x").stays} == {0: 8, 1: 2}
    assert_is_judged_alike(game)


def test_a_full_table_forgets_and_then_nothing_starts_before() -> None:
    a = Buffer(4, writes={0: 3}, reads={1: 3})
    b = Buffer(4, writes={2: 3}, reads={3: 3})
    c = Buffer(4, reads={4: 3}, is_input=True)
    program = program_of([5, 5, 1, 1, 5], [a, b, c], max_inputs=1)
    game = play(program, "NNNN", replace(TWO_ENDED, max_blocks=1))
    assert game.state.horizon == 2
    # Slots 2 and 3 have too little time, but no copy may start before.
    assert game.effect(COPY).bookings[0].start == 2
    assert game.effect(COPY).stall_ticks > 0
    assert game.effect(NO_COPY).refusal.reason is Reason.FORGOTTEN
    game.step(COPY)
    assert game.state.horizon == 4
    assert_is_judged_alike(game)


def test_a_table_full_of_live_blocks_takes_no_newcomer() -> None:
    a = Buffer(4, writes={0: 3}, reads={2: 3})
    b = Buffer(4, writes={0: 3}, reads={2: 3})
    game = play(program_of([5] * 3, [a, b]), "N", replace(TWO_ENDED, max_blocks=1))
    assert mask(game) == "D"
    assert game.effect(NO_COPY).refusal.reason is Reason.TABLE_FULL


def test_a_ghost_gives_its_row_with_its_place() -> None:
    a = Buffer(4, reads={1: 3, 4: 1}, is_input=True)
    b = Buffer(4, reads={3: 3}, is_input=True)
    game = play(program_of([5] * 5, [a, b]), "C", replace(TWO_ENDED, max_blocks=1))
    assert [g.group for g in game.effect(COPY).displaced] == [0]
    game.step(COPY)
    assert game.state.horizon == 2
    game.step(DROP)
    assert_is_judged_alike(game)


def test_dirty_ghosts_are_written_back_one_by_one_each_at_its_level() -> None:
    # a is made in the loop, b before it; both are ghosts when n arrives in the loop.
    loop = Region("while", 3, 8, 4.0)
    a = Buffer(6, writes={3: 1}, reads={7: 1})
    b = Buffer(6, writes={0: 1}, reads={8: 1})
    for size, expected in [(6, [(1, 1, 2)]), (14, [(1, 1, 2), (0, 4, 5)])]:
        n = Buffer(size, reads={6: 99}, is_input=True)
        game = play(program_of([1000] * 9, [a, b, n], regions=[loop]), "NN")
        saved = [w for w in game.effect(COPY).bookings if not w.is_prefetch]
        assert [(w.group, w.start, w.deadline) for w in saved] == expected
        game.step(COPY)
        while not game.is_over:
            game.step(DROP if game.legal()[DROP] else NO_COPY)
        assert_is_judged_alike(game)


def test_a_copy_does_not_reach_into_its_groups_earlier_stay() -> None:
    # x [0, 2) leaves after slot 0, d [2, 4) stands until slot 4, and b takes the place of a.
    x = Buffer(2, writes={0: 1})
    d = Buffer(2, writes={0: 1}, reads={4: 1})
    b = Buffer(19, reads={4: 1}, is_input=True)
    a = Buffer(2, reads={1: 1, 6: 1}, is_input=True)
    program = program_of([50, 1, 1, 20, 0.3, 0.3, 1], [x, d, b, a], fast_bytes=24)
    game = play(program, "NNCNC")
    # What is taken ends where it is not needed any more, not where b begins, at slot 3.
    assert (3, 4, 0, 2) in [(e.group, e.offset, e.start, e.end) for e in game.state.ended]
    # Slots before 2 have more idle time, but hold the earlier stay.
    block = game.effect(COPY).block
    assert (block.offset, block.start) == (0, 2)
    game.step(COPY)
    assert_is_judged_alike(game)


def test_the_place_of_a_taken_ghost_is_free_from_its_last_touch_on() -> None:
    # b takes the place of a at slot 5; the copy of c, which comes later, began there at slot 1.
    a = Buffer(10, reads={0: 1, 7: 1}, is_input=True)
    b = Buffer(4, writes={5: 9}, reads={6: 9})
    c = Buffer(4, reads={6: 9}, is_input=True)
    game = play(program_of([20, 1, 1, 1, 1, 1, 1, 1], [a, b, c], fast_bytes=12), "CNN")
    effect = game.effect(COPY)
    assert (effect.block.start, effect.stall_ticks) == (1, 0)
    game.step(COPY)
    game.step(DROP)
    assert_is_judged_alike(game)


def test_a_copy_as_long_as_the_program_is_refused() -> None:
    a = Buffer(1000, reads={1: 3}, is_input=True)
    game = play(program_of([5, 5], [a], fast_bytes=2000, max_inputs=1), "")
    assert game.effect(COPY).refusal.reason is Reason.TOO_LONG
    # Nor may it have been left there by the run before: it could not come back.
    assert game.effect(NO_COPY).refusal.reason is Reason.TOO_LONG


def test_illegal_and_early_calls_raise() -> None:
    game = play(program_of([5, 5], [Buffer(4, writes={0: 3}, reads={1: 3})]), "")
    with pytest.raises(ValueError, match="Copy is illegal at move 0"):
        game.step(COPY)
    with pytest.raises(ValueError, match="2 moves are not played yet"):
        game.plan("x")
    assert game.play_forced() == 0
    game.step(NO_COPY)
    assert game.step(NO_COPY) == pytest.approx(3 / 16)
    assert game.is_over
    assert not any(game.legal())
    with pytest.raises(ValueError, match="over"):
        game.step(DROP)


def test_a_clone_goes_its_own_way() -> None:
    game = play(program_of([5, 5, 5], [Buffer(4, writes={0: 3}, reads={2: 3})]), "N")
    twin = game.clone()
    twin.step(DROP)
    assert game.move_index == 1
    assert game.records.copies == []
    assert game.state.live[0].is_dirty
    assert sum(game.state.ledger.left) > sum(twin.state.ledger.left)
    game.step(NO_COPY)
    assert game.total_reward > twin.total_reward
    assert_is_judged_alike(game)
    assert_is_judged_alike(twin)


def test_the_other_end_is_high_where_the_rule_is_low_and_the_reverse() -> None:
    small, large = Buffer(1, writes={0: 3}, reads={1: 3}), Buffer(4, writes={0: 3}, reads={1: 3})
    program = program_of([5, 5], [small, large])
    game = play(program, "nN")
    assert [game.state.live[g].offset for g in (0, 1)] == [15, 11]
    game = play(program, "Nn")
    assert [game.state.live[g].offset for g in (0, 1)] == [0, 1]


def test_a_place_that_both_ends_have_is_offered_once() -> None:
    tight = Buffer(16, writes={0: 3}, reads={1: 3})
    game = play(program_of([9, 9], [tight]), "")
    assert game.legal() == (False, True, True, False, False)
    assert "same place" in explain(game, NO_COPY_OTHER).reason
    game.step(NO_COPY)
    assert not game.legal()[NO_COPY_OTHER]


@pytest.mark.parametrize("place", PLACE_RULES)
def test_the_other_end_is_high_where_a_rule_knows_more_than_two_places(place: str) -> None:
    a = Buffer(1, writes={0: 3}, reads={1: 3})
    game = play(program_of([5, 5], [a]), "", Rules(place=place))
    low, high = (game.effect(action).block for action in (NO_COPY, NO_COPY_OTHER))
    assert low is not None and high is not None
    assert (low.offset, high.offset) == (0, 15)

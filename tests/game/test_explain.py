"""Explanations: what they say in situations known by hand, and that they never contradict."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from engine.game.drop_backup import drop_backup
from engine.game.moves import (
    COPY,
    COPY_OTHER,
    DROP,
    NO_COPY,
    NO_COPY_OTHER,
    NUM_ACTIONS,
    Rules,
)
from engine.game.reference.blocks import Reason
from engine.game.reference.explain import Blocker, explain, group_name
from engine.game.reference.game import ReferenceGame
from engine.game.units import size_text, time_text
from engine.program.model import Region
from tests.game.tiny_programs import Buffer, assert_is_judged_alike, mask, play, program_of
from tests.strategies import random_program


def test_a_want_of_room_names_buffers_hole_and_interval() -> None:
    # a [0, 1) is a ghost and may go; b and c are used by the same instruction as d.
    a = Buffer(1, reads={0: 1, 3: 1}, is_input=True)
    b = Buffer(5, reads={2: 1, 3: 1}, is_input=True)
    c = Buffer(5, reads={2: 1}, is_input=True)
    d = Buffer(7, writes={2: 1}, reads={3: 1})
    game = play(program_of([9] * 4, [a, b, c, d]), "CCC")
    found = explain(game, NO_COPY)
    assert not found.is_legal
    # Slot 1 has time for one of the copies only; c is needed no more, b is.
    assert found.blockers == (
        Blocker(2, "c", 0, 3, 6, 11, is_live=False),
        Blocker(1, "b", 1, 3, 11, 16, is_live=True),
    )
    assert (found.needed_bytes, found.largest_hole, found.scratch_bytes) == (7, 6, 0)
    assert (found.start, found.end) == (2, 3)
    assert found.reason == (
        "d2 needs 7 B during slot 2, but the largest hole is 6 B: 2 buffers that must stand are in"
        " the way."
    )


def test_scratch_is_named() -> None:
    a = Buffer(9, writes={1: 1}, reads={2: 1})
    found = explain(play(program_of([9] * 3, [a], reserved={2: 8}), ""), NO_COPY)
    assert found.scratch_bytes == 8
    assert "largest hole is 8 B, above 8 B of scratch" in found.reason


def test_a_want_of_time_names_what_would_have_to_be_saved() -> None:
    a = Buffer(4, writes={0: 1}, reads={4: 8})
    b = Buffer(4, reads={3: 8}, is_input=True)
    loops = [Region("while", 2, 3, 4.0), Region("while", 3, 5, 4.0)]
    game = play(program_of([5, 7, 99, 99, 99], [a, b], regions=loops), "NN")
    assert explain(game, DROP).reason == (
        "a0 would have to be written back to slow memory before slot 2, which takes 4.00 s; slow"
        " memory has only 3.00 s idle until then, other copies are under way there, and only fast"
        " memory holds its content."
    )


def test_a_write_back_says_how_long_compute_waits_for_it() -> None:
    kept = play(program_of([5, 2, 5], [Buffer(4, writes={0: 3}, reads={2: 3})]), "N")
    assert explain(kept, DROP).reason.endswith(
        "a0 is written back to slow memory during slot 1, but stalls 2.00 s."
    )


def test_legal_actions_say_what_they_do() -> None:
    a = Buffer(10, reads={1: 9, 5: 9}, is_input=True)
    b = Buffer(10, reads={3: 1}, is_input=True)
    game = play(program_of([30] * 6, [a, b], max_inputs=1), "")
    assert explain(game, COPY).reason == (
        "Copies a into [6 B, 16 B), during slot 0; saves 9.00 s, no stall."
    )
    assert "from before the start, where the previous run left it" in explain(game, NO_COPY).reason
    assert explain(game, DROP).reason == (
        "Instruction 1 uses a in slow memory and gives up 9.00 s."
    )
    game.step(COPY)
    assert "It takes the place of a." in explain(game, COPY).reason
    game.step(DROP)
    assert explain(game, NO_COPY).reason == (
        "a is in fast memory at [6 B, 16 B) and stays there; saves 9.00 s."
    )
    assert explain(game, DROP).reason.endswith("Its stay in fast memory ends at slot 2.")


def test_what_is_not_there_says_what_can_apply_here() -> None:
    made = Buffer(4, writes={0: 3}, reads={2: 3})
    assert explain(play(program_of([5, 2, 5], [made]), "D"), NO_COPY).reason == (
        "a0 is not in fast memory; Copy brings it in."
    )
    given = Buffer(4, reads={1: 3, 2: 3}, is_input=True)
    reason = explain(play(program_of([5, 2, 5], [given]), "D"), NO_COPY).reason
    assert "from before the start" in reason and "loop" not in reason
    loop = [Region("while", 1, 3, 4.0)]
    reason = explain(play(program_of([5, 2, 5], [made], regions=loop), "D"), NO_COPY).reason
    assert "in front of a loop" in reason and "before the start" not in reason


def test_what_saves_nothing_says_so_in_words() -> None:
    game = play(program_of([5, 2, 5], [Buffer(4, writes={0: 0}, reads={2: 3})]), "")
    assert explain(game, NO_COPY).reason.endswith("; saves nothing.")
    assert explain(game, DROP).reason.endswith("gives up nothing.")


def test_inputs_that_no_run_keeps_are_said_to_be_none() -> None:
    given = Buffer(4, reads={1: 3}, is_input=True)
    reason = explain(play(program_of([5, 2], [given], max_inputs=0), ""), NO_COPY).reason
    assert "keeps no inputs" in reason and "0" not in reason.replace("a0", "")


def test_sinks_say_what_they_do() -> None:
    game = play(program_of([5, 1], [Buffer(4, writes={0: 6}, is_live_out=True)]), "N")
    assert explain(game, DROP).reason == (
        "a0 is written back to slow memory during slot 1, but stalls 3.00 s."
    )
    assert "only Drop is legal" in explain(game, COPY).reason


def test_what_must_be_made_slow_can_be_copied_in_later() -> None:
    made = Buffer(4, writes={0: 0}, reads={2: 8, 4: 8}, slow_writes=frozenset({0}))
    program = program_of([5, 20, 5, 5, 5], [made])
    game = play(program, "")
    assert game.legal() == (False, False, True, False, False)
    assert explain(game, NO_COPY).reason.startswith(
        "Instruction 0 cannot serve a0 from fast memory"
    )
    assert play(program, "DCN").total_reward == pytest.approx(16 / 56)


def test_a_stay_ends_where_a_touch_must_be_slow() -> None:
    made = Buffer(4, writes={0: 3, 2: 0}, reads={1: 8, 3: 8}, slow_writes=frozenset({2}))
    game = play(program_of([5, 5, 5, 5], [made]), "NN")
    assert mask(game) == "D"
    # The write makes the content anew: nothing is saved, and the copy has no slot to hide in.
    game = play(program_of([5, 5, 5, 5], [made]), "NNDC")
    assert game.total_reward == pytest.approx((3 + 8 + 8 - 4) / 39)
    assert_is_judged_alike(game)


def test_a_group_that_must_be_slow_later_in_a_loop_has_no_moves() -> None:
    made = Buffer(4, writes={0: 3, 2: 0}, reads={1: 8, 3: 8}, slow_writes=frozenset({2}))
    loop = [Region("while", 2, 3, 4.0)]
    assert play(program_of([5, 5, 5, 5], [made], regions=loop), "").is_over


def test_a_covered_loop_is_the_reason_to_stand() -> None:
    a = Buffer(4, reads={0: 1, 1: 8, 2: 8}, is_input=True)
    program = program_of([5, 20, 20, 5], [a], regions=[Region("while", 1, 3, 4.0)])
    found = explain(play(program, "CN"), DROP)
    assert found.reason.startswith("a must stay in fast memory through slot 2")
    assert [(b.start, b.end) for b in found.blockers] == [(0, 3)]


def test_a_copy_out_of_a_loop_says_how_long_it_stays() -> None:
    a = Buffer(4, reads={1: 8, 2: 8}, is_input=True)
    program = program_of([5, 20, 20, 5], [a], regions=[Region("while", 1, 3, 4.0)])
    assert explain(play(program, ""), NO_COPY).reason == (
        "Copies a into [12 B, 16 B), during slot 0; it stays through the loop, to slot 2;"
        " saves 8.00 s, no stall."
    )


def test_names_and_units() -> None:
    game = play(program_of([5, 5], [Buffer(4, writes={0: 3, 1: 3})]), "")
    assert group_name(game, 0) == "a0 (and 1 in the same place)"
    assert size_text(1000) == "1,000 B"
    assert size_text(3 * 2**19) == "1.50 MiB"
    assert time_text(1.5e-5) == "15.0 µs"
    assert time_text(0.0) == "0 ns"


@pytest.mark.nightly
def test_every_action_of_random_games_is_explained_in_agreement_with_the_mask() -> None:
    seen: Counter[Reason] = Counter()
    for seed in range(90):
        chance = random.Random(seed)
        rules = Rules(max_blocks=chance.choice([3, 96]), strict=chance.random() < 0.5)
        game = ReferenceGame(random_program(seed, 30), rules)
        while not game.is_over:
            legal = game.legal()
            for action in range(NUM_ACTIONS):
                found = explain(game, action)
                assert found.is_legal == legal[action]
                assert found.reason.endswith(".")
                assert "{" not in found.reason
                refusal = game.effect(action).refusal
                if refusal is not None:
                    seen[refusal.reason] += 1
                if refusal is not None and refusal.reason is Reason.NO_PLACE:
                    assert found.largest_hole < found.needed_bytes
            if game.is_dead_end:
                drop_backup(game)
            else:
                game.step(chance.choice([a for a in range(NUM_ACTIONS) if legal[a]]))
    # No random program here has a branch that goes on in the place of another one's result.
    assert set(seen) == set(Reason) - {Reason.FORCED, Reason.OTHER_BRANCH}


def test_a_forced_move_says_so() -> None:
    program = program_of([5, 5], [Buffer(4, writes={0: 3}, reads={1: 3})])
    game = ReferenceGame(program, forced=frozenset({0}))
    assert game.legal() == (False, False, True, False, False)
    assert "(Drop-backup)" in explain(game, NO_COPY).reason


def test_the_other_end_is_named_with_its_place() -> None:
    # Large for this memory: the rule puts it high.
    a = Buffer(5, reads={1: 1, 2: 1}, is_input=True)
    game = play(program_of([9] * 3, [a]), "")
    assert "a into [11 B, 16 B), during" in explain(game, COPY).reason
    told = explain(game, COPY_OTHER).reason
    assert "a into [0 B, 5 B) (the low end of the free room), during" in told


def test_of_an_other_end_that_is_the_same_place_it_is_said_why() -> None:
    a = Buffer(16, writes={0: 1}, reads={1: 1})
    game = play(program_of([9] * 2, [a]), "")
    assert explain(game, NO_COPY_OTHER).reason == "At the other end a0 would have the same place."
    game.step(NO_COPY)
    told = explain(game, NO_COPY_OTHER).reason
    assert told == "a0 is in fast memory already and stays at its place; no end is chosen."

"""The search for the optimum against plain enumeration, and the judge's stars and conditions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from engine.errors import LessonError
from engine.game.reference.game import ReferenceGame
from engine.lessons import judge
from engine.lessons.catalogue import load_catalogue
from engine.lessons.judge import Judge, best_from, look_ahead
from engine.lessons.lesson import Goal
from engine.program import library
from engine.program.model import Program
from engine.program.teaching import Draft

STRICT = "dead-ends"


def every_end(game: ReferenceGame) -> list[float]:
    if game.is_over:
        return [game.total_reward]
    found = []
    for action, is_legal in enumerate(game.legal()):
        if is_legal:
            following = game.clone()
            following.step(action)
            found += every_end(following)
    return found


@pytest.mark.parametrize("name", ["teach-keep-or-drop", "teach-fragmentation", "teach-loop-carry"])
def test_it_finds_what_enumeration_finds(name: str) -> None:
    game = ReferenceGame(library.load_sample(name))
    found = best_from(game)
    assert found is not None and not game.actions
    assert found.total_reward == pytest.approx(max(every_end(game)), abs=1e-9)


def with_a_costly_write(write_us: float, reads_us: Sequence[float]) -> Program:
    """Two tensors that share the memory, then a third one whose write is slower when it is fast."""
    draft = Draft()
    draft.step("make", 20)
    first, second = draft.write("a", 600), draft.write("b", 600)
    draft.step("use", 20, [first, second])
    third = draft.write("c", 100)
    draft.step("end", 20, [third])
    draft.write("out", 1, is_live_out=True)
    program = draft.program("costly-write", "", "")
    saving_us = {
        (first, True): 100,
        (second, True): 100,
        (third, True): write_us,
        **{(value, False): us for value, us in zip((first, second, third), reads_us, strict=True)},
    }
    accesses = (
        replace(a, saving_s=1e-6 * saving_us.get((a.value, a.is_write), 0.0))
        for a in program.accesses
    )
    instructions = (replace(i, fast_s=i.fast_s + 1e-3) for i in program.instructions)
    return replace(program, accesses=tuple(accesses), instructions=tuple(instructions))


def test_of_equally_fast_games_one_that_does_not_wait_is_found() -> None:
    """A Copy gains 300 us and waits 256; without it the result has room, which saves 44."""
    draft = Draft()
    weight = draft.input("weight", 256)
    draft.step("make", 20, [weight])
    result = draft.write("result", 900)
    draft.step("use", 660, [result])
    program = draft.program("a-tie", "", "")
    saving_us = {(weight, False): 300, (result, True): 44, (result, False): 0}
    accesses = tuple(
        replace(a, saving_s=1e-6 * saving_us[a.value, a.is_write]) for a in program.accesses
    )
    program = replace(program, accesses=accesses)
    lesson = replace(load_catalogue().find("one-road"), program=program, start=())
    judge = Judge(replace(lesson, goal=Goal(is_optimum=True, stall_s=0.0)))
    best = lesson.begin()
    for action in judge.best.actions:
        best.step(action)
    assert not judge.verdict(best).is_reached, "the best game that is found first waits"
    assert judge.out_of_reach() == ()


@pytest.mark.parametrize("seed", range(10))
def test_so_it_does_where_a_move_costs_something_and_can_be_dropped(seed: int) -> None:
    chance = random.Random(seed)
    reads_us = [chance.randrange(500, 700) for _ in range(2)]
    program = with_a_costly_write(-chance.randrange(100, 600), [*reads_us, 50])
    game = ReferenceGame(program)
    assert any(move.saving_s < 0 for move in game.moves)
    found = best_from(game)
    assert found is not None
    assert found.total_reward == pytest.approx(max(every_end(game)), abs=1e-9)


def test_dead_ends_are_no_ends() -> None:
    game = load_catalogue().find(STRICT).begin()
    found = best_from(game)
    assert found is not None and found.total_reward == pytest.approx(max(every_end(game)))


def test_a_board_that_is_too_large_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "MOST_POSITIONS", 3)
    with pytest.raises(LessonError, match="more than 3 positions; take fewer steps"):
        best_from(ReferenceGame(library.load_sample("teach-loop-carry")))


def test_a_game_that_is_too_long_is_an_error() -> None:
    """On each move a search goes one deeper."""
    with pytest.raises(LessonError, match=f"more than {judge.MOST_MOVES} moves; take fewer steps"):
        best_from(ReferenceGame(library.load_sample("gpt-v5e-b8-train")))


def test_looking_ahead_sees_as_far_as_it_looks() -> None:
    game = ReferenceGame(library.load_sample("teach-fragmentation"))
    legal = game.legal_actions()
    whole = {a: look_ahead(game, a, game.num_moves) for a in legal}
    assert max(v for v in whole.values() if v is not None) == pytest.approx(max(every_end(game)))
    for action in legal:
        after = game.clone()
        assert look_ahead(game, action, 1) == after.step(action)


@pytest.mark.nightly
def test_stars_fall_with_the_distance_from_the_optimum() -> None:
    lesson = load_catalogue().find("out-and-back")
    judge = Judge(replace(lesson, goal=Goal(within=1.5)))
    game = lesson.begin()
    best = judge.optimum_s
    assert judge.limit_s == pytest.approx(2.5 * best)
    stars = set()

    def visit(game: ReferenceGame) -> None:
        if game.is_over:
            found = judge.verdict(game)
            assert found.is_reached == (found.latency_s <= judge.limit_s + 1e-9)
            assert (found.stars == 3) == (found.latency_s <= best + 1e-9)
            assert (found.stars == 2) == (best + 1e-9 < found.latency_s <= 1.75 * best + 1e-9)
            stars.add(found.stars)
            return
        for action, is_legal in enumerate(game.legal()):
            if is_legal:
                following = game.clone()
                following.step(action)
                visit(following)

    visit(game)
    assert stars == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        (Goal(save_s=1e-3), "Save at least 1,000 µs"),
        (Goal(save_s=1e-3, stall_s=0.0), "Never wait for a copy"),
        (Goal(beat="greedy"), "Be faster than greedy"),
        (Goal(within=0.1), "10 % above the best plan"),
    ],
)
def test_every_condition_has_words_and_can_fail(goal: Goal, text: str) -> None:
    judge = Judge(replace(load_catalogue().find("one-road"), goal=goal))
    fine = judge.conditions(judge.optimum_s, 0.0)
    assert any(text in c.text for c in fine) and all(c.is_met for c in fine)
    bad = judge.conditions(1.0, 1.0)
    assert not any(c.is_met for c in bad)

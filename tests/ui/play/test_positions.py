"""Positions of a long game: any is reached, few are kept, stepping back is short."""

from __future__ import annotations

import pytest

from engine.game.moves import RULES_VERSION
from engine.game.notes import noted_actions, noted_rules, notes_of
from engine.game.reference.game import ReferenceGame
from engine.game.replay import best_action
from engine.program.model import Program
from tests.synthetic import crowd
from ui.model.play.film import MOST_FIXED, MOST_REACHED, MOST_RECENT, NEAR, Film, Positions


@pytest.fixture(scope="module")
def program() -> Program:
    return crowd(3000)


@pytest.fixture(scope="module")
def small() -> Program:
    return crowd(100)


class Counted:
    """Plays greedily and counts its steps."""

    def __init__(self, program: Program) -> None:
        self.program, self.steps = program, 0

    def start(self) -> ReferenceGame:
        return ReferenceGame(self.program)

    def step(self, game: ReferenceGame) -> None:
        self.steps += 1
        game.step(best_action(game))


def test_memory_is_bounded_and_every_position_is_reached(program: Program) -> None:
    played, num_moves = Counted(program), ReferenceGame(program).num_moves
    assert num_moves > NEAR * MOST_FIXED
    kept = Positions(num_moves)
    for move in (num_moves - 1, 5, num_moves // 2, num_moves - 3, 0):
        assert kept.reach(move, played.start, played.step).move_index == move
        assert len(kept) <= MOST_FIXED + MOST_RECENT + MOST_REACHED


def test_who_steps_back_replays_little(program: Program) -> None:
    played, num_moves = Counted(program), ReferenceGame(program).num_moves
    kept = Positions(num_moves)
    kept.reach(num_moves - 1, played.start, played.step)
    for back in range(2, 200):
        before = played.steps
        kept.reach(num_moves - back, played.start, played.step)
        assert played.steps - before < NEAR


def test_who_goes_on_plays_one_move(program: Program) -> None:
    played, kept = Counted(program), Positions(ReferenceGame(program).num_moves)
    for begin in (100, 3000):
        kept.reach(begin, played.start, played.step)
    before = played.steps
    for step in range(1, 80):
        for begin in (100, 3000):
            kept.reach(begin + step, played.start, played.step)
    assert played.steps - before == 2 * 79


def test_positions_are_copies_of_one_game(program: Program) -> None:
    played, kept = Counted(program), Positions(1000)
    first = kept.reach(130, played.start, played.step)
    first.step(first.legal().index(True))
    again = kept.reach(130, played.start, played.step)
    assert again.move_index == 130
    kept.clear()
    assert len(kept) == 0


def test_a_plan_notes_its_game(small: Program) -> None:
    game = ReferenceGame(small)
    for _ in range(40):
        game.step(best_action(game))
    notes = notes_of(game)
    while not game.is_over:
        game.step(best_action(game))
    begun, whole = game.plan("you", notes), game.plan("you", notes_of(game))
    assert noted_actions(begun, game.num_moves) == tuple(game.actions[:40])
    assert noted_rules(whole) == game.rules
    assert Film(small, whole).actions == tuple(game.actions)
    assert Film(small, whole).is_exact


@pytest.mark.parametrize("moves", [None, "0193", "0-p3", 17, "0" * 10**5])
def test_notes_that_fit_no_game_are_left_alone(small: Program, moves: object) -> None:
    game = ReferenceGame(small)
    while not game.is_over:
        game.step(best_action(game))
    plan = game.plan("you", {"rules": RULES_VERSION, "moves": moves, "place": "nowhere"})
    assert noted_actions(plan, game.num_moves) is None
    assert noted_rules(plan) is None
    assert Film(small, plan).num_moves == game.num_moves

"""Films, lines, ghosts and choices: the game as the page shows it."""

import json
import random

import pytest

from engine.game.moves import COPY, COPY_OTHER, DROP, NO_COPY, NO_COPY_OTHER, NUM_ACTIONS
from engine.game.reference.game import ReferenceGame
from engine.plan.simulate import simulate
from engine.program.model import Program
from tests.strategies import random_program
from ui.components.memory_map.draft import plan_so_far, stay_rows
from ui.components.memory_map.plan_actions import telling_move
from ui.components.units import range_text, size_text
from ui.model.play.decision import Choice, choices, room_text, story
from ui.model.play.film import Film
from ui.model.play.ghosts import Opinion, blockers, ghosts


def test_a_film_shows_the_same_game_from_either_side(program: Program, film: Film) -> None:
    late = film.game_at(70)
    early = film.game_at(10)
    film.play_to(early, 70)
    assert early.actions == late.actions
    assert stay_rows(early) == stay_rows(late)
    assert len(film.game_at(0).actions) == 0


def test_positions_are_copies(film: Film) -> None:
    game = film.game_at(5)
    game.step(game.legal().index(True))
    assert film.game_at(5).move_index == 5


def test_a_foreign_plan_is_recognised(program: Program, film: Film) -> None:
    assert not film.is_exact
    assert Film(program, film.plan).is_exact


SURE = Opinion((0.123,) * NUM_ACTIONS, (0.456,) * NUM_ACTIONS, 64, "a game")


def offered(game: ReferenceGame) -> dict[int, Choice]:
    """By action what stands on the cards, the lines of other ends included."""
    cards = choices(game)
    assert [c.action for c in cards] == [COPY, NO_COPY, DROP]
    return {c.action: c for c in [*cards, *(c.other for c in cards if c.other)]}


@pytest.mark.parametrize("seed", range(8))
def test_every_position_has_choices_and_small_overlays(seed: int) -> None:
    program, dice = random_program(seed, 30), random.Random(seed)
    game, granule = ReferenceGame(program), program.hardware.alignment
    while not game.is_over:
        found = offered(game)
        legal = game.legal_actions()
        assert sorted(a for a, c in found.items() if c.is_legal) == legal
        assert all(c.text for c in found.values())
        overlay = ghosts(game, SURE)
        others = [s for s in overlay["ghosts"] if "other" in s]
        assert len(others) == sum(a in legal for a in (COPY_OTHER, NO_COPY_OTHER))
        for shape in others:
            low, high = (granule * n for n in (shape["at"][0], sum(shape["at"][:2])))
            assert any(range_text(low, high) in c.text for c in found.values())
            assert shape["prior"] == 0.123 and shape["visits"] == 0.456
        assert overlay["move"] == game.move_index
        for shape in overlay["ghosts"]:
            offset, size, start, end = shape["at"]
            assert end > start
            assert 0 <= offset <= game.facts.numbers.fast_granules - size
        for action in (COPY, NO_COPY, DROP):
            assert len(json.dumps(blockers(game, action))) < 5000
        assert len(json.dumps(overlay)) < 5000
        told = story(program, game.move)
        assert told.subject and told.verb and told.tensor and told.stake
        game.step(dice.choice(legal))


def test_the_gain_of_a_choice_is_the_reward_of_its_step(program: Program, film: Film) -> None:
    game = film.game_at(40)
    for choice in offered(game).values():
        if choice.is_legal:
            reward = game.clone().step(choice.action)
            assert choice.gain_s == pytest.approx(reward * program.all_slow_s, abs=1e-15)


def test_the_line_of_the_other_end_says_what_differs() -> None:
    """In random games: the end and address always; what it displaces, its stall, where it does."""
    told = set()
    for seed in range(12):
        game, dice = ReferenceGame(random_program(seed, 40)), random.Random(seed)
        while not game.is_over:
            for kind, action in ((COPY, COPY_OTHER), (NO_COPY, NO_COPY_OTHER)):
                choice = offered(game).get(action)
                if choice is None:
                    continue
                effect, main = game.effect(action), game.effect(kind)
                assert choice.text.startswith(("high end, [", "low end, ["))
                assert ("takes the place of" in choice.text) == bool(effect.displaced)
                assert ("stalls" in choice.text) == (effect.stall_ticks != main.stall_ticks)
                told |= {word for word in ("takes", "stalls", "high", "low") if word in choice.text}
            game.step(dice.choice(game.legal_actions()))
    assert told == {"takes", "stalls", "high", "low"}


def test_the_room_is_told_with_its_largest_hole(program: Program, film: Film) -> None:
    capacity = program.hardware.fast_bytes
    reserved = program.instructions[0].reserved_bytes
    empty = room_text(ReferenceGame(program))
    assert empty.startswith(f"{size_text(reserved)} of {size_text(capacity)} taken")
    assert empty.endswith(f"largest hole {size_text(capacity - reserved)}")
    assert room_text(film.game_at(45)) != empty


def test_a_plan_so_far_can_be_simulated(program: Program, film: Film) -> None:
    nothing = simulate(program, plan_so_far(film.game_at(0)))
    assert nothing.latency_s == pytest.approx(program.all_slow_s)
    half = simulate(program, plan_so_far(film.game_at(45))).latency_s
    assert half < program.all_slow_s


def test_the_opening_move_has_something_to_tell(program: Program) -> None:
    moves = ReferenceGame(program).moves
    chosen = telling_move(moves)
    assert len(moves) // 3 <= chosen < len(moves) - len(moves) // 3
    assert not moves[chosen].is_sink
    assert telling_move(()) == 0

"""Themes and difficulty: read from real positions, and told apart where they must be."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from engine.errors import LessonError
from engine.game.moves import DROP, KINDS, NO_COPY
from engine.game.replay import best_action
from engine.lessons.judge import best_from
from engine.lessons.mining import described
from engine.lessons.positions import read_positions, write_positions
from engine.lessons.themes import (
    BOTH_ENDS,
    EVICTION,
    GREEDY_TRAP,
    LATE,
    LOOP,
    MOST_SIMULATIONS,
    NEVER,
    STALL_PAYS,
    THEMES,
    About,
    about,
    simulations_needed,
    themes,
)
from engine.program import library
from tests.lessons.test_refutation import SHELF, greedy_positions, turning_point_of


def test_every_shipped_position_is_described() -> None:
    games = read_positions()
    assert games and all(len(game.about) == len(game.moves) for game in games)


@pytest.mark.parametrize(
    ("lesson", "theme"),
    [
        ("what-fast-memory-is-worth", GREEDY_TRAP),
        ("keep-or-drop", EVICTION),
        ("one-road", LATE),
        ("a-stall-that-pays", STALL_PAYS),
        ("both-ends", BOTH_ENDS),
        ("loops", LOOP),
    ],
)
def test_a_lesson_on_a_theme_has_it_where_greed_goes_wrong(lesson: str, theme: str) -> None:
    positions = greedy_positions(SHELF.find(lesson))
    point = turning_point_of(positions)
    assert point is not None and point.refutation is not None
    found = themes(positions[point.number], point.refutation)
    assert theme in found
    assert list(found) == [t for t in THEMES if t in found]


def test_a_search_needs_more_simulations_where_greed_is_wrong() -> None:
    game = SHELF.find("what-fast-memory-is-worth").begin()
    trap = simulations_needed(game, DROP)
    assert 1 < trap <= MOST_SIMULATIONS
    assert simulations_needed(game, NO_COPY) == NEVER, "the search ends with the right answer"
    late = game.clone()
    late.step(DROP)
    best = best_from(late)
    assert best is not None
    assert KINDS[best_action(late)] == KINDS[best.actions[0]]
    assert simulations_needed(late, KINDS[best.actions[0]]) <= trap
    assert game.move_index == 0


def test_a_search_says_nothing_before_it_has_tried_every_action() -> None:
    """Or an easy position would need one simulation or two, by the action that is tried first."""
    game = SHELF.find("what-fast-memory-is-worth").begin()
    game.step(DROP)
    best = best_from(game)
    assert best is not None
    kind, least = KINDS[best.actions[0]], len(game.legal_actions())
    assert {simulations_needed(game, kind, seed) for seed in range(8)} == {least}


def test_the_measure_is_the_same_again_and_harder_ones_are_rated_higher() -> None:
    game = SHELF.find("what-fast-memory-is-worth").begin()
    point = turning_point_of(greedy_positions(SHELF.find("what-fast-memory-is-worth")))
    assert point is not None and point.refutation is not None
    found = about(game, point.refutation)
    assert about(game, point.refutation) == found
    harder = dataclasses.replace(found, simulations=2 * found.simulations)
    assert harder.rating.points == pytest.approx(found.rating.points + 160)


def test_a_mined_game_is_described_move_by_move_and_kept_in_the_file(tmp_path: Path) -> None:
    mined = min(read_positions(), key=lambda m: len(m.game))
    bare = dataclasses.replace(mined, about=())
    heard: list[str] = []
    program = library.load_sample(mined.program)
    found = described(program, bare, 0, heard.append)
    assert len(found.about) == len(found.moves) == len(heard)
    assert described(program, found, 0, heard.append) == found, "what is known is kept"
    write_positions([found], tmp_path / "p.json")
    (again,) = read_positions(tmp_path / "p.json")
    assert again == found
    assert again.about_at(found.moves[0]) == found.about[0]


def test_a_theme_that_there_is_not_is_refused(tmp_path: Path) -> None:
    odd = dataclasses.replace(read_positions()[0], about=(About(("sorcery",), 3, "x"),))
    write_positions([odd], tmp_path / "p.json")
    with pytest.raises(LessonError, match="a theme"):
        read_positions(tmp_path / "p.json")

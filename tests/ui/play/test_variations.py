"""The tree of variations: branching, taking up again, undo, redo, and its text in links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.model.play.line import PLAN, Rating, Variations, line_from_text, line_text

PLAN_ACTIONS = (0, 1, 2, 0, 1, 2, 0, 1, 2, 0)


def played(tree: Variations, move: int, *step: int) -> Variations:
    return tree.play(move, step, PLAN_ACTIONS)


def actions_of(tree: Variations) -> tuple[int, ...]:
    """Every action that the current path decides, from move 0."""
    path = tree.path()
    return PLAN_ACTIONS if path is None else (*PLAN_ACTIONS[: path.fork], *path.actions)


def test_playing_as_the_plan_does_begins_nothing() -> None:
    tree = played(Variations(), 3, 0, 1, 2)
    assert tree == Variations()
    assert tree.path() is None


def test_another_action_begins_a_variation_where_it_differs() -> None:
    tree = played(Variations(), 3, 0, 1, 0)
    assert tree.current == 0
    assert tree.lines[0].fork == 5
    assert actions_of(tree) == (0, 1, 2, 0, 1, 0)


def test_going_on_extends_and_another_action_branches() -> None:
    tree = played(played(Variations(), 3, 2), 4, 2)
    assert len(tree.lines) == 1
    branched = played(tree, 4, 0)
    assert [(v.parent, v.fork) for v in branched.lines] == [(PLAN, 3), (0, 4)]
    assert actions_of(branched) == (0, 1, 2, 2, 0)
    assert actions_of(branched.go(0)) == (0, 1, 2, 2, 2)


def test_another_first_action_is_a_sibling() -> None:
    tree = played(played(Variations(), 3, 2), 3, 1)
    assert [(v.parent, v.fork) for v in tree.lines] == [(PLAN, 3), (PLAN, 3)]
    assert tree.current == 1


def test_a_variation_is_taken_up_again_and_extended() -> None:
    tree = played(Variations(), 3, 2).go(PLAN)
    again = played(tree, 3, 2, 2)
    assert (len(again.lines), again.current) == (1, 0)
    assert actions_of(again) == (0, 1, 2, 2, 2)


def test_a_branch_below_an_ancestor_belongs_to_that_ancestor() -> None:
    tree = played(played(played(Variations(), 2, 0, 0, 0), 4, 1, 1), 3, 2)
    assert [(v.parent, v.fork) for v in tree.lines] == [(PLAN, 2), (0, 4), (0, 3)]
    assert actions_of(tree) == (0, 1, 0, 2)


def test_undo_and_redo_walk_the_decisions() -> None:
    tree = played(played(played(Variations(), 3, 2), 4, 2, 2, 2), 7, 0)
    stops = [8]
    while (at := tree.before(stops[-1])) != stops[-1]:
        stops.append(at)
    assert stops == [8, 7, 4, 3]
    forward = [3]
    while (at := tree.after(forward[-1])) != forward[-1]:
        forward.append(at)
    assert forward == [3, 4, 7, 8]
    assert tree.after(0) == 3
    assert Variations().before(5) == Variations().after(5) == 5


def test_nothing_is_lost_and_the_old_tree_stays() -> None:
    first = played(Variations(), 3, 2)
    rated = first.rated(Rating(1.0, 2.0))
    second = played(rated, 3, 1)
    assert first.lines[0].rating == Rating()
    assert second.lines[0].rating == Rating(1.0, 2.0)
    with pytest.raises(IndexError, match="the tree has 2"):
        second.go(2)


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 4), min_size=1)), max_size=12))
def test_what_was_played_last_is_on_the_path(games: list[tuple[int, list[int]]]) -> None:
    tree = Variations()
    for move, step in games:
        move = min(move, len(actions_of(tree)))
        step = step[: len(PLAN_ACTIONS) - move]
        before = actions_of(tree)[:move]
        count = len(tree.lines)
        tree = played(tree, move, *step)
        assert actions_of(tree)[: move + len(step)] == (*before, *step)
        assert count <= len(tree.lines) <= count + 1
        firsts = [(v.parent, v.fork, v.actions[0]) for v in tree.lines]
        assert len(set(firsts)) == len(firsts)


@given(st.integers(0, 500), st.lists(st.integers(0, 4), max_size=40))
def test_a_line_survives_its_text(fork: int, actions: list[int]) -> None:
    text = line_text(fork, actions)
    assert line_from_text(text, fork + len(actions)) == (fork, tuple(actions))
    if actions:
        assert line_from_text(text, fork + len(actions) - 1) is None


@pytest.mark.parametrize(
    "text", ["", "3", "-p", "x-p", "3-q", "3-p9999999999", "²-p", "3-2p", "3-p "]
)
def test_other_texts_are_no_lines(text: str) -> None:
    assert line_from_text(text, 100) is None

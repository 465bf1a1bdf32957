"""Selection: better games have more children, and the mutations that the judge likes more of them.

Both are drawn by chance, so a uniform draw must fail here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.agent.breeding import children_of, drawn
from engine.agent.judge import Changes, Judge, Verdicts
from engine.agent.replay_buffer import Game, Parent
from engine.game.inputs import NUM_VIEW
from engine.game.moves import COPY, DROP, NO_COPY
from tests.agent.small import CONFIG, small_workload

DRAWS = 4000


def test_the_best_of_ten_games_is_drawn_three_times_as_often_as_by_chance() -> None:
    """The rank is ten times the square of a uniform number: the best has a share of 0.1 ** 0.5."""
    found = np.bincount(drawn(range(10), DRAWS, np.random.default_rng(0)), minlength=10) / DRAWS
    expected = np.diff(np.sqrt(np.arange(11) / 10))
    assert found == pytest.approx(expected, abs=0.025)
    assert found[0] > 5 * found[9] > 0


def test_of_no_games_none_is_drawn() -> None:
    assert drawn([], 3, np.random.default_rng(0)) == []


class Likes(Judge):
    """Likes mutations by how much of them is one word."""

    def __init__(self, word: int) -> None:
        self._word = word

    def verdicts(self, parent: Parent, changes: Changes) -> Verdicts:
        total = np.bincount(changes.which, minlength=changes.number)
        liked = np.bincount(changes.which, changes.word == self._word, changes.number)
        fork = np.zeros(changes.number, np.intp)
        return Verdicts(fork, 10 * liked / np.maximum(1, total))


def mean_share(likes: int, of: int, variations: int) -> float:
    """The share of the word `of` among what children of a game that always drops have new."""
    workload = small_workload()
    length, number = workload.num_moves, 256
    view, legal = np.zeros((length, NUM_VIEW), np.float16), np.ones((length, 3), bool)
    action, genes = np.full(length, DROP, np.int32), np.full(length, DROP, np.int8)
    greedy, zeros = np.full(length, DROP, np.int8), np.zeros(length, np.float32)
    game = Game(view, legal, action, np.eye(3)[action], zeros, zeros, greedy, genes)
    practice = replace(CONFIG.practice, cross_share=0.0, variations=variations)
    wild, rng = np.zeros(number, np.float32), np.random.default_rng(0)
    found = children_of(workload, Likes(likes), practice, rng, [game] * number, 0, wild)
    return float((found == of).sum() / (found != DROP).sum())


@pytest.mark.parametrize("word", [COPY, NO_COPY])
def test_children_have_what_the_judge_likes(word: int) -> None:
    uniform = mean_share(word, word, variations=1)
    assert mean_share(word, word, variations=16) > 1.5 * uniform

"""The difficulty of positions, measured anew: each once, and by another search."""

from __future__ import annotations

import pytest

from benchmarks import difficulty
from engine.lessons.positions import read_positions


def test_each_position_is_searched_once_with_other_random_choices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds: list[int] = []

    def counted(game: object, kind: int, seed: int) -> int:
        seeds.append(seed)
        return 7

    monkeypatch.setattr(difficulty, "simulations_needed", counted)
    mined = min(read_positions(), key=lambda m: len(m.game))
    rows = difficulty._searched(mined, [])
    assert [row["position"] for row in rows] == [mined.key(move) for move in mined.moves]
    assert [row["difficulty"] for row in rows] == [about.simulations for about in mined.about]
    assert {row["needed"] for row in rows} == {7} and 0 not in seeds
    assert difficulty._searched(mined, rows) == rows and len(seeds) == len(rows)

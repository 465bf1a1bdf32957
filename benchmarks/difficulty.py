"""The section `difficulty`: whether the measured difficulty of positions says what a search needs.

The difficulty that ships with a position was measured by one search. Here another one, with other
random choices, says how many simulations it needs. The rank correlation of the two is printed, of
all positions and of those that are not easy for both.
"""

from __future__ import annotations

from collections.abc import Sequence

from scipy.stats import spearmanr

from benchmarks.rows import RESULTS, Row, keep, read
from benchmarks.settings import Settings
from engine.game.moves import KINDS
from engine.lessons.positions import Mined, read_positions
from engine.lessons.themes import simulations_needed
from engine.program import library

_SEED = 1
"""The difficulty that ships was measured with seed 0."""
_EASY = 5
"""A position that needs so many simulations, or fewer, is easy: each action was hardly tried twice.
"""


def run(section: str, settings: Settings) -> None:
    """Search the positions that ship again, or those of the programs asked for."""
    path = RESULTS / f"{section}.json"
    games = [m for m in read_positions() if m.about]
    known = {mined.key(move) for mined in games for move in mined.moves}
    rows = [row for row in read(path) if row["position"] in known]
    for mined in games:
        if not settings.programs or mined.program in settings.programs:
            rows = _searched(mined, rows)
            keep(path, rows)
    for what, number, share in correlations(rows):
        print(f"{number} positions, {what}: rank correlation {share:.2f}")


def correlations(rows: Sequence[Row]) -> list[tuple[str, int, float]]:
    """Of all positions and of those that are not easy for both: words, number, correlation."""
    hard = [row for row in rows if max(row["difficulty"], row["needed"]) > _EASY]
    words = f"above {_EASY} simulations in a search"
    return [("all", len(rows), _correlation(rows)), (words, len(hard), _correlation(hard))]


def _correlation(rows: Sequence[Row]) -> float:
    difficulty, needed = ([row[name] for row in rows] for name in ("difficulty", "needed"))
    return float(spearmanr(difficulty, needed).statistic)


def _searched(mined: Mined, rows: list[Row]) -> list[Row]:
    """The rows, with those of a game that are not there yet."""
    program, done = library.load_sample(mined.program), {row["position"] for row in rows}
    for move, about in zip(mined.moves, mined.about, strict=False):
        key = mined.key(move)
        if key not in done:
            game, kind = mined.at(program, move), KINDS[int(mined.game[move])]
            needed = simulations_needed(game, kind, _SEED)
            rows = [*rows, {"position": key, "difficulty": about.simulations, "needed": needed}]
            print(f"{key:36} {about.simulations:4} {needed:4}", flush=True)
    return rows

"""The section `difficulty`: whether the measured difficulty of positions says what a search needs.

The difficulty that ships with a position was measured by one search. Here another one, with other
random choices, says how many simulations it needs; the rank correlation of the two is printed.
"""

from __future__ import annotations

from scipy.stats import spearmanr

from benchmarks.rows import RESULTS, Row, keep, read
from benchmarks.settings import Settings
from engine.game.moves import KINDS
from engine.lessons.positions import Mined, read_positions
from engine.lessons.themes import simulations_needed
from engine.program import library

_SEED = 1
"""The difficulty that ships was measured with seed 0."""


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
    found = spearmanr([row["difficulty"] for row in rows], [row["needed"] for row in rows])
    print(f"{len(rows)} positions, rank correlation {found.statistic:.2f}")


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

"""The shipped positions: enough of them, of many programs, strong and with greed wrong."""

from __future__ import annotations

import pytest

from engine.game.moves import KINDS
from engine.game.replay import best_action
from engine.lessons.mining import MARGIN
from engine.lessons.opponents import judged
from engine.lessons.positions import FILE, Mined, read_positions
from engine.program import library
from tests.chosen import chosen

FOUND = read_positions(FILE)
HAIR = 1e-9
"""Share of all slow that is the rounding of a sum."""
NAMES = sorted({mined.program for mined in FOUND})


def test_there_are_enough_of_many_programs() -> None:
    traps = [(mined, move) for mined in FOUND for move in mined.moves if is_trap(mined, move)]
    assert len(traps) >= 60
    assert len({mined.program for mined, _ in traps}) >= 12


def is_trap(mined: Mined, move: int) -> bool:
    program = library.load_sample(mined.program)
    return KINDS[best_action(mined.at(program, move))] != KINDS[int(mined.game[move])]


@pytest.mark.parametrize("name", chosen(NAMES))
def test_the_strong_continuation_leads_all_known_ways(name: str) -> None:
    program = library.load_sample(name)
    games = [mined.strong(program) for mined in FOUND if mined.program == name]
    for mined in FOUND:
        if mined.program != name:
            continue
        for move in mined.moves:
            own = tuple(map(int, mined.game))[move:]
            values = judged(mined.at(program, move), games, own)
            best, kind = values[own[0]].saved_s, KINDS[own[0]]
            rivals = [f.saved_s for a, f in values.items() if KINDS[a] != kind]
            assert rivals, "there is a choice"
            # The same answer at the other end may be as good, not better.
            assert best >= max(f.saved_s for f in values.values()) - HAIR * program.all_slow_s
            lead = best - max(rivals)
            assert lead >= MARGIN * program.all_slow_s

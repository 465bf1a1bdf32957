"""The moves of a traced game that deserve a look, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from engine.agent.trace_io import SearchTrace
from engine.analysis.surprise import CORRECTION, JUMP, POLICY, VISITS, Surprises
from engine.game.moves import ACTION_NAMES, Move
from engine.program.model import Program

MOST_ROWS = 200
_WHY = {
    VISITS: "searched where the prior did not point",
    POLICY: "the search changed its mind",
    JUMP: "it turned out otherwise than expected",
    CORRECTION: "the search corrected the networks",
}


def inbox(
    program: Program,
    moves: Sequence[Move],
    trace: SearchTrace,
    found: Surprises,
    regrets: Mapping[int, Mapping[str, Any]],
) -> pd.DataFrame:
    """Most surprising moves first; `regrets`: what is known of a move (`ui.jobs.regret`)."""
    rows = []
    for surprise in found.inbox(MOST_ROWS):
        move = moves[surprise.move]
        regret = regrets.get(surprise.move, {})
        is_end = move.time >= program.num_slots
        rows.append(
            {
                "move": surprise.move + 1,
                "surprise": surprise.index,
                "why": _WHY[surprise.why],
                "played": ACTION_NAMES[trace.action[surprise.move]],
                "prior": ACTION_NAMES[trace.prior[surprise.move].argmax()],
                "shift": surprise.policy_shift,
                "jump": surprise.value_jump_us,
                "correction": surprise.correction_us,
                "regret": regret.get("regret_us"),
                "better": regret.get("better", ""),
                "at_once": regret.get("punished"),
                "tensor": program.values[program.groups[move.group].values[0]].name,
                "instruction": "end" if is_end else program.instructions[move.time].name,
            }
        )
    return pd.DataFrame(rows)

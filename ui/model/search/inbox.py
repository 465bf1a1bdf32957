"""The moves of a traced game that deserve a look, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from engine.agent.trace_io import SearchTrace
from engine.debugging.findings import Finding
from engine.debugging.surprise import CORRECTION, JUMP, POLICY, VISITS, Surprises
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
    surprises: Surprises,
    known: Mapping[int, Finding],
) -> pd.DataFrame:
    """The table, the most surprising moves first; `known`: findings by move, as far as measured.

    Where all continuations are known to tie, nothing was at stake: such a move is left out.
    """
    rows = []
    for surprise in surprises.inbox(MOST_ROWS):
        move, finding = moves[surprise.move], known.get(surprise.move)
        if finding is not None and not finding.has_stakes:
            continue
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
                "class": finding.verdict if finding else "",
                "regret": finding.regret_us if finding else None,
                "better": finding.better if finding else "",
                "punished": finding.punished if finding else "",
                "tensor": program.values[program.groups[move.group].values[0]].name,
                "instruction": "end" if is_end else program.instructions[move.time].name,
            }
        )
    return pd.DataFrame(rows)

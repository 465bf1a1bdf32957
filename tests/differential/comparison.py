"""One recorded game of the JAX rules, replayed in the plain-Python game and compared."""

from __future__ import annotations

import numpy as np

from engine.game.jaxgame.env import Record
from engine.game.moves import DROP, Rules
from engine.game.reference.game import ReferenceGame
from engine.program.floors import above_floor
from engine.program.model import Program


def compare(program: Program, rules: Rules, record: Record) -> tuple[ReferenceGame, str]:
    """Play the recorded actions until a mask, offset, start, stall or reward differs.

    Returns the plain game, and where the two differ: empty if they agree to the end.
    """
    game = ReferenceGame(program, rules)
    columns = {name: np.asarray(getattr(record, name)) for name in record.__dataclass_fields__}
    while not game.is_over:
        number, move = game.move_index, game.move
        found = {name: column[number] for name, column in columns.items()}
        where = f"{program.name}, move {number}"
        if tuple(found["mask"]) != game.legal():
            return game, f"{where}: mask {found['mask']}, not {game.legal()}"
        action = int(found["action"])
        effect = game.effect(action)
        saving = above_floor(move.saving_ticks, game.state.spare_ticks) if action != DROP else 0
        game.step(action)
        stall = effect.stall_ticks + game.return_stall_ticks
        expected = {"reward_ticks": saving - stall, "stall_ticks": stall}
        if effect.is_new:
            assert effect.block is not None
            expected |= {"offset": effect.block.offset, "start": effect.block.start}
        for name, value in expected.items():
            if found[name] != value:
                return game, f"{where}: {name} {found[name]}, not {value}"
    return game, ""

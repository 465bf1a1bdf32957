"""Drop-backup, the paper's way out of a dead end: give up the group that could not be served.

With strict sinks alone a game can get stuck, where a write-back would stall.
"""

from __future__ import annotations

from engine.game.moves import DROP
from engine.game.reference.game import ReferenceGame


def drop_backup(game: ReferenceGame) -> None:
    """Undo a dead end: force the group's first move that was not Drop to Drop, and replay.

    The replay uses the recorded actions; one that has become illegal is replaced by the nearest
    legal one. Raises ValueError unless the game is in a dead end.
    """
    if not game.is_dead_end:
        raise ValueError("drop_backup needs a dead end")
    recorded = list(game.actions)
    while game.is_dead_end:
        game.forced |= {_culprit(game)}
        game.reset()
        while game.move_index < len(recorded) and not game.is_dead_end:
            game.step(game.nearest(recorded[game.move_index]))


def _culprit(game: ReferenceGame) -> int:
    """The first move of the current move's group that was not Drop."""
    return next(
        index
        for index, action in enumerate(game.actions)
        if action != DROP and game.moves[index].group == game.move.group
    )

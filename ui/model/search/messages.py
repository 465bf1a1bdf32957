"""The messages that the Search view draws: a whole game once, then one position at a time.

Seconds count what is saved against slow memory for everything, at the end of the game: what was
saved so far plus what is still to come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.agent.trace_io import SearchTrace
from engine.debugging.game_curves import curves
from engine.debugging.regret import CLASSES
from engine.debugging.tree_replay import TreeReplay, replay_tree, standing
from engine.game.moves import Move
from engine.game.reference.game import ReferenceGame
from engine.program.model import Program
from ui.components.names import group_names
from ui.components.packing import (
    GRANULES,
    fast_granules,
    group_granules,
    move_columns,
    pack,
    reserved_granules,
)

_AHEAD_SLOTS = 64
"""Slots beyond the last imagined move for which standing blocks are sent."""

Floats = NDArray[np.float64]
NO_CLASSES: Mapping[int, str] = MappingProxyType({})


def game_message(
    program: Program,
    moves: Sequence[Move],
    trace: SearchTrace,
    surprise: Floats,
    bound_s: float | None,
    identity: str,
    classes: Mapping[int, str] = NO_CLASSES,
    order: Sequence[int] = (),
) -> bytes:
    """The message of a whole game: all that does not depend on the position.

    `surprise`: index per move, `[L]`. `classes`: how bad a move was, by move
    (`engine.debugging.regret`). `order`: the moves of the inbox, as its keys go through them.
    """
    by_move = curves(trace)
    column = np.zeros(trace.num_moves, np.uint8)
    for move, name in classes.items():
        column[move] = 1 + CLASSES.index(name)
    header = {
        "id": identity,
        "program": program.name,
        "granule": program.hardware.alignment,
        "fast_granules": fast_granules(program),
        "best_possible": None if bound_s is None else program.all_slow_s - bound_s,
        "group_names": group_names(program),
        "instruction_names": [i.name for i in program.instructions],
        "findings": list(order),
    }
    return pack(
        header,
        {
            **move_columns(moves),
            "move_action": trace.action.astype(np.uint8),
            "move_choice": trace.legal.sum(axis=1).astype(np.uint8),
            "group_granules": group_granules(program),
            "slot_reserved": reserved_granules(program),
            "so_far": by_move.so_far,
            "search": by_move.search,
            "raw": by_move.raw,
            "par": by_move.par,
            "surprise": surprise.astype(np.float32),
            "move_class": column,
        },
    )


@dataclass(frozen=True)
class Root:
    """One search of a position, ready to be drawn: a row of a trace with a name."""

    name: str
    trace: SearchTrace
    row: int

    @property
    def num_nodes(self) -> int:
        """The number of nodes that were visited; they come first."""
        return int(np.count_nonzero(self.trace.tree_visits[self.row]))


def position_message(
    game: ReferenceGame,
    roots: Sequence[Root],
    par_s: Floats,
    identity: str,
    nonce: int,
    beside: int = -1,
) -> bytes:
    """The message of one position with its searches.

    `par_s`: seconds still to earn at par, `[L + 1]`. `beside`: the search to stand on the right of
    the first; -1: as the visitor left it.
    """
    headers: list[dict[str, Any]] = []
    columns: dict[str, NDArray[Any]] = {}
    move, deepest = game.move_index, 1
    for number, root in enumerate(roots):
        trace, row, count = root.trace, root.row, root.num_nodes
        parent = trace.tree_parent[row, :count].astype(np.int32)
        action = np.maximum(trace.tree_action[row, :count], 0).astype(np.uint8)
        visits = trace.tree_visits[row, :count]
        replayed = replay_tree(game, parent.tolist(), action.tolist(), visits.tolist())
        depth = _depths(parent)
        deepest = max(deepest, int(depth.max()))
        headers.append(_root_header(root, replayed))
        tree: dict[str, NDArray[Any]] = {
            "parent": parent,
            "action": action,
            "raw": trace.tree_raw_value[row, :count],
            "reward": trace.tree_reward[row, :count],
            "prior": trace.tree_prior[row, :count],
            "state": replayed.state,
            "real": _above_par(replayed, depth, par_s, move),
            "place": replayed.place.ravel().astype(GRANULES),
        }
        columns |= {f"t{number}_{name}": column for name, column in tree.items()}
    moves = game.moves
    last = moves[min(move + deepest, len(moves) - 1)].time + _AHEAD_SLOTS
    blocks = np.array(standing(game, last), GRANULES).reshape(-1, 5)
    columns["standing"] = blocks.ravel()
    names = "|".join(root.name for root in roots)
    header = {"game": identity, "move": move, "nonce": nonce, "key": f"{move}|{names}"}
    return pack({**header, "beside": beside, "roots": headers}, columns)


def _root_header(root: Root, replayed: TreeReplay) -> dict[str, Any]:
    trace, row = root.trace, root.row
    known = ("algorithm", "value_scale", "maxvisit_init")
    return {
        "name": root.name,
        "point_s": trace.point_s,
        "chosen": int(trace.action[row]),
        "legal": trace.legal[row].tolist(),
        "policies": {"prior": _rounded(trace.prior[row]), "improved": _rounded(trace.policy[row])},
        "value": float(trace.value[row]),
        "raw_value": float(trace.raw_value[row]),
        "gone": replayed.gone,
        **{name: trace.settings[name] for name in known if name in trace.settings},
    }


def _rounded(row: NDArray[np.float32]) -> list[float]:
    return [float(f"{x:.6g}") for x in row]


def _depths(parent: NDArray[np.int32]) -> NDArray[np.int64]:
    depth = np.zeros(len(parent), np.int64)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    return depth


def _above_par(
    replayed: TreeReplay, depth: NDArray[np.int64], par_s: Floats, move: int
) -> NDArray[np.float32]:
    """The real reward of the move into each node, in seconds above par as the tree counts it."""
    after = np.minimum(move + depth, len(par_s) - 1)
    before = np.maximum(after - 1, 0)
    relative = replayed.reward_s - (par_s[before] - par_s[after])
    return np.where(depth > 0, relative, 0.0).astype(np.float32)

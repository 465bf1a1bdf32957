"""What the agent thought at every move of a game, as data: for pages and files, without JAX.

Values and rewards are in points above the baseline, which a trace calls `par`; that and `point_s`
turn them into seconds. Letters: `L` moves, `A` actions, `N` simulations, `U` imagined steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.agent.arrays import pack, unpack
from engine.agent.config import MOST_SIMULATIONS
from engine.errors import CheckpointError
from engine.files import json_of, write_bytes
from engine.game.moves import NUM_ACTIONS, PLACE_RULES, Rules
from engine.game.notes import planned_of

KIND, VERSION = "mallocmuzero-trace", 1
MAX_BYTES = 512 * 2**20
"""Of the arrays of a file, unpacked."""
_WIDEST = MOST_SIMULATIONS + 1
"""Nodes of a tree, or imagined steps."""
_WHOLE = ("action", "tree_parent", "tree_action", "tree_visits")
"""Columns of whole numbers; all others but `legal` are of single precision."""


@dataclass(frozen=True)
class SearchTrace:
    """One game as the agent saw it; NumPy arrays.

    Per move: the `action` played, `legal` ones, `reward` earned, `prior` and improved `policy`, the
    networks' `raw_value` and the searched `value` of the position. `tree_…`: see
    `engine.agent.search.Tree`. `imagined_reward[m, u]`: what the learned model, started at move
    `m`, predicts for move `m + u` of this game; `imagined_value[m, u]`: for the position before
    that move. Past the end of the game both are 0. `settings`: the fields of the `SearchConfig`;
    empty in files without them. `place`, `planned`: the place rule of the game and its planned
    places (`engine.game.moves.Rules`); the rule is empty in files that do not say.
    """

    program: str
    program_hash: str
    model: str
    point_s: float
    par: NDArray[np.float32]  # [L + 1]
    action: NDArray[np.int32]  # [L]
    legal: NDArray[np.bool_]  # [L, A]
    reward: NDArray[np.float32]  # [L]
    prior: NDArray[np.float32]  # [L, A]
    policy: NDArray[np.float32]  # [L, A]
    raw_value: NDArray[np.float32]  # [L]
    value: NDArray[np.float32]  # [L]
    tree_parent: NDArray[np.int32]  # [L, N + 1]
    tree_action: NDArray[np.int32]  # [L, N + 1]
    tree_visits: NDArray[np.int32]  # [L, N + 1]
    tree_value: NDArray[np.float32]  # [L, N + 1]
    tree_raw_value: NDArray[np.float32]  # [L, N + 1]
    tree_reward: NDArray[np.float32]  # [L, N + 1]
    tree_prior: NDArray[np.float32]  # [L, N + 1]
    imagined_reward: NDArray[np.float32]  # [L, U]
    imagined_value: NDArray[np.float32]  # [L, U]
    settings: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    planned: tuple[tuple[int, int, int], ...] = ()

    @property
    def rules(self) -> Rules | None:
        """The rules of the game; None if the trace does not say."""
        return Rules(place=self.place, planned=self.planned) if self.place else None

    @property
    def num_moves(self) -> int:
        """The number of moves, `L`."""
        return len(self.action)

    def root_visits(self) -> NDArray[np.int32]:
        """Visits of each action at the root, `[L, A]`."""
        visits = np.zeros(self.prior.shape, np.int32)
        moves, nodes = np.nonzero((self.tree_parent == 0) & (self.tree_visits > 0))
        visits[moves, self.tree_action[moves, nodes]] = self.tree_visits[moves, nodes]
        return visits


def save_trace(trace: SearchTrace, path: Path) -> None:
    """Write a trace as one `.npz` file without pickles."""
    head: dict[str, Any] = {"kind": KIND, "version": VERSION}
    arrays = {}
    for f in fields(trace):
        value = getattr(trace, f.name)
        if isinstance(value, np.ndarray):
            arrays[f.name] = value
        else:
            head[f.name] = dict(value) if isinstance(value, Mapping) else value
    write_bytes(path, pack({"head": np.array(json.dumps(head)), **arrays}))


def load_trace(path: Path) -> SearchTrace:
    """Read a trace. Raises CheckpointError if the file is not one of this version."""
    try:
        return trace_from_bytes(path.read_bytes(), path.name)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror})") from error


def trace_from_bytes(data: bytes, name: str) -> SearchTrace:
    """The trace of a file's content. Raises CheckpointError, which names the file."""
    try:
        arrays: dict[str, Any] = dict(unpack(data, MAX_BYTES))
        head = json_of(str(arrays.pop("head")))
        if (head.pop("kind"), head.pop("version")) != (KIND, VERSION):
            raise CheckpointError(f"{name}: is a trace of another version; make it again")
        noted = head.pop("planned", [])
        planned = planned_of(noted)
        if noted and not planned:
            raise ValueError("planned places must be triples of integers")
        return _consistent(SearchTrace(**head, planned=planned, **arrays))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{name}: is not a readable search trace; make it again") from error


def _consistent(trace: SearchTrace) -> SearchTrace:
    """Raises ValueError if the columns do not fit together, or a tree is none."""
    moves, actions = trace.prior.shape
    nodes, steps = trace.tree_parent.shape[1], trace.imagined_reward.shape[1]
    if actions != NUM_ACTIONS or not 1 <= nodes <= _WIDEST or steps > _WIDEST:
        raise ValueError("more columns than a search has, or less")
    shapes: dict[str, tuple[int, ...]] = {"par": (moves + 1,)}
    for name in ("action", "reward", "raw_value", "value"):
        shapes[name] = (moves,)
    for name in ("legal", "prior", "policy"):
        shapes[name] = (moves, actions)
    for name in ("parent", "action", "visits", "value", "raw_value", "reward", "prior"):
        shapes[f"tree_{name}"] = (moves, nodes)
    for name in ("imagined_reward", "imagined_value"):
        shapes[name] = (moves, steps)
    for name, shape in shapes.items():
        column = getattr(trace, name)
        kind = "bool" if name == "legal" else "int32" if name in _WHOLE else "float32"
        if column.dtype != kind or column.shape != shape or not np.all(np.isfinite(column)):
            raise ValueError(f"{name} must be {shape} finite numbers of type {kind}")
    _require_trees(trace)
    if np.any((trace.action < 0) | (trace.action >= actions)) or not trace.point_s > 0:
        raise ValueError("unknown actions, or points without a size")
    if not all(isinstance(text, str) for text in (trace.program, trace.program_hash, trace.model)):
        raise TypeError("program and model must have names")
    if trace.place not in ("", *PLACE_RULES):
        raise ValueError("a place rule that there is not")
    if not all(isinstance(value, str | int | float) for value in trace.settings.values()):
        raise TypeError("the settings must be plain values")
    return trace


def _require_trees(trace: SearchTrace) -> None:
    """Raises ValueError where the nodes of a move are no tree with its root first."""
    visits, parent, action = trace.tree_visits, trace.tree_parent, trace.tree_action
    is_node, order = visits > 0, np.arange(visits.shape[1])
    if not is_node[:, 0].all() or np.any(is_node[:, 1:] > is_node[:, :-1]) or np.any(visits < 0):
        raise ValueError("the root must be visited, and no node behind one that is not")
    is_fit = (parent < order) & (parent >= np.where(order, 0, -1))
    is_action = (action >= 0) & (action < NUM_ACTIONS)
    is_action[:, 0] = True
    if np.any(is_node & ~(is_fit & is_action)):
        raise ValueError("a node must come after its parent, by a known action")
    above = np.take_along_axis(visits, np.where(is_node, parent, 0).clip(0), axis=1)
    if np.any(visits > above):
        raise ValueError("a node must not be visited more often than its parent")

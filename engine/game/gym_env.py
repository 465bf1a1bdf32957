"""The reference game as a Gymnasium environment, for agents from elsewhere."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from engine.game.moves import NUM_ACTIONS, Move, Rules
from engine.game.quantise import TICKS
from engine.game.reference.game import ReferenceGame
from engine.plan.model import Plan
from engine.program.model import Program

NUM_CELLS = 64
NUM_IDLE_SLOTS = 32
NUM_MOVES_AHEAD = 8
MOVE_FEATURES = (
    "reads",
    "writes",
    "is resident",
    "is dirty",
    "size / fast memory",
    "rank of saving per byte",
    "saving (log)",
    "copy time (log)",
    "time to next touch / slots",
    "moves played / moves",
)
AHEAD_FEATURES = ("time away / slots", "size / fast memory", "rank", "saving (log)")

Observation = dict[str, Any]
"""Float32 arrays by name."""


class MallocEnv(gymnasium.Env[Observation, np.int64]):
    """One program as a one-player game; moves with a single legal action play themselves.

    Actions: 0 Copy, 1 NoCopy, 2 Drop. `info["action_mask"]`, int8 `[3]`, is 1 where legal. An
    illegal action is replaced by NoCopy if that is legal, else by Drop; `info["played_action"]`
    tells which one counted. The rewards of an episode add up to
    `(all_slow_s - latency_s) / all_slow_s`; those of moves before the first decision come with the
    first step.

    Observations are float32 in [0, 1]: `move` `[10]`, see `MOVE_FEATURES`; `ahead` `[8 * 4]`, the
    next 8 moves by `AHEAD_FEATURES`; `occupied` and `ghosts` `[64]`, the share of each 1/64 of the
    addresses that is taken for certain, or by ghosts, in the slot of the move; `idle` `[32]`, free
    copy time of the 32 slots before, nearest last, log scale.
    """

    def __init__(self, program: Program, rules: Rules | None = None) -> None:
        """Wrap the game of `program`."""
        self.program = program
        self._start = ReferenceGame(program, rules or Rules())
        self._early_reward = self._start.play_forced()
        self._top_rank = max((m.rank for m in self._start.moves), default=0)
        self._game: ReferenceGame | None = None
        sizes = {
            "move": len(MOVE_FEATURES),
            "ahead": NUM_MOVES_AHEAD * len(AHEAD_FEATURES),
            "occupied": NUM_CELLS,
            "ghosts": NUM_CELLS,
            "idle": NUM_IDLE_SLOTS,
        }
        self._sizes = sizes
        boxes: dict[str, gymnasium.Space[Any]] = {
            # A write may cost time: what a move saves may be negative.
            name: gymnasium.spaces.Box(-1.0 if name in ("move", "ahead") else 0.0, 1.0, (size,))
            for name, size in sizes.items()
        }
        self.observation_space = gymnasium.spaces.Dict(boxes)
        self.action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
        self.spec = EnvSpec(
            id="mallocmuzero/MallocGame-v0",
            entry_point=f"{__name__}:{type(self).__name__}",
            kwargs={"program": program, "rules": rules},
        )

    @property
    def game(self) -> ReferenceGame:
        """The game in progress. Raises gymnasium's ResetNeeded before the first `reset`."""
        if self._game is None:
            raise ResetNeeded("call reset() before the first step()")
        return self._game

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start again; the game has no chance in it, so `seed` changes nothing."""
        super().reset(seed=seed, options=options)
        self._game = self._start.clone()
        self._waiting_reward = self._early_reward
        return self._observe(), {"action_mask": self._mask()}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play `action`, or its replacement if illegal, and all forced moves after it."""
        game = self.game
        reward, self._waiting_reward = self._waiting_reward, 0.0
        played = int(action)
        if not game.is_over:
            played = game.nearest(played)
            reward += game.step(played) + game.play_forced()
        info = {"action_mask": self._mask(), "played_action": played}
        return self._observe(), reward, game.is_over, False, info

    def plan(self, solver: str = "gymnasium") -> Plan:
        """The plan that was played. Raises ValueError unless the episode is over."""
        return self.game.plan(solver)

    def _mask(self) -> NDArray[np.int8]:
        """Legal actions; all of them once the game is over, so that samplers have a choice."""
        game = self.game
        return np.array([True] * NUM_ACTIONS if game.is_over else game.legal(), dtype=np.int8)

    def _observe(self) -> Observation:
        game = self.game
        if game.is_over:
            return {name: np.zeros(size, np.float32) for name, size in self._sizes.items()}
        occupied, ghosts = self._addresses(game)
        parts = {
            "move": self._move_features(game),
            "ahead": self._ahead_features(game),
            "occupied": occupied,
            "ghosts": ghosts,
            "idle": self._idle(game),
        }
        return {name: np.clip(part, 0.0, 1.0).astype(np.float32) for name, part in parts.items()}

    def _move_features(self, game: ReferenceGame) -> NDArray[np.float64]:
        move, block = game.move, game.live.get(game.move.group)
        return np.array(
            [
                move.reads,
                move.writes,
                block is not None,
                block is not None and block.is_dirty,
                self._size_share(move),
                self._rank_share(move),
                _log_share(move.saving_ticks),
                _log_share(move.work_ticks),
                (move.next_time - move.time) / self.program.num_slots,
                game.move_index / game.num_moves,
            ],
            dtype=np.float64,
        )

    def _ahead_features(self, game: ReferenceGame) -> NDArray[np.float64]:
        rows = np.zeros((NUM_MOVES_AHEAD, len(AHEAD_FEATURES)))
        ahead = game.moves[game.move_index + 1 : game.move_index + 1 + NUM_MOVES_AHEAD]
        for row, move in zip(rows, ahead, strict=False):
            row[:] = (
                (move.time - game.move.time) / self.program.num_slots,
                self._size_share(move),
                self._rank_share(move),
                _log_share(move.saving_ticks),
            )
        return rows.ravel()

    def _size_share(self, move: Move) -> float:
        return move.size_granules / self._start.facts.numbers.fast_granules

    def _rank_share(self, move: Move) -> float:
        return (move.rank + 1) / (self._top_rank + 1)

    def _addresses(self, game: ReferenceGame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        numbers = game.facts.numbers
        time = game.move.time
        edges = np.linspace(0, numbers.fast_granules, NUM_CELLS + 1)
        occupied, ghosts = np.zeros(NUM_CELLS), np.zeros(NUM_CELLS)
        if time < self.program.num_slots:
            occupied += _coverage(edges, 0, numbers.reserved[time])
        for block in [*game.ended, *game.live.values()]:
            if block.stands_at(time):
                cells = ghosts if block.is_ghost(time) else occupied
                cells += _coverage(edges, block.offset, block.offset + block.size)
        return occupied, ghosts

    def _idle(self, game: ReferenceGame) -> NDArray[np.float64]:
        time = game.move.time
        recent = game.left[max(0, time - NUM_IDLE_SLOTS) : time]
        shares = [_log_share(ticks) for ticks in recent]
        return np.array([0.0] * (NUM_IDLE_SLOTS - len(shares)) + shares)


def _log_share(ticks: int) -> float:
    """0 for none, 1 for as long as the whole program with everything in slow memory.

    What a write costs in fast memory is negative.
    """
    return math.copysign(math.log1p(abs(ticks)) / math.log1p(TICKS), ticks)


def _coverage(edges: NDArray[np.float64], low: int, high: int) -> NDArray[np.float64]:
    """Share of each cell between consecutive `edges` that `[low, high)` covers."""
    shared = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    return np.asarray(np.maximum(0.0, shared) / (edges[1] - edges[0]), dtype=np.float64)

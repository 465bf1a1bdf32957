"""The plain game as an environment of Gymnasium; importing this module registers it.

    env = gymnasium.make("mallocmuzero/MallocGame-v0", program="resnet50-v5e-b64")

`engine.game.environment` is the game in JAX; `docs/environments.md` shows both.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import Error, InvalidAction, ResetNeeded
from numpy.typing import NDArray

from engine.errors import ConfigError, UsageError, in_one_line
from engine.game.moves import NUM_ACTIONS, Move, Rules
from engine.game.quantise import TICKS
from engine.game.reference.game import ReferenceGame
from engine.plan.model import Plan
from engine.program import library
from engine.program.model import Program

ENV_ID = "mallocmuzero/MallocGame-v0"
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
SAVING = "saving (log)"
"""The one feature that may be negative: a write may take longer into fast memory."""

Observation = dict[str, Any]
"""Float32 arrays by name."""


class MallocEnv(gymnasium.Env[Observation, np.int64]):
    """One program as a one-player game; moves with a single legal action play themselves.

    The five actions are `engine.game.moves.ACTION_NAMES`. `action_masks()`, and as int8 numbers
    `info["action_mask"]`, say which are legal, `[5]`; all are once the game is over. An illegal
    action is replaced by the same kind at the rule's end, else NoCopy, else Drop;
    `info["played_action"]` tells which one counted. The rewards of an episode add up to
    `(all_slow_s - latency_s) / all_slow_s`.

    Observations are float32 arrays, cut off at the bounds of their space: 0 and 1, but -1 and 1 for
    a saving. `move` `[10]`, see `MOVE_FEATURES`; `ahead` `[8 * 4]`, the next 8 moves by
    `AHEAD_FEATURES`; `occupied` and `ghosts` `[64]`, the share of each 1/64 of the addresses that
    is taken for certain, or by ghosts, in the slot of the move; `idle` `[32]`, free copy time of
    the 32 slots before, nearest last, log scale. Zeros once the game is over.
    """

    def __init__(self, program: Program | str, rules: Rules | None = None) -> None:
        """Wrap the game of `program`: one at hand, a sample's name, or a path.

        Raises UnknownNameError and ProgramFormatError as `engine.program.library.resolve`,
        UsageError for what is none of these, ConfigError for rules with dead ends.
        """
        if rules is not None and rules.strict:
            raise ConfigError("the environment has no strict sinks; leave them out of its rules")
        if not isinstance(program, Program | str):
            what = in_one_line(repr(program), 60)
            raise UsageError(
                f"program cannot be {what}: give a program, a sample's name or a path as text"
            )
        self.program = library.resolve(program) if isinstance(program, str) else program
        self._start = ReferenceGame(self.program, rules or Rules())
        # They drop what is not there, which is worth nothing.
        self._start.play_forced()
        self._top_rank = max((m.rank for m in self._start.moves), default=0)
        self._game: ReferenceGame | None = None
        lows = {
            "move": _lows(MOVE_FEATURES),
            "ahead": np.tile(_lows(AHEAD_FEATURES), NUM_MOVES_AHEAD),
            "occupied": np.zeros(NUM_CELLS, np.float32),
            "ghosts": np.zeros(NUM_CELLS, np.float32),
            "idle": np.zeros(NUM_IDLE_SLOTS, np.float32),
        }
        self._boxes = {
            name: gymnasium.spaces.Box(low, np.ones_like(low)) for name, low in lows.items()
        }
        self.observation_space = gymnasium.spaces.Dict(dict(self._boxes))
        self.action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
        # Of an environment that was not made by `gymnasium.make`, which writes its own.
        self.spec = EnvSpec(
            id=ENV_ID, entry_point=_ENTRY_POINT, kwargs={"program": program, "rules": rules}
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
        """Start again; the game has no chance in it, so `seed` changes nothing.

        Raises gymnasium's Error for options, of which there are none.
        """
        if options:
            raise Error(f"reset: there are no options, so {sorted(options)} would be ignored")
        super().reset(seed=seed)
        self._game = self._start.clone()
        return self._observe(), {"action_mask": self._mask()}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play `action`, or its replacement if illegal, and all forced moves after it.

        Raises gymnasium's InvalidAction for what is no action.
        """
        game = self.game
        if not self.action_space.contains(action):
            raise InvalidAction(
                f"step: {action!r} is no action; give a whole number from 0 to {NUM_ACTIONS - 1}"
            )
        played, reward = int(action), 0.0
        if not game.is_over:
            played = game.nearest(played)
            reward = game.step(played) + game.play_forced()
        info = {"action_mask": self._mask(), "played_action": played}
        return self._observe(), reward, game.is_over, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are legal, `[5]`, by the name that maskable agents ask for."""
        return self._mask().astype(np.bool_)

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
            return {name: np.zeros_like(box.low) for name, box in self._boxes.items()}
        occupied, ghosts = self._addresses(game)
        parts = {
            "move": self._move_features(game),
            "ahead": self._ahead_features(game),
            "occupied": occupied,
            "ghosts": ghosts,
            "idle": self._idle(game),
        }
        return {
            name: np.clip(part, self._boxes[name].low, self._boxes[name].high).astype(np.float32)
            for name, part in parts.items()
        }

    def _move_features(self, game: ReferenceGame) -> NDArray[np.float64]:
        move, block = game.move, game.state.live.get(game.move.group)
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
        for block in [*game.state.ended, *game.state.live.values()]:
            if block.stands_at(time):
                cells = ghosts if block.is_ghost(time) else occupied
                cells += _coverage(edges, block.offset, block.offset + block.size)
        return occupied, ghosts

    def _idle(self, game: ReferenceGame) -> NDArray[np.float64]:
        time = game.move.time
        recent = game.state.ledger.left[max(0, time - NUM_IDLE_SLOTS) : time]
        shares = [_log_share(ticks) for ticks in recent]
        return np.array([0.0] * (NUM_IDLE_SLOTS - len(shares)) + shares)


def _lows(features: tuple[str, ...]) -> NDArray[np.float32]:
    """The least value of each feature."""
    return np.array([-1.0 if name == SAVING else 0.0 for name in features], np.float32)


def _log_share(ticks: int) -> float:
    """0 for none, 1 for as long as the whole program with everything in slow memory.

    What a write costs in fast memory is negative.
    """
    return math.copysign(math.log1p(abs(ticks)) / math.log1p(TICKS), ticks)


def _coverage(edges: NDArray[np.float64], low: int, high: int) -> NDArray[np.float64]:
    """Share of each cell between consecutive `edges` that `[low, high)` covers."""
    shared = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    return np.asarray(np.maximum(0.0, shared) / (edges[1] - edges[0]), dtype=np.float64)


_ENTRY_POINT = f"{__name__}:{MallocEnv.__name__}"
gymnasium.register(ENV_ID, _ENTRY_POINT)

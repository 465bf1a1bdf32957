"""A workload: one program as the agent works on it, with its memory of games on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from engine.agent.arena import Arena, baseline_of, make_arena
from engine.agent.config import AgentConfig
from engine.agent.network import Params
from engine.agent.replay_buffer import ReplayBuffer
from engine.agent.self_play import CHUNK, Played, first_positions, play_games
from engine.agent.types import Game
from engine.errors import SolverError
from engine.game.jaxgame.encoding import Shape, encode, shape_of
from engine.game.jaxgame.env import Position
from engine.game.move_list import moves
from engine.game.moves import MANY_BLOCKS, Rules, table_rows
from engine.game.observation.static import Wishes, features, possible_s
from engine.game.reference.game import ReferenceGame
from engine.plan.bounds import Bound
from engine.program.model import Program

SHAPES = ((192, 64, 64), (768, 192, 128), (1536, 704, 192))
"""Moves, slots and look-back to which programs are padded, so that they share compiled games."""


@dataclass(eq=False)
class Workload:
    """A program, its arena, and its memory of games.

    `point_s`: seconds in a point; `baseline`: points that a game of the heuristics saves, in the
    mean (`engine.agent.arena`). `demonstrations`: actions of those games; `taught`: of games of
    stronger solvers, which are shown in their stead, but set no baseline.
    """

    program: Program
    rules: Rules
    arena: Arena
    num_moves: int
    point_s: float
    baseline: float
    demonstrations: tuple[tuple[int, ...], ...]
    replay: ReplayBuffer
    taught: tuple[tuple[int, ...], ...] = ()

    def saved_s(self, score: float) -> float:
        """Seconds that a game of that score saves against all slow."""
        return (score + self.baseline) * self.point_s


def make_workload(
    program: Program,
    demonstrations: Sequence[Sequence[int]],
    config: AgentConfig,
    *,
    rules: Rules | None = None,
    bound: Bound | None = None,
    shape: Shape | None = None,
    taught: Sequence[Sequence[int]] = (),
    wishes: Wishes | None = None,
) -> Workload:
    """Prepare `program`; `demonstrations` are games' actions, one per move, and set the baseline.

    `taught`: a teacher's games, which are shown in their place. `wishes`: of the draft whose rules
    these are. Without a `bound` points are shares of what all fast would save. Raises SolverError
    if the program has no moves or the JAX game cannot hold it, and ValueError if an action of any
    game is illegal.
    """
    rows = moves(program)
    if not rows:
        raise SolverError(f"{program.name}: nothing is decided here, so leave it out")
    rules = rules or Rules()
    if shape is None:
        shape = padded_shape(shape_of(program, rules), rules, table_rows(rules, rows))
    encoded = encode(program, rules, shape)
    known = features(program, encoded, bound, config.hidden, wishes=wishes)
    point_s = possible_s(program, bound) / 100
    rewards = [points_of(program, rules, game, point_s) for game in demonstrations]
    for game in taught:
        points_of(program, rules, game, point_s)
    baseline = baseline_of(rewards, encoded.moves.shape[0])
    return Workload(
        program=program,
        rules=rules,
        arena=make_arena(encoded, known, baseline),
        num_moves=int(encoded.num_moves),
        point_s=point_s,
        baseline=float(baseline[0]),
        demonstrations=tuple(tuple(game) for game in demonstrations),
        replay=ReplayBuffer(config.replay),
        taught=tuple(tuple(game) for game in taught),
    )


def padded_shape(shape: Shape, rules: Rules, max_blocks: int) -> Shape:
    """The smallest of `SHAPES` that holds this shape; the shape itself if none does.

    `max_blocks`: as `table_rows` says. Nothing is longer than the rules allow, or than any use.
    """
    for num_moves, num_slots, look_back in SHAPES:
        if shape.num_moves <= num_moves and shape.num_slots <= num_slots:
            width = min(rules.look_back, max(shape.look_back, look_back))
            return replace(
                shape,
                num_moves=num_moves,
                num_slots=num_slots,
                look_back=width,
                num_blocks=max(shape.num_blocks, min(max_blocks, MANY_BLOCKS)),
            )
    return shape


def points_of(
    program: Program, rules: Rules, actions: Sequence[int], point_s: float
) -> list[float]:
    """Points that each move of a game earns. Raises ValueError if an action is illegal."""
    game = ReferenceGame(program, rules)
    return [game.step(int(action)) * program.all_slow_s / point_s for action in actions]


def play_script(
    params: Params,
    workload: Workload,
    script: NDArray[np.int32],
    config: AgentConfig,
    go_on: Callable[[], bool] = lambda: True,
    *,
    positions: Position | None = None,
    stops: Callable[[int], bool] = lambda moves: False,
    looks: bool = True,
) -> Played | None:
    """Games `[L, B]` that follow a script, without trees and without noise where it is free.

    From `positions` on, else from the first move; the rest as in `play_games`. `B` as in the rounds
    of play, so that nothing is compiled for it.
    """
    together = config.self_play.games
    return play_games(
        params,
        workload.arena,
        first_positions(workload.arena, together) if positions is None else positions,
        jax.random.key(0),
        np.zeros((together, 1), np.float32),
        script,
        config.search,
        go_on,
        grows=False,
        stops=stops,
        looks=looks,
    )


def follow(
    workload: Workload,
    params: Params,
    actions: Sequence[Sequence[int]] | Sequence[NDArray[np.int32]] | NDArray[np.int32],
    config: AgentConfig,
) -> list[Game]:
    """The games that were played by these actions, as the learner wants them.

    Their policies are the actions, their values what they really earned.
    """
    games = _watched(workload, params, actions, config)
    for game in games:
        game.policy, game.value = game.played, to_go(game.reward)
    return games


def seen(
    workload: Workload, params: Params, games: Sequence[Game], config: AgentConfig
) -> list[Game]:
    """The games with what the player saw in them, and what the networks think of it."""
    unseen = [game for game in games if not game.is_seen]
    again = iter(_watched(workload, params, [game.action for game in unseen], config))
    return [game if game.is_seen else _with_view(game, next(again)) for game in games]


def _with_view(game: Game, now: Game) -> Game:
    return replace(game, view=now.view, value=now.value)


def _watched(
    workload: Workload,
    params: Params,
    actions: Sequence[Sequence[int]] | Sequence[NDArray[np.int32]] | NDArray[np.int32],
    config: AgentConfig,
) -> list[Game]:
    games: list[Game] = []
    together = config.self_play.games
    for first in range(0, len(actions), together):
        some = np.asarray(actions[first : first + together], np.int32)
        script = np.resize(some, (together, some.shape[1])).T
        played = play_script(params, workload, script, config)
        assert played is not None
        games += split(played)[: len(some)]
    return games


def positions_in(games: Sequence[Game], chunk: int) -> Position:
    """The positions of games before one of their chunks, `[B, ...]`."""
    positions: Position = jax.tree.map(
        lambda *some: jnp.asarray(np.stack([column[chunk] for column in some])),
        *(game.trail for game in games),
    )
    return positions


def position_in(game: Game, chunk: int, batch: int) -> Position:
    """`B` times the position of a game before one of its chunks."""
    positions: Position = jax.tree.map(
        lambda column: jnp.asarray(np.repeat(column[chunk][None], batch, axis=0)), game.trail
    )
    return positions


def continued(prefix: Game, game: Game, start: int) -> Game:
    """The whole game that began like `prefix` and went on as `game` after move `start`."""
    width = min(prefix.view.shape[1], game.view.shape[1])
    return Game(
        view=np.concatenate([prefix.view[:start, :width], game.view[:, :width]]),
        legal=np.concatenate([prefix.legal[:start], game.legal]),
        action=np.concatenate([prefix.action[:start], game.action]),
        policy=np.concatenate([prefix.policy[:start], game.policy]),
        value=np.concatenate([prefix.value[:start], game.value]),
        reward=np.concatenate([prefix.reward[:start], game.reward]),
        trail=jax.tree.map(
            lambda before, after: np.concatenate([before[: start // CHUNK], after]),
            prefix.trail,
            game.trail,
        ),
    )


def split(played: Played) -> list[Game]:
    """The games of a batch, one by one."""
    return [one_of(played, lane) for lane in range(played.moves.action.shape[1])]


def one_of(played: Played, lane: int) -> Game:
    """One game of a batch."""
    moves = played.moves
    return Game(
        view=np.asarray(moves.view[:, lane]),
        legal=np.asarray(moves.legal[:, lane]),
        action=np.asarray(moves.action[:, lane]),
        policy=np.asarray(moves.policy[:, lane]),
        value=np.asarray(moves.value[:, lane]),
        reward=np.asarray(moves.reward[:, lane]),
        trail=jax.tree.map(lambda column: column[:, lane].copy(), played.trail),
    )


def to_go(reward: NDArray[np.float32]) -> NDArray[np.float32]:
    """The return of each move `[L]`: the sum of its reward and of all later ones."""
    sums: NDArray[np.float32] = np.cumsum(reward[::-1], dtype=np.float64)[::-1].astype(np.float32)
    return sums

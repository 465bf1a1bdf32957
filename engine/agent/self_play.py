"""Playing games: `B` games of one program in step, some moves per compiled call.

The same function plays freely and follows a script (demonstrations, the beginning of an earlier
game). Letters as in `engine.agent.search`; `C` moves of one call, `L` moves of a game.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from engine.agent.arena import Arena
from engine.agent.config import SearchConfig
from engine.agent.network import Params
from engine.agent.search import by_draft, decide
from engine.game.jaxgame import env
from engine.game.jaxgame.env import Position

CHUNK = 32
"""Moves per compiled call."""
FREE = -1
"""In a script: the agent decides this move."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Moves:
    """What happened at some moves of `B` games; rewards and values in points above the baseline.

    A policy of zeros: no tree was grown. On the host the same fields are NumPy arrays.
    """

    view: Array  # [C, B, NUM_VIEW], half precision; [C, B, 0] where nobody looked
    legal: Array  # [C, B, A]
    action: Array  # [C, B]
    policy: Array  # [C, B, A]
    value: Array  # [C, B]
    reward: Array  # [C, B]


@dataclass(frozen=True)
class Played:
    """`B` games that were played, on the host.

    `moves`: one entry per move. `trail`: the positions before each chunk, `[L / CHUNK, B, ...]` of
    each array, from which other games can go on. `end`: those after the last move, `[B, ...]`.
    """

    moves: Moves
    trail: Position
    end: Position


def first_positions(arena: Arena, batch: int) -> Position:
    """`B` times the position before the first move, on the host."""
    start = jax.device_get(env.reset(arena.encoded))
    many: Position = jax.tree.map(lambda x: np.broadcast_to(x, (batch, *x.shape)), start)
    return many


@partial(jax.jit, static_argnames=("config", "looks"), donate_argnames="positions")
def play_chunk(
    params: Params,
    arena: Arena,
    positions: Position,
    key: Array,
    temperature: Array,
    script: Array,
    config: SearchConfig,
    grows: Array | bool = True,
    looks: bool = True,
) -> tuple[Position, Moves]:
    """Play as many moves as `script` `[C, B]` is long; past the end of a game nothing happens.

    What the script wants and is not allowed is decided as where it is `FREE`.
    `key` is consumed. `temperature` `[B, 1]` and `grows` `[]`: see `engine.agent.search`. Who does
    not look plays by the draft alone (`by_draft`).
    """

    def play(positions: Position, now: tuple[Array, Array]) -> tuple[Position, Moves]:
        key, wanted = now
        decision = (
            decide(params, arena, positions, key, config, temperature, grows)
            if looks
            else by_draft(arena, positions, key, temperature)
        )
        move = positions.state.move
        allowed = jax.vmap(lambda mask, one: mask[one])(positions.options.mask, wanted)
        action = jnp.where((wanted == FREE) | ~allowed, decision.action, wanted)
        following, reward = jax.vmap(env.step, in_axes=(None, 0, 0))(
            arena.encoded, positions, action
        )
        relative = jax.vmap(arena.relative)(move, reward)
        done = Moves(
            view=decision.view.astype(jnp.float16),
            legal=positions.options.mask,
            action=action,
            policy=decision.policy,
            value=decision.value,
            reward=jnp.where(move < arena.encoded.num_moves, relative, 0.0),
        )
        return following, done

    keys = jax.random.split(key, script.shape[0])
    played: tuple[Position, Moves] = jax.lax.scan(play, positions, (keys, script))
    return played


def play_games(
    params: Params,
    arena: Arena,
    positions: Position,
    key: Array,
    temperature: NDArray[np.float32],
    script: NDArray[np.int32],
    config: SearchConfig,
    go_on: Callable[[], bool] = lambda: True,
    grows: bool = True,
    stops: Callable[[int], bool] = lambda moves: False,
    looks: bool = True,
) -> Played | None:
    """Play the moves of `script` `[L, B]`, with `L` at least 1; `grows`: with a tree at each.

    Without `looks` there is none, and nothing is noted of what is seen: see `by_draft`.

    None if `go_on`, asked between chunks, says no. `stops`, asked after each chunk with the number
    of moves so far, ends the games early.
    """
    length, batch = script.shape
    padded = np.full((-(-length // CHUNK) * CHUNK, batch), FREE, np.int32)
    padded[:length] = script
    parts, trail = [], []
    for start in range(0, len(padded), CHUNK):
        if not go_on():
            return None
        # Copies: the arrays themselves are given away.
        trail.append(jax.tree.map(np.array, positions))
        positions, moves = play_chunk(
            params,
            arena,
            positions,
            jax.random.fold_in(key, start // CHUNK),
            temperature,
            padded[start : start + CHUNK],
            config,
            np.bool_(grows),
            looks,
        )
        parts.append(jax.device_get(moves))
        if stops(start + CHUNK):
            break
    return Played(
        moves=jax.tree.map(lambda *some: np.concatenate(some)[:length], *parts),
        trail=jax.tree.map(lambda *some: np.stack(some), *trail),
        end=jax.device_get(positions),
    )


def noise_levels(batch: int) -> NDArray[np.float32]:
    """How noisy each game of a batch is, `[B]`, 0 to 1; the first has none."""
    return np.linspace(0.0, 1.0, batch, dtype=np.float32)


def temperatures(levels: NDArray[np.float32], top: float) -> NDArray[np.float32]:
    """Temperature of each game's choices, `[B, 1]`."""
    return (levels**1.5 * np.float32(top))[:, None]

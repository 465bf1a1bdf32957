"""Playing whole games under jit: positions that know their options, rollouts, and Drop-backup.

A `Position` is what a search keeps per node: the state and what each action would do in it, so that
one step costs one analysis. Strict sinks, their dead ends and Drop-backup are here for the tests
alone, which compare them with the plain game. Letters as in `engine.game.jaxgame.state`; `M` moves
(padded), `A` actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from engine.game.jaxgame.encoding import COLUMN, EncodedProgram
from engine.game.jaxgame.lanes import beside, in_lanes
from engine.game.jaxgame.state import State, initial_state
from engine.game.jaxgame.step import Options, analyse, apply
from engine.game.moves import DROP, NUM_ACTIONS

NO_ACTION = -1
"""In `Script.actions`: the policy decides this move."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Position:
    """A state and what can be done in it."""

    state: State
    options: Options


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Record:
    """What happened at each move of a game; entries past the last move mean nothing.

    `was_dead`: the game had already ended, or ended here, in a dead end (strict sinks only).
    `offset`, `start`: of the block that the move created, else -1 and the move's slot.
    """

    action: Array  # [M]
    mask: Array  # [M, A]
    offset: Array  # [M]
    start: Array  # [M]
    reward_ticks: Array  # [M]
    stall_ticks: Array  # [M]
    was_dead: Array  # [M]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Script:
    """What is settled before a game: actions to play (or `NO_ACTION`), and moves bound to Drop."""

    actions: Array  # [M]
    must_drop: Array  # [M]


PolicyFn = Callable[[EncodedProgram, Position, Array], Array]
"""Chooses an action from a position and three uniform random numbers in [0, 1), shape `[A]`."""


def random_policy(encoded: EncodedProgram, position: Position, noise: Array) -> Array:
    """Any legal action with equal chance."""
    return jnp.argmax(jnp.where(position.options.mask, noise, -1.0)).astype(jnp.int32)


@jax.jit
@in_lanes
def reset(encoded: EncodedProgram) -> Position:
    """The position before the first move; compiled once per shape, whoever asks for it."""
    state = initial_state(encoded, encoded.games)
    return Position(state, analyse(encoded, state))


@in_lanes
def step(encoded: EncodedProgram, position: Position, action: Array) -> tuple[Position, Array]:
    """Play `action` (or the nearest legal one); returns the next position and the reward."""
    state, outcome = apply(encoded, position.state, position.options, action)
    return Position(state, analyse(encoded, state)), outcome.reward


def free_script(encoded: EncodedProgram) -> Script:
    """A script that leaves every move to the policy."""
    num_moves = encoded.moves.shape[0]
    return Script(
        actions=jnp.full(num_moves, NO_ACTION, jnp.int32),
        must_drop=jnp.zeros(num_moves, bool),
    )


def scripted(encoded: EncodedProgram, actions: Sequence[int]) -> Script:
    """A script of the first moves' actions; the rest is left to the policy."""
    script = free_script(encoded)
    fixed = np.asarray(script.actions).copy()
    fixed[: len(actions)] = actions
    return replace(script, actions=jnp.asarray(fixed))


@partial(jax.jit, static_argnames="policy_fn")
def rollout(
    encoded: EncodedProgram,
    key: Array,
    script: Script | None = None,
    policy_fn: PolicyFn = random_policy,
) -> tuple[State, Record]:
    """One whole game; `key` is consumed. Games that are vmapped over `key` keep in step.

    A scripted action that is illegal is replaced by NoCopy if that is legal, else by Drop.
    """
    noise = jax.random.uniform(key, (encoded.moves.shape[0], NUM_ACTIONS))
    play: Callable[[EncodedProgram, Array, Script], tuple[State, Record]] = in_lanes(
        partial(_rollout, policy_fn=policy_fn)
    )
    return play(encoded, noise, script or free_script(encoded))


def _rollout(
    encoded: EncodedProgram, noise: Array, script: Script, *, policy_fn: PolicyFn
) -> tuple[State, Record]:
    """A game with the random numbers `noise`, `[M, A]`."""
    num_moves, games = noise.shape[0], noise.shape[2:]

    def play(number: Array, carry: tuple[State, Record]) -> tuple[State, Record]:
        state, record = carry
        line = jax.tree.map(lambda column: column[number], script)
        state, entry = _scripted_move(encoded, state, line, noise[number], policy_fn)
        return state, jax.tree.map(lambda column, cell: column.at[number].set(cell), record, entry)

    first = (initial_state(encoded, games), _empty_record(num_moves, games))
    played: tuple[State, Record] = jax.lax.fori_loop(0, jnp.max(encoded.num_moves), play, first)
    return played


def _scripted_move(
    encoded: EncodedProgram, state: State, line: Script, noise: Array, policy_fn: PolicyFn
) -> tuple[State, Record]:
    """Play one move as its line of the script says; returns its line of the record."""
    options = analyse(encoded, state)
    is_drop = beside(jnp.arange(NUM_ACTIONS) == DROP, state.open_ticks.shape)
    options = replace(options, mask=options.mask & (is_drop | ~line.must_drop))
    free = _chosen(encoded, Position(state, options), noise, policy_fn)
    action = jnp.where(line.actions == NO_ACTION, free, line.actions)
    following, outcome = apply(encoded, state, options, action)
    return following, Record(
        action=outcome.action,
        mask=options.mask,
        offset=outcome.offset,
        start=outcome.start,
        reward_ticks=outcome.reward_ticks,
        stall_ticks=outcome.stall_ticks,
        was_dead=following.is_dead,
    )


def _chosen(
    encoded: EncodedProgram, position: Position, noise: Array, policy_fn: PolicyFn
) -> Array:
    """The policy's action; it sees one game at a time."""
    if noise.ndim == 1:
        return policy_fn(encoded, position, noise)
    axes = jax.tree.map(lambda leaf: -1 if leaf.ndim else None, position)
    of_program = 0 if encoded.games else None
    return jax.vmap(policy_fn, (of_program, axes, -1))(encoded, position, noise)


def _empty_record(num_moves: int, games: tuple[int, ...]) -> Record:
    cells = jnp.zeros((num_moves, *games), jnp.int32)
    flags = jnp.zeros((num_moves, NUM_ACTIONS, *games), bool)
    return Record(cells, flags, cells, cells, cells, cells, flags[:, 0])


def play_with_backup(
    encoded: EncodedProgram, key: Array, policy_fn: PolicyFn = random_policy
) -> Record:
    """One whole game in which dead ends are undone by Drop-backup (`docs/model.md`).

    Runs on the host, one compiled rollout per dead end; `key` is consumed. The policy sees the same
    random numbers at the same moves in every attempt.
    """
    groups = np.asarray(encoded.moves[:, COLUMN["group"]])
    script = free_script(encoded)
    must_drop = np.asarray(script.must_drop).copy()
    recorded: list[int] = []
    record: Record
    while True:
        script = replace(scripted(encoded, recorded), must_drop=jnp.asarray(must_drop))
        _, record = rollout(encoded, key, script, policy_fn)
        was_dead = np.asarray(record.was_dead)
        if not was_dead.any():
            return record
        dead_end = int(was_dead.argmax())
        actions = np.asarray(record.action)
        before = (np.arange(len(groups)) < dead_end) & (groups == groups[dead_end])
        must_drop[int((before & (actions != DROP)).argmax())] = True
        if dead_end >= len(recorded):
            recorded = actions[:dead_end].tolist()

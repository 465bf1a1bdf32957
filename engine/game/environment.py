"""The mallocGame as an environment in JAX, in the manner of pgx and gymnax.

    env = Environment(program)
    state = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 64))
    state = jax.jit(jax.vmap(env.step))(state, actions)

`engine.game.gym_env` is the game for Gymnasium; `docs/environments.md` shows both. Letters: `A`
actions, `M` moves (padded).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from engine.errors import ConfigError, UsageError
from engine.game.jaxgame import env as jaxgame
from engine.game.jaxgame.encoding import EncodedProgram, encode
from engine.game.jaxgame.env import Position
from engine.game.moves import NO_COPY, NUM_ACTIONS, Rules
from engine.game.notes import notes_of
from engine.game.observation.dynamic import observe
from engine.game.observation.layout import SIZE
from engine.game.observation.static import Features, features
from engine.game.reference.game import ReferenceGame
from engine.plan.bounds import Bound
from engine.plan.model import Plan
from engine.program.model import Program


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EnvState:
    """One position of a game. Under `jax.vmap` each field has the games in a first axis.

    `observation`: what the player sees (`engine.game.observation.layout.PARTS`); zeros once the
    game is over. `legal_action_mask`: True where legal; all True once the game is over, so that a
    sampler always has a choice. `reward`: of the last step, see `Environment`. `terminated`: the
    game is over. `truncated`: always False, since every game ends by itself. `actions`: those given
    so far, one per move. `position`: what the rules keep.
    """

    observation: Array  # [SIZE] float32
    legal_action_mask: Array  # [A] bool
    reward: Array  # [] float32
    terminated: Array  # [] bool
    truncated: Array  # [] bool
    actions: Array  # [M] int8
    position: Position


class Environment:
    """The game of one program. `init` and `step` are pure: for `jit`, `vmap` and `lax.scan`.

    Every game takes `num_steps` steps, one per move; at some only one action is legal. Steps after
    the end change nothing and earn nothing. The rewards of a game add up to
    `(all_slow_s - latency_s) / all_slow_s` of its plan.
    """

    num_actions = NUM_ACTIONS
    observation_shape = (SIZE,)

    def __init__(
        self, program: Program, rules: Rules | None = None, prices: Bound | None = None
    ) -> None:
        """Encode `program`.

        `prices`: a bound; its prices of memory and copies become part of the observation, which is
        zero there without one. Raises SolverError if the JAX game cannot hold the program,
        ConfigError for rules with dead ends, UsageError for a bound of another program.
        """
        self.program, self.rules = program, rules or Rules()
        if self.rules.strict:
            raise ConfigError("the environment has no strict sinks; leave them out of its rules")
        self._encoded = encode(program, self.rules)
        self._known = features(program, self._encoded, prices)
        self.num_steps = int(self._encoded.num_moves)

    def init(self, key: Array) -> EnvState:
        """The position before the first move.

        The game has no chance in it: `key` changes nothing, but under `jax.vmap` there are as many
        games as keys.
        """
        del key
        first: EnvState = _first(self._encoded, self._known)
        return first

    def step(self, state: EnvState, action: Array) -> EnvState:
        """Play `action`.

        An illegal one is replaced by the nearest legal one: the same kind at the rule's end, else
        NoCopy, else Drop. What is no action counts as NoCopy.
        """
        following: EnvState = _next(self._encoded, self._known, state, action)
        return following

    def plan(self, state: EnvState, solver: str = "environment") -> Plan:
        """The plan of one game that is over, played again on the host by the plain game.

        Raises UsageError for a batch of games, and for a game that is not over.
        """
        if state.terminated.ndim:
            cut = "jax.tree.map(lambda leaf: leaf[0], state)"
            raise UsageError(f"plan: a batch of games has many plans; cut one game out by {cut}")
        if not state.terminated:
            raise UsageError("plan: the game is not over; play until state.terminated")
        game = ReferenceGame(self.program, self.rules)
        for action in np.asarray(state.actions)[: game.num_moves].tolist():
            game.step(game.nearest(action))
        return game.plan(solver, notes_of(game))


# Compiled as a whole also where the caller does not, and then once for all programs of a shape.
@jax.jit
def _first(encoded: EncodedProgram, known: Features) -> EnvState:
    actions = jnp.zeros(encoded.moves.shape[0], jnp.int8)
    return _state(encoded, known, jaxgame.reset(encoded), jnp.float32(0), actions)


@jax.jit
def _next(encoded: EncodedProgram, known: Features, state: EnvState, action: Array) -> EnvState:
    is_action = (action >= 0) & (action < NUM_ACTIONS)
    action = jnp.where(is_action, action, NO_COPY).astype(jnp.int32)
    position, earned = jaxgame.step(encoded, state.position, action)
    reward = jnp.where(state.terminated, 0.0, earned)
    # After the end this writes into the padding, which nobody reads.
    actions = state.actions.at[state.position.state.move].set(action.astype(jnp.int8))
    return _state(encoded, known, position, reward, actions)


def _state(
    encoded: EncodedProgram, known: Features, position: Position, reward: Array, actions: Array
) -> EnvState:
    is_over = position.options.is_over
    return EnvState(
        observation=jnp.where(is_over, 0.0, observe(encoded, known, position)),
        legal_action_mask=position.options.mask,
        reward=reward,
        terminated=is_over,
        truncated=jnp.zeros_like(is_over),
        actions=actions,
        position=position,
    )

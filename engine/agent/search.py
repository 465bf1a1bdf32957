"""Tree search with mctx: the learned model, or the real rules as the model, or no search at all.

Everything is batched over `B` games of one program. Values are points above the baseline
(`engine.agent.arena`). Letters: `A` actions, `N` simulations, `D` latent size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import mctx
from jax import Array
from jax.flatten_util import ravel_pytree

from engine.agent.arena import Arena
from engine.agent.categorical import from_logits
from engine.agent.config import CLASSIC, LEARNED, POLICY_ONLY, SearchConfig
from engine.agent.network import Params, predict, react, represent
from engine.game.jaxgame import env
from engine.game.jaxgame.env import Position
from engine.game.moves import NUM_ACTIONS
from engine.game.observation.dynamic import view
from engine.game.observation.static import static_row

IMPOSSIBLE = -1e9
"""Logit of an action that the real rules forbid."""
DIRICHLET_SHARE = 0.25
"""Of classic MuZero's prior at the root, at temperature 1."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Decision:
    """What the search says of `B` positions.

    `policy`: improved, zeros where no tree was grown. `value`: of the root after the search,
    `raw_value` before it, both in points above the baseline. `view`: what was seen.
    """

    view: Array  # [B, NUM_VIEW]
    action: Array  # [B]
    policy: Array  # [B, A]
    value: Array  # [B]
    prior: Array  # [B, A]
    raw_value: Array  # [B]


def decide(
    params: Params,
    arena: Arena,
    positions: Position,
    key: Array,
    config: SearchConfig,
    temperature: Array | float = 1.0,
    grows: Array | bool = True,
) -> Decision:
    """Choose an action in `B` positions before the same move; `key` is consumed.

    `temperature` (scalar or `[B, 1]`) scales all noise at the root: 0 plays greedily, 1 samples.
    `grows`: `[]`, whether a tree is grown, else the prior chooses: one compiled function.
    """
    root = _look(params, arena, positions, in_step=True)

    def by_prior() -> Decision:
        noise = temperature * jax.random.gumbel(key, root.logits.shape)
        action = jnp.argmax(root.logits + noise, axis=-1).astype(jnp.int32)
        none = jnp.zeros_like(root.prior)
        return Decision(root.view, action, none, root.value, root.prior, root.value)

    def by_tree() -> Decision:
        return _by_tree(params, arena, positions, root, key, config, temperature, in_step=True)[0]

    if config.model == POLICY_ONLY:
        return by_prior()
    found: Decision = jax.lax.cond(grows, by_tree, by_prior)
    return found


@dataclass(frozen=True)
class _Root:
    """What the networks say of `B` positions; `logits`: of the prior, among the legal actions."""

    view: Array  # [B, NUM_VIEW]
    latent: Array  # [B, D]
    logits: Array  # [B, A]
    value: Array  # [B]

    @property
    def prior(self) -> Array:
        return jax.nn.softmax(self.logits)


def _look(params: Params, arena: Arena, positions: Position, in_step: bool) -> _Root:
    seen, latent = _represented(params, arena, positions, in_step)
    guess = predict(params, latent)
    logits = jnp.where(positions.options.mask, guess.policy, IMPOSSIBLE)
    return _Root(seen, latent, logits, guess.value)


def _by_tree(
    params: Params,
    arena: Arena,
    positions: Position,
    root: _Root,
    key: Array,
    config: SearchConfig,
    temperature: Array | float,
    in_step: bool,
) -> tuple[Decision, mctx.Tree[Any]]:
    move = positions.state.move
    node: Any
    model: Callable[..., Any]
    if config.model == LEARNED:
        node = _Embedding(root.latent, jnp.zeros_like(move))
        ahead = _rows_ahead(arena, move[0] if in_step else move, config.num_simulations)
        model = partial(_imagine, arena.encoded.num_moves - move, ahead)
    else:
        node, unpack = _packed(positions)
        model = partial(_really_play, arena, unpack)
    output = mctx.RootFnOutput(prior_logits=root.logits, value=root.value, embedding=node)
    forbidden = ~positions.options.mask
    found = _search(params, key, output, model, forbidden, config, temperature)
    values = found.search_tree.node_values[:, 0]
    policy = _improved(found.search_tree, root.logits, config)
    chosen = Decision(root.view, found.action, policy, values, root.prior, root.value)
    return chosen, found.search_tree


def _improved(tree: mctx.Tree[Any], logits: Array, config: SearchConfig) -> Array:
    """The prior with these logits `[B, A]`, improved by what the tree found of the actions.

    Gumbel MuZero's improved policy (Danihelka et al. 2022), also where classic MuZero grew the
    tree: its visits would tell of the noise.
    """
    # Classic MuZero's tree has noise in the prior of its root.
    tree = tree.replace(children_prior_logits=tree.children_prior_logits.at[:, 0].set(logits))
    found = jax.vmap(_completed(config), in_axes=(0, None))(tree, tree.ROOT_INDEX)
    return jax.nn.softmax(jnp.where(logits > IMPOSSIBLE, logits + found, IMPOSSIBLE))


def _completed(config: SearchConfig) -> Callable[..., Array]:
    """How values weigh against the prior's logits."""
    return partial(
        mctx.qtransform_completed_by_mix_value,
        value_scale=config.value_scale,
        maxvisit_init=config.maxvisit_init,
        rescale_values=False,
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tree:
    """Grown trees, node 0 the root, nodes in order of their creation; what was not visited is 0.

    `parent` (-1: root) and `action` lead to a node; `reward` is earned on that way, `prior` what
    the parent gives to it. `value`: mean over its visits; `raw_value`: the networks' own.
    """

    parent: Array  # [B, N + 1]
    action: Array  # [B, N + 1]
    visits: Array  # [B, N + 1]
    value: Array  # [B, N + 1]
    raw_value: Array  # [B, N + 1]
    reward: Array  # [B, N + 1]
    prior: Array  # [B, N + 1]


@partial(jax.jit, static_argnames="config")
def search(
    params: Params, arena: Arena, positions: Position, key: Array, config: SearchConfig
) -> tuple[Decision, Tree]:
    """Search `B` positions without noise and keep the trees; not for policy-only play."""
    root = _look(params, arena, positions, in_step=False)
    decision, tree = _by_tree(params, arena, positions, root, key, config, 0.0, in_step=False)
    parent = jnp.maximum(tree.parents, 0)
    action = jnp.maximum(tree.action_from_parent, 0)
    rows = jnp.arange(parent.shape[0])[:, None]
    prior = jax.nn.softmax(tree.children_prior_logits)
    is_child = tree.parents >= 0
    return decision, Tree(
        parent=tree.parents,
        action=tree.action_from_parent,
        visits=tree.node_visits,
        value=tree.node_values,
        raw_value=tree.raw_values,
        reward=jnp.where(is_child, tree.children_rewards[rows, parent, action], 0.0),
        prior=jnp.where(is_child, prior[rows, parent, action], 1.0),
    )


def _search(
    params: Params,
    key: Array,
    root: mctx.RootFnOutput,
    recurrent_fn: Callable[..., Any],
    forbidden: Array,
    config: SearchConfig,
    temperature: Array | float,
) -> mctx.PolicyOutput[Any]:
    if config.algorithm == CLASSIC:
        return mctx.muzero_policy(
            params,
            key,
            root,
            recurrent_fn,
            config.num_simulations,
            invalid_actions=forbidden,
            dirichlet_fraction=DIRICHLET_SHARE * temperature,
            temperature=temperature,
        )
    return mctx.gumbel_muzero_policy(
        params,
        key,
        root,
        recurrent_fn,
        config.num_simulations,
        invalid_actions=forbidden,
        max_num_considered_actions=NUM_ACTIONS,
        gumbel_scale=temperature,
        qtransform=_completed(config),
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Embedding:
    """A node of the learned model: its latent state and how many moves it is behind the root."""

    latent: Array  # [B, D]
    depth: Array  # [B]


def latent_of(params: Params, arena: Arena, positions: Position) -> Array:
    """The representation of `B` positions, `[B, D]`."""
    return _represented(params, arena, positions, in_step=False)[1]


def _represented(
    params: Params, arena: Arena, positions: Position, in_step: bool
) -> tuple[Array, Array]:
    seen = _seen(arena, positions)
    move = positions.state.move[0] if in_step else positions.state.move
    return seen, represent(params, arena.known.outlook[move], seen)


def _seen(arena: Arena, positions: Position) -> Array:
    found: Array = jax.vmap(lambda p: view(arena.encoded, arena.known, p))(positions)
    return found


def _rows_ahead(arena: Arena, move: Array, count: int) -> Array:
    """What a learned dynamics is told on the way to the `count` moves after `move`.

    `[N, F]` for a scalar `move`, `[N, B, F]` for `[B]`. Cut out once per search: a tree of N
    simulations is at most N deep, and the table of a long program fills the processor's cache.
    """
    last = arena.encoded.num_moves
    after = move + 1 + jnp.expand_dims(jnp.arange(count), tuple(range(1, move.ndim + 1)))
    flat = jax.vmap(partial(static_row, arena.known))(jnp.minimum(after, last).ravel())
    return flat.reshape(*after.shape, -1)


def _imagine(
    left: Array, ahead: Array, params: Params, key: Array, action: Array, node: _Embedding
) -> tuple[mctx.RecurrentFnOutput, _Embedding]:
    """One step of the learned model; `left` `[B]`: moves from the root to the game's end."""
    del key
    told = ahead[node.depth] if ahead.ndim == 2 else ahead[node.depth, jnp.arange(len(left))]
    latent, reward_logits = react(params, node.latent, action, told)
    guess = predict(params, latent)
    depth = node.depth + 1
    step = mctx.RecurrentFnOutput(
        reward=jnp.where(depth <= left, from_logits(reward_logits), 0.0),
        discount=(depth < left).astype(jnp.float32),
        prior_logits=guess.policy,
        value=guess.value,
    )
    return step, _Embedding(latent, depth)


def _packed(positions: Position) -> tuple[Array, Callable[[Array], Position]]:
    """`B` positions as one array of integers, `[B, K]`, and what makes positions of it again.

    A tree copies every array of a node once per simulation, and a position has a hundred.
    """
    unpack = ravel_pytree(jax.tree.map(lambda x: x[0], positions))[1]
    return jax.vmap(lambda p: ravel_pytree(p)[0])(positions), jax.vmap(unpack)


def _really_play(
    arena: Arena,
    unpack: Callable[[Array], Position],
    params: Params,
    key: Array,
    action: Array,
    packed: Array,
) -> tuple[mctx.RecurrentFnOutput, Array]:
    """One step of the real rules, judged by the networks."""
    del key
    positions = unpack(packed)
    following, reward = jax.vmap(env.step, in_axes=(None, 0, 0))(arena.encoded, positions, action)
    guess = predict(params, latent_of(params, arena, following))
    move, end = positions.state.move, arena.encoded.num_moves
    relative = jax.vmap(arena.relative)(move, reward)
    step = mctx.RecurrentFnOutput(
        reward=jnp.where(move < end, relative, 0.0) * arena.sees_rewards,
        discount=(following.state.move < end).astype(jnp.float32),
        prior_logits=jnp.where(following.options.mask, guess.policy, IMPOSSIBLE),
        value=guess.value,
    )
    return step, _packed(following)[0]

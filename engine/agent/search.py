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

from engine.agent.arena import Arena
from engine.agent.config import CLASSIC, LEARNED, POLICY_ONLY, SearchConfig
from engine.agent.model import IMPOSSIBLE, learned, real_rules, represented
from engine.agent.network import WISH_LOGIT, Params, predict
from engine.game.jaxgame.env import Position
from engine.game.moves import NUM_ACTIONS
from engine.game.observation.dynamic import plain_choice, seen_wish
from engine.game.observation.static import NO_WISH

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
    decision: Decision = jax.lax.cond(grows, by_tree, by_prior)
    return decision


def by_draft(arena: Arena, positions: Position, key: Array, temperature: Array) -> Decision:
    """What `decide` chooses without a tree where the policy is the draft's alone.

    For a third of the work: nobody looks at the memory, so the `view` is empty, and there are no
    values.
    """
    wish = (
        jax.vmap(plain_choice, in_axes=(None, None, 0))(arena.encoded, arena.known, positions)
        * (arena.known.wish[positions.state.move] != NO_WISH)[:, None]
    )
    logits = jnp.where(positions.options.mask, WISH_LOGIT * wish, IMPOSSIBLE)
    noise = temperature * jax.random.gumbel(key, logits.shape)
    nothing = jnp.zeros(len(logits))
    return Decision(
        view=jnp.zeros((len(logits), 0)),
        action=jnp.argmax(logits + noise, axis=-1).astype(jnp.int32),
        policy=jnp.zeros_like(logits),
        value=nothing,
        prior=jax.nn.softmax(logits),
        raw_value=nothing,
    )


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
    seen, latent = represented(params, arena, positions, in_step)
    guess = predict(params, latent, seen_wish(arena.known, positions.state.move, seen))
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
    """The decision of a tree search from `root`, and mctx's tree."""
    node: Any
    if config.model == LEARNED:
        steps = config.num_simulations
        node, model = learned(params, arena, positions.state.move, root.latent, steps, in_step)
    else:
        node, model = real_rules(arena, positions)
    output = mctx.RootFnOutput(prior_logits=root.logits, value=root.value, embedding=node)
    forbidden = ~positions.options.mask
    result = _search(params, key, output, model, forbidden, config, temperature)
    values = result.search_tree.node_values[:, 0]
    policy = result.action_weights
    if config.algorithm == CLASSIC:
        policy = _improved(result.search_tree, root.logits, config)
    decision = Decision(root.view, result.action, policy, values, root.prior, root.value)
    return decision, result.search_tree


def _improved(tree: mctx.Tree[Any], logits: Array, config: SearchConfig) -> Array:
    """The prior with these logits `[B, A]`, improved by the Q-values of classic MuZero's tree.

    By Gumbel MuZero's rule (Danihelka et al. 2022), for the tree's visit counts depend on the
    noise at the root.
    """
    # Classic MuZero's tree has noise in the prior of its root.
    tree = tree.replace(children_prior_logits=tree.children_prior_logits.at[:, 0].set(logits))
    completed = jax.vmap(_completed(config), in_axes=(0, None))(tree, tree.ROOT_INDEX)
    return jax.nn.softmax(jnp.where(logits > IMPOSSIBLE, logits + completed, IMPOSSIBLE))


def _completed(config: SearchConfig) -> Callable[..., Array]:
    """mctx's transform of a node's Q-values into what is added to the prior's logits."""
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
    """The result of mctx: classic MuZero's policy, or Gumbel MuZero's."""
    if config.algorithm == CLASSIC:
        return mctx.muzero_policy(
            params,
            key,
            root,
            recurrent_fn,
            config.num_simulations,
            invalid_actions=forbidden,
            dirichlet_fraction=jnp.minimum(DIRICHLET_SHARE * temperature, 1.0),
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

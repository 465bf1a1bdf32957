"""Games side by side: how `jax.vmap` runs the rules on many games at once.

The rules are written for one game, but all they do broadcasts over trailing axes. So a position is
either one game, or `G` games in a last axis, `[…, G]`: columns of a table become `[K, G]`, numbers
`[G]`. Inner loops then run over games, which on a CPU is several times as fast as a first axis, as
`vmap` would have it, where they run over rows with other numbers for every game. `in_lanes` makes
`vmap` use the last axis. Numbers that all games share, such as the move of games in step, stay
scalars, and what depends on them alone is done once, or skipped for all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

Rule = TypeVar("Rule", bound=Callable[..., Any])
Numbers = TypeVar("Numbers")


def in_lanes(rule: Rule) -> Rule:
    """`rule(encoded, *others)`, whose vmapped form puts the games in a last axis.

    A stack of programs keeps its first axis (`EncodedProgram.games`).
    """
    once = custom_vmap(rule)

    def of_many(num_games: int, is_batched: Any, *given: Any) -> tuple[Any, Any]:
        encoded, *others = given
        one = jax.eval_shape(rule, *jax.tree.map(_of_one_game, given, tuple(is_batched)))
        if any(jax.tree.leaves(is_batched[0])):
            encoded = jax.tree.map(
                lambda leaf, has: leaf if has else jnp.broadcast_to(leaf, (num_games, *leaf.shape)),
                encoded,
                is_batched[0],
            )
        lanes = jax.tree.map(partial(_last, num_games), others, list(is_batched[1:]))
        results = rule(encoded, *lanes)
        has_games = jax.tree.map(lambda leaf, single: leaf.ndim > single.ndim, results, one)
        return jax.tree.map(_first, results, has_games), has_games

    once.def_vmap(of_many)
    return cast(Rule, once)


def _of_one_game(leaf: Array, is_batched: bool) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(leaf.shape[1:] if is_batched else leaf.shape, leaf.dtype)


def _last(num_games: int, leaf: Array, is_batched: bool) -> Array:
    """The leaf with the games in its last axis; numbers that all share stay as they are."""
    if is_batched:
        return jnp.moveaxis(leaf, 0, -1)
    if not leaf.shape:
        return leaf
    return jnp.broadcast_to(leaf[..., None], (*leaf.shape, num_games))


def _first(leaf: Array, has_games: bool) -> Array:
    return jnp.moveaxis(leaf, -1, 0) if has_games else leaf


def numbers_of(is_needed: Array, compute: Callable[[], Numbers]) -> Numbers:
    """The numbers per game that `compute` returns, or zeros if they are not needed.

    XLA fuses work on numbers into the loops over columns where they are used, and so repeats it for
    every row. Fusion does not cross the border of a conditional.
    """
    none = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(compute))
    numbers: Numbers = jax.lax.cond(is_needed, compute, lambda: none)
    return numbers


def beside(vector: Array, games: tuple[int, ...]) -> Array:
    """A vector with an axis of length 1 for each axis of `games`, to broadcast against them."""
    return vector.reshape(vector.shape + (1,) * len(games))


def rows_of(column: Array) -> Array:
    """The row numbers of a column, ready to broadcast against it."""
    return beside(jnp.arange(column.shape[0], dtype=jnp.int32), column.shape[1:])


def at(column: Array, row: Array) -> Array:
    """Each game's entry `row` of a column; a row out of range means the nearest one."""
    games = column.shape[1:]
    lanes = tuple(jnp.arange(size, dtype=jnp.int32) for size in games)
    index = (jnp.broadcast_to(row, games), *lanes)
    return column.at[index].get(mode="clip", wrap_negative_indices=False)

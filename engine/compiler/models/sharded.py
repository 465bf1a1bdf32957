"""Programs for a mesh of four chips: the compiler, or the program itself, makes them communicate.

Letters: B batch, T tokens, D model width, H heads, K width of one head, E experts, F hidden width.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

from engine.compiler.models.base import Program, PyTree, UnsupportedModeError, workload
from engine.compiler.models.layers import Array
from engine.compiler.models.training import adam_update

CHIPS = 4
LAYERS, WIDTH, HIDDEN = 3, 1024, 4096
HEADS = 16
HEAD = WIDTH // HEADS


def _sharded(mesh: AbstractMesh, sides: tuple[int, ...], *spec: str | None, dtype: Any) -> Any:
    """An array of these sides, cut along the mesh axes that `spec` names."""
    return jax.ShapeDtypeStruct(sides, dtype, sharding=NamedSharding(mesh, P(*spec)))


def _arrays(axis: str, chips: int = CHIPS) -> Callable[..., Any]:
    """A maker of bfloat16 arrays over a mesh of one axis."""
    return partial(_sharded, AbstractMesh((chips,), (axis,)), dtype=jnp.bfloat16)


def _only(name: str, train: bool, does_train: bool) -> None:
    if train != does_train:
        raise UnsupportedModeError(f"{name} is {'a training step' if does_train else 'inference'}")


@workload("fsdp", "Residual MLPs, parameters and Adam's state sharded over 4 chips (FSDP)")
def fsdp(batch: int, train: bool) -> Program:
    """Each chip holds a quarter of every matrix and gathers what a layer needs."""
    _only("fsdp", train, True)
    array = _arrays("fsdp")

    def loss_fn(params: PyTree, x: Array) -> Array:
        def layer(h: Array, own: tuple[Array, Array]) -> tuple[Array, None]:
            up, down = own
            return h + jax.nn.gelu(h @ up) @ down, None

        h, _ = jax.lax.scan(layer, x, (params["up"], params["down"]))
        return jnp.mean(jnp.square((h - x).astype(jnp.float32)))

    def step(params: PyTree, first: PyTree, second: PyTree, x: Array) -> Any:
        loss, grads = jax.value_and_grad(loss_fn)(params, x)
        return (*adam_update(params, first, second, grads), loss)

    params = {
        "up": array((LAYERS, WIDTH, HIDDEN), None, "fsdp"),
        "down": array((LAYERS, HIDDEN, WIDTH), None, "fsdp"),
    }
    args = (params, params, params, array((batch, WIDTH), "fsdp"))
    return Program(step, args, donate_argnums=(0, 1, 2))


@workload("tensorparallel", "Transformer blocks, heads and hidden units cut over 4 chips")
def tensor_parallel(batch: int, train: bool) -> Program:
    """An all-reduce after each attention and each MLP, as Megatron has it."""
    _only("tensorparallel", train, False)
    array, length = _arrays("model"), 256

    def forward(params: PyTree, x: Array) -> Array:
        for layer in params:
            query, key, value = jnp.einsum("btd,dchk->cbthk", x, layer["qkv"])
            scores = jnp.einsum("bthk,bshk->bhts", query, key).astype(jnp.float32) / HEAD**0.5
            probs = jax.nn.softmax(scores).astype(x.dtype)
            x = x + jnp.einsum("bhts,bshk,hkd->btd", probs, value, layer["out"])
            x = x + jax.nn.silu(x @ layer["up"]) @ layer["down"]
        return x

    layer = {
        "qkv": array((WIDTH, 3, HEADS, HEAD), None, None, "model"),
        "out": array((HEADS, HEAD, WIDTH), "model"),
        "up": array((WIDTH, HIDDEN), None, "model"),
        "down": array((HIDDEN, WIDTH), "model"),
    }
    return Program(forward, ([layer] * 2, array((batch, length, WIDTH))))


@workload("ringattention", "Attention over a sequence cut over 4 chips; keys go round (ppermute)")
def ring_attention(batch: int, train: bool) -> Program:
    """Each chip attends over one part of the sequence after another, with a running softmax."""
    _only("ringattention", train, False)
    array, length = _arrays("ring"), 2048
    mesh = AbstractMesh((CHIPS,), ("ring",))
    ring = [(chip, (chip + 1) % CHIPS) for chip in range(CHIPS)]

    def local(query: Array, key: Array, value: Array) -> Array:
        """Of one chip's queries `[B, H, T, K]` over all keys."""
        most = jnp.full(query.shape[:-1], -jnp.inf, jnp.float32)
        total = jnp.zeros_like(most)
        mixed = jnp.zeros(query.shape, jnp.float32)
        for turn in range(CHIPS):
            scores = jnp.einsum("bhtk,bhsk->bhts", query, key).astype(jnp.float32) / HEAD**0.5
            new = jnp.maximum(most, jnp.max(scores, axis=-1))
            weights = jnp.exp(scores - new[..., None])
            kept = jnp.exp(most - new)
            total = total * kept + jnp.sum(weights, axis=-1)
            part = jnp.einsum("bhts,bhsk->bhtk", weights.astype(value.dtype), value)
            mixed = mixed * kept[..., None] + part
            most = new
            if turn < CHIPS - 1:
                key, value = (jax.lax.ppermute(a, "ring", ring) for a in (key, value))
        given: Array = (mixed / total[..., None]).astype(query.dtype)
        return given

    spec = P(None, None, "ring")
    attend = jax.shard_map(local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec)

    def forward(params: PyTree, x: Array) -> Any:
        query, key, value = jnp.einsum("btd,dchk->cbhtk", x, params["qkv"])
        x = x + jnp.einsum("bhtk,hkd->btd", attend(query, key, value), params["out"])
        hidden: Array = jax.nn.gelu(x @ params["up"])
        return x + hidden @ params["down"]

    params = {
        "qkv": array((WIDTH, 3, HEADS, HEAD)),
        "out": array((HEADS, HEAD, WIDTH)),
        "up": array((WIDTH, HIDDEN)),
        "down": array((HIDDEN, WIDTH)),
    }
    return Program(forward, (params, array((batch, length, WIDTH), None, "ring")))


@workload("expertparallel", "Mixture of experts, two of 8 on each of 4 chips (all-to-all)")
def expert_parallel(batch: int, train: bool) -> Program:
    """Tokens in groups of equal size go to their experts and come back."""
    _only("expertparallel", train, False)
    array, experts, capacity = _arrays("expert"), 8, batch
    mesh = AbstractMesh((CHIPS,), ("expert",))
    by_expert, by_token = (NamedSharding(mesh, P(*s)) for s in ((None, "expert"), ("expert",)))

    def forward(params: PyTree, x: Array) -> Array:
        for layer in params:
            scores = jax.nn.softmax((x @ layer["router"]).astype(jnp.float32), axis=-1)
            chosen = jnp.argmax(scores, axis=-1)
            order = jnp.argsort(chosen, axis=-1)
            grouped = jnp.take_along_axis(x, order[..., None], axis=1)
            grouped = grouped.reshape(CHIPS, experts, capacity, WIDTH)
            sent = jax.lax.with_sharding_constraint(grouped, by_expert)
            hidden = jax.nn.gelu(jnp.einsum("cegd,edf->cegf", sent, layer["up"]))
            given = jnp.einsum("cegf,efd->cegd", hidden, layer["down"])
            back = jax.lax.with_sharding_constraint(given, by_token).reshape(x.shape)
            inverse = jnp.argsort(order, axis=-1)
            x = x + jnp.take_along_axis(back, inverse[..., None], axis=1)
        return x

    layer = {
        "router": array((WIDTH, experts)),
        "up": array((experts, WIDTH, 2 * WIDTH), "expert"),
        "down": array((experts, 2 * WIDTH, WIDTH), "expert"),
    }
    return Program(forward, ([layer] * 2, array((CHIPS, experts * batch, WIDTH), "expert")))

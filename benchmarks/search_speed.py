"""Speed of the agent's search beside bare mctx, and of self-play, as programs grow longer.

The reference is `mctx.gumbel_muzero_policy` on the same networks, batch, simulations and value
transform, without a program: its dynamics get the same constant features at every node, every
action is legal, and nothing is observed or played. Both are timed in turns, so that a noisy machine
hits both alike.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import mctx
import numpy as np

from benchmarks.rows import RESULTS, Row, keep
from benchmarks.settings import Settings
from engine.agent.compile_cache import keep_compiled
from engine.agent.config import AgentConfig
from engine.agent.network import (
    Params,
    dynamics_bias,
    from_logits,
    init_params,
    predict,
    react,
    represent,
)
from engine.agent.search import decide
from engine.agent.self_play import (
    CHUNK,
    FREE,
    first_positions,
    noise_levels,
    play_chunk,
    temperatures,
)
from engine.agent.workload import Workload, make_workload
from engine.game.moves import NUM_ACTIONS
from engine.game.observation import layout
from engine.program import library
from engine.solvers.demonstrations import demonstrate
from tests.synthetic import repeated

PROGRAM, TIMES = "gpt-v6e-b4", (1, 4, 17)
"""Repeated so often it has about 300, 1,000 and 5,000 accesses."""
TURNS, SEARCHES = 61, 16
CONFIG = AgentConfig()


def bare_search(params: Params, seen: jax.Array, key: jax.Array) -> jax.Array:
    """The reference: actions for a batch of views `[B, NUM_VIEW]`."""
    same = dynamics_bias(params, jnp.zeros((seen.shape[0], layout.NUM_STATIC)))
    no_wish = jnp.zeros((seen.shape[0], NUM_ACTIONS))

    def imagine(params: Params, key: Any, action: Any, latent: Any) -> Any:
        del key
        latent, reward = react(params, latent, action, same)
        guess = predict(params, latent, no_wish)
        reward = from_logits(reward)
        step = mctx.RecurrentFnOutput(
            reward=reward,
            discount=jnp.ones_like(reward),
            prior_logits=guess.policy,
            value=guess.value,
        )
        return step, latent

    latent = represent(params, jnp.zeros(layout.NUM_OUTLOOK), seen)
    guess = predict(params, latent, no_wish)
    output = mctx.gumbel_muzero_policy(
        params,
        key,
        mctx.RootFnOutput(prior_logits=guess.policy, value=guess.value, embedding=latent),
        imagine,
        CONFIG.search.num_simulations,
        max_num_considered_actions=NUM_ACTIONS,
        qtransform=partial(
            mctx.qtransform_completed_by_mix_value,
            value_scale=CONFIG.search.value_scale,
            maxvisit_init=CONFIG.search.maxvisit_init,
            rescale_values=False,
        ),
    )
    action: jax.Array = output.action
    return action


def often(search: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], jax.Array]:
    """`SEARCHES` searches in one compiled call, so that calling it costs nothing."""

    def run(key: jax.Array) -> jax.Array:
        actions: jax.Array = jax.lax.map(search, jax.random.split(key, SEARCHES))
        return actions

    return jax.jit(run)


def seconds_of(run: Callable[[], Any]) -> float:
    """Seconds that one call takes."""
    begun = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - begun


def search_speed(workload: Workload, params: Params) -> dict[str, float]:
    """Simulations per second, ours and bare, and the median of their ratio turn by turn."""
    games = CONFIG.self_play.games
    positions = first_positions(workload.arena, games)
    seen = jnp.ones((games, layout.NUM_VIEW))
    key = jax.random.key(0)
    ours = often(lambda k: decide(params, workload.arena, positions, k, CONFIG.search).action)
    bare = often(lambda k: bare_search(params, seen, k))
    for run in (ours, bare):
        seconds_of(partial(run, key))
    turns = [(seconds_of(partial(ours, key)), seconds_of(partial(bare, key))) for _ in range(TURNS)]
    simulations = games * CONFIG.search.num_simulations * SEARCHES
    return {
        "ours_per_s": simulations / statistics.median(o for o, _ in turns),
        "bare_per_s": simulations / statistics.median(b for _, b in turns),
        "ratio": statistics.median(b / o for o, b in turns),
    }


def selfplay_speed(workload: Workload, params: Params) -> float:
    """Moves per second of self-play, search and real rules included."""
    games = CONFIG.self_play.games
    script = jnp.full((CHUNK, games), FREE, jnp.int32)
    noise = jnp.asarray(temperatures(noise_levels(games), 1.0))

    def run() -> Any:
        positions = first_positions(workload.arena, games)
        return play_chunk(
            params,
            workload.arena,
            positions,
            jax.random.key(1),
            noise,
            script,
            CONFIG.search,
        )

    seconds_of(run)
    return CHUNK * games / statistics.median(seconds_of(run) for _ in range(TURNS))


def run(section: str, settings: Settings) -> None:
    """Measure, print a line per length of the program, and keep the rows."""
    del section, settings
    rows: list[Row] = []
    keep_compiled()
    params = init_params(jax.random.key(0), CONFIG.network)
    for times in TIMES:
        program = repeated(library.load_sample(PROGRAM), times)
        shown = demonstrate(program)[0]
        workload = make_workload(program, shown.actions, CONFIG, rules=shown.rules)
        speed, moves_per_s = search_speed(workload, params), selfplay_speed(workload, params)
        row = {
            "accesses": len(program.accesses),
            "moves": int(np.asarray(workload.num_moves)),
            **speed,
            "selfplay_moves_per_s": moves_per_s,
            "selfplay_ratio": moves_per_s * CONFIG.search.num_simulations / speed["bare_per_s"],
        }
        rows.append({k: round(v, 3) for k, v in row.items()})
        keep(RESULTS / "agent_speed.json", rows)
        print(
            f"{row['accesses']:6} accesses: {row['ours_per_s']:8,.0f} simulations per second, "
            f"{row['ratio']:.0%} of bare mctx; self-play {row['selfplay_moves_per_s']:8,.0f} moves"
            f" per second, {row['selfplay_ratio']:.0%} of bare mctx",
            flush=True,
        )

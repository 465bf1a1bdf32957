"""Settings so small that a whole training round takes milliseconds, once it is compiled."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from engine.agent.compile_cache import keep_compiled
from engine.agent.config import (
    SIMULATOR,
    AgentConfig,
    LearnerConfig,
    NetworkConfig,
    ReplayConfig,
    SearchConfig,
    SelfPlayConfig,
)
from engine.agent.network import Params, init_params
from engine.agent.trainer import Trainer
from engine.agent.workload import Workload, make_workload
from engine.game.jaxgame.encoding import Shape
from engine.game.moves import Rules
from engine.plan.bounds import lower_bound
from engine.program import library
from engine.solvers.demonstrations import demonstrate

keep_compiled()

PROGRAM = "teach-keep-or-drop"
CONFIG = AgentConfig(
    network=NetworkConfig(width=32, latent=16, num_blocks=1),
    search=SearchConfig(num_simulations=4),
    self_play=SelfPlayConfig(games=8),
    replay=ReplayConfig(capacity=16, num_best=3),
    learner=LearnerConfig(unroll=2, batch_size=16, steps_per_round=2, warm_up_steps=2),
)

REAL_RULES = SearchConfig(model=SIMULATOR, num_simulations=64, value_scale=1.0)
"""A search with the real rules: one for all files, since it is long in compiling."""
LARGEST = "teach-loop-carry"
"""Its shape covers those of the other teaching programs."""


def common_shape() -> Shape:
    """Of all teaching programs, so that the search is compiled once for them."""
    return small_workload(name=LARGEST).arena.encoded.shape


def small_workload(
    config: AgentConfig = CONFIG, name: str = PROGRAM, shape: Shape | None = None
) -> Workload:
    """A fresh workload with an empty memory, of its own shape or of one that covers it."""
    program = library.load_sample(name)
    shown = _shown(name)
    return make_workload(program, shown, config, bound=lower_bound(program), shape=shape)


@functools.cache
def _shown(name: str) -> tuple[tuple[int, ...], ...]:
    return demonstrate(library.load_sample(name), [Rules()])[0].actions


def small_trainer(config: AgentConfig = CONFIG, seed: int = 0) -> Trainer:
    """A trainer that has seen the demonstrations."""
    trainer = Trainer([small_workload(config)], config, seed)
    trainer.show_demonstrations()
    return trainer


def follower() -> Params:
    """Weights that add nothing to what a draft wants."""
    params = init_params(jax.random.key(0), CONFIG.network)
    return {**params, "policy_out": jax.tree.map(jnp.zeros_like, params["policy_out"])}

"""Moves per second of the two implementations of the game, on one core, same programs.

The section `speed` runs it in a process of its own, pinned to one core, with XLA's thread pool
off: `python -m benchmarks.game_speed [PROGRAM …]`. Time is the process's own, so other work on the
core does not count against either side.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {0})

import jax

from engine.game.jaxgame.encoding import encode
from engine.game.jaxgame.env import rollout
from engine.program import library
from engine.program.model import Program
from engine.solvers.baselines import play_randomly

BATCH = 128
PROGRAMS = ("alexnet-v4-b24", "bert-v5e-b32", "resnet50-v5e-b64")
"""Where none are named."""


def reference_speed(program: Program) -> float:
    """Moves per second of the plain-Python game, random play, median of three games."""
    rates = []
    for seed in range(3):
        begun = time.process_time()
        game = play_randomly(program, random.Random(seed))
        rates.append(game.num_moves / (time.process_time() - begun))
    return statistics.median(rates)


def vmapped_speed(program: Program, num_moves: int) -> float:
    """Moves per second of 128 JAX games in step, random play, median of three batches."""
    encoded = encode(program)
    many = jax.jit(jax.vmap(lambda e, key: rollout(e, key), in_axes=(None, 0)))
    keys = jax.random.split(jax.random.key(0), BATCH)
    jax.block_until_ready(many(encoded, keys))
    rates = []
    for seed in range(3):
        keys = jax.random.split(jax.random.key(seed), BATCH)
        begun = time.process_time()
        jax.block_until_ready(many(encoded, keys))
        rates.append(BATCH * num_moves / (time.process_time() - begun))
    return statistics.median(rates)


def main(names: Sequence[str]) -> None:
    """Print one JSON list, a row per program."""
    rows = []
    for name in names:
        program = library.load_sample(name)
        num_moves = play_randomly(program, random.Random(0)).num_moves
        plain, batched = reference_speed(program), vmapped_speed(program, num_moves)
        rows.append(
            {
                "program": name,
                "moves": num_moves,
                "reference_moves_per_s": plain,
                "vmapped_moves_per_s": batched,
                "ratio": batched / plain,
            }
        )
    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:] or PROGRAMS)

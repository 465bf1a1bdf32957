"""Random games of the JAX rules against the plain-Python game, move by move.

The section `agreement` runs it in a process of its own, on the CPU:
`python -m benchmarks.agreement GAMES PROGRAM …`.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Sequence

os.environ["JAX_PLATFORMS"] = "cpu"

import jax

from engine.game.jaxgame.encoding import encode
from engine.game.jaxgame.env import rollout
from engine.game.moves import Rules
from engine.program import library
from engine.program.model import Program
from tests.differential.comparison import compare

BATCH = 32


def compare_many(program: Program, games: int, seed: int) -> tuple[int, str]:
    """Moves compared in that many random games, and the first difference, empty if none."""
    encoded = encode(program)
    many = jax.jit(jax.vmap(lambda e, key: rollout(e, key)[1], in_axes=(None, 0)))
    moves, keys = 0, jax.random.split(jax.random.key(seed), -(-games // BATCH) * BATCH)
    for begin in range(0, games, BATCH):
        records = jax.device_get(many(encoded, keys[begin : begin + BATCH]))
        for number in range(min(BATCH, games - begin)):
            record = jax.tree.map(lambda column, n=number: column[n], records)
            game, difference = compare(program, Rules(), record)
            moves += game.move_index
            if difference:
                return moves, difference
    return moves, ""


def main(total: int, names: Sequence[str]) -> None:
    """Play so many games of these programs in all; print one JSON line per program."""
    games = -(-total // len(names))
    for name in names:
        # A seed of its own, so that order and company mean nothing.
        seed = zlib.crc32(name.encode()) >> 1
        moves, difference = compare_many(library.load_sample(name), games, seed)
        row = {"program": name, "games": games, "moves": moves, "difference": difference}
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
